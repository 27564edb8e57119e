"""A stand-in for how SGLang drives its tool call detectors."""

from __future__ import annotations

import inspect
from typing import Any


class FunctionCallParser:
    ToolCallParserEnum: dict[str, Any] = {}

    def __init__(self, tools: Any, tool_call_parser: str, tokenizer: Any = None) -> None:
        self.tools = tools
        detector = self.ToolCallParserEnum[tool_call_parser]
        wants = tokenizer is not None and "tokenizer" in inspect.signature(detector).parameters
        self.detector = detector(tokenizer=tokenizer) if wants else detector()

    def has_tool_call(self, text: str) -> bool:
        return bool(self.detector.has_tool_call(text))

    def parse_non_stream(self, text: str) -> Any:
        found = self.detector.has_tool_call(text)
        result = self.detector.detect_and_parse(text, self.tools)
        return (result.normal_text, result.calls) if result.calls or found else (text, [])

    def parse_stream_chunk(self, text: str) -> Any:
        result = self.detector.parse_streaming_increment(text, self.tools)
        return result.normal_text, result.calls

    def parse_stream_end(self) -> Any:
        result = self.detector.finish(self.tools)
        return result.normal_text, result.calls
