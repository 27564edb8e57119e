"""A stand-in for SGLang's base class of reasoning detectors, and for how it drives them."""

from __future__ import annotations

from typing import Any


class StreamingParseResult:
    def __init__(self, normal_text: str | None = None, reasoning_text: str | None = None) -> None:
        self.normal_text = normal_text or ""
        self.reasoning_text = reasoning_text or ""


class BaseReasoningFormatDetector:
    def __init__(
        self, think_start_token: str, think_end_token: str, force_reasoning: bool = False, stream_reasoning: bool = True, **kwargs: Any
    ) -> None:
        self.think_start_token, self.think_end_token = think_start_token, think_end_token
        self._in_reasoning, self.stream_reasoning = force_reasoning, stream_reasoning


class ReasoningParser:
    DetectorMap: dict[str, Any] = {}

    def __init__(self, model_type: str, stream_reasoning: bool = True, force_reasoning: bool | None = None) -> None:
        forced = {} if force_reasoning is None else {"force_reasoning": force_reasoning}
        self.detector = self.DetectorMap[model_type](stream_reasoning=stream_reasoning, **forced)

    def parse_non_stream(self, text: str) -> Any:
        result = self.detector.detect_and_parse(text)
        return result.reasoning_text, result.normal_text

    def parse_stream_chunk(self, text: str) -> Any:
        result = self.detector.parse_streaming_increment(text)
        return result.reasoning_text, result.normal_text

    def parse_stream_end(self) -> Any:
        result = self.detector.finish()
        return result.reasoning_text, result.normal_text
