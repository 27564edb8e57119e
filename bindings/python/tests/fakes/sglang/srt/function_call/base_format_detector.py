"""A stand-in for SGLang's base class of tool call detectors."""

from __future__ import annotations

from typing import Any


class BaseFormatDetector:
    def __init__(self) -> None:
        self.prev_tool_call_arr: list[dict[str, Any]] = []
        self.current_tool_id = -1
        self.streamed_args_for_tool: list[str] = []

    def supports_structural_tag(self) -> bool:
        return True

    def parses_required_natively(self) -> bool:
        return False
