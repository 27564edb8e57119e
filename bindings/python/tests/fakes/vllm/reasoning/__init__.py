"""A stand-in for vLLM's base class of reasoning parsers."""

from __future__ import annotations

from typing import Any


class ReasoningParser:
    engine_based_streaming = False

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        self.model_tokenizer = tokenizer


class ReasoningParserManager:
    reasoning_parsers: dict[str, type[ReasoningParser]] = {}

    @classmethod
    def register_module(cls, name: str, force: bool = True, module: Any = None) -> None:
        assert issubclass(module, ReasoningParser)
        cls.reasoning_parsers[name] = module
