"""A stand-in for vLLM's messages and requests, as far as adapters see them."""

from __future__ import annotations

from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any


def _objects(value: Any) -> Any:
    """vLLM's models take dictionaries for their parts."""
    if isinstance(value, dict):
        return SimpleNamespace(**{"id": None, "name": None, "arguments": None, **{k: _objects(v) for k, v in value.items()}})
    return [_objects(one) for one in value] if isinstance(value, list) else value


@dataclass
class DeltaMessage:
    content: str | None = None
    reasoning: str | None = None
    tool_calls: list[Any] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.tool_calls = _objects(self.tool_calls)


@dataclass
class ExtractedToolCallInformation:
    tools_called: bool
    tool_calls: list[Any]
    content: str | None = None

    def __post_init__(self) -> None:
        self.tool_calls = _objects(self.tool_calls)


class ChatCompletionRequest:
    def __init__(self, **fields: Any) -> None:
        self.tool_choice: Any = "auto"
        self.tools: Any = None
        self.skip_special_tokens = True
        self.include_reasoning = True
        self.structured_outputs = None
        self.__dict__.update(fields)
        self.tool_choice = _objects(self.tool_choice)
