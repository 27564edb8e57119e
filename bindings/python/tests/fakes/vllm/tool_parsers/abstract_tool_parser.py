"""A stand-in for vLLM's base class of tool parsers: the interface that it promises to out-of-tree plugins."""

from __future__ import annotations

from typing import Any

from vllm.protocol import DeltaMessage, ExtractedToolCallInformation

__all__ = ["DeltaMessage", "ExtractedToolCallInformation", "ToolParser", "ToolParserManager"]


class ToolParser:
    supports_required_and_named = True
    engine_based_streaming = False

    def __init__(self, tokenizer: Any, tools: Any = None) -> None:
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.streamed_args_for_tool: list[str] = []
        self.model_tokenizer = tokenizer
        self.tools = tools or []

    def adjust_request(self, request: Any) -> Any:
        if request.tools and self.supports_required_and_named and request.tool_choice != "auto":
            request.structured_outputs = "a JSON schema"
        return request


class ToolParserManager:
    tool_parsers: dict[str, type[ToolParser]] = {}

    @classmethod
    def register_module(cls, name: str, force: bool = True, module: Any = None) -> None:
        assert issubclass(module, ToolParser)
        cls.tool_parsers[name] = module

    @classmethod
    def get_tool_parser(cls, name: str) -> type[ToolParser]:
        return cls.tool_parsers[name]
