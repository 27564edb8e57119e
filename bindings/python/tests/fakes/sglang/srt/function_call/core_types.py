"""A stand-in for SGLang's results of tool call detectors."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class ToolCallItem:
    tool_index: int
    parameters: str
    name: str | None = None


@dataclass
class StreamingParseResult:
    normal_text: str = ""
    calls: list[ToolCallItem] = field(default_factory=list)
