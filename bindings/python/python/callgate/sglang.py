"""SGLang: `sglang serve --model-path MODEL --tool-call-parser callgate --reasoning-parser callgate`

Registered by the wheel: SGLang loads it before it reads its command line, and in every process that it starts.
"""

from __future__ import annotations

import re
from typing import Any

from sglang.srt.function_call.base_format_detector import BaseFormatDetector
from sglang.srt.function_call.core_types import StreamingParseResult, ToolCallItem
from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import BaseReasoningFormatDetector, ReasoningParser
from sglang.srt.parser.reasoning_parser import StreamingParseResult as ReasoningResult

from callgate import Session, _engine, _grammar

__all__ = ["CallgateDetector", "CallgateReasoningDetector", "register"]


class CallgateDetector(BaseFormatDetector):  # type: ignore[misc]
    """Reads the calls of one request."""

    dialect: str | None = None

    def __init__(self, tokenizer: Any = None) -> None:
        super().__init__()
        self._model = getattr(tokenizer, "name_or_path", None)
        self._session: Session | None = None
        self._stream: _engine.CallStream | None = None

    def has_tool_call(self, text: str) -> bool:
        # Without tools: whether something in it is an attempt to call, whatever it calls. A dialect that needs the names
        # of tools for that is not asked; then anything that looks like one is.
        gate = _engine.gate(self.dialect, self._model, None)
        if self.dialect is not None and self.dialect not in gate.dialects:
            return re.search(r"<[A-Za-z_][\w.-]*>", text) is not None
        response = gate.parse(text)
        return bool(response.calls or response.rejected)

    def detect_and_parse(self, text: str, tools: Any) -> Any:
        gate = _engine.gate(self.dialect, self._model, tools)
        session, stream = gate.session(), _engine.CallStream(gate, live=False)
        return self._result(stream.take(session.push(text) + session.finish()))

    def parse_streaming_increment(self, new_text: str, tools: Any) -> Any:
        if self._session is None or self._stream is None:
            gate = _engine.gate(self.dialect, self._model, tools)
            self._session, self._stream = gate.session(), _engine.CallStream(gate)
        return self._result(self._stream.take(self._session.push(new_text)))

    def finish(self, tools: Any) -> Any:
        """The end of the stream: what was held comes out."""
        if self._session is None or self._stream is None:
            return StreamingParseResult()
        session, self._session = self._session, None
        return self._result(self._stream.take(session.finish()))

    def _result(self, pieces: _engine.Pieces) -> Any:
        if self._stream is not None:
            # From these SGLang derives what is left to send.
            self.prev_tool_call_arr = [{"name": name, "arguments": sent} for name, sent in self._stream.sent]
            self.streamed_args_for_tool = [sent for _, sent in self._stream.sent]
            self.current_tool_id = len(self._stream.sent) - 1
        calls = [ToolCallItem(tool_index=one.index, name=one.name, parameters=one.arguments) for one in pieces.calls]
        # The reasoning detector has taken the thought before; a later one is shown as it is.
        return StreamingParseResult(normal_text=pieces.reasoning + pieces.text, calls=calls)

    def supports_structural_tag(self) -> bool:
        return False

    def parses_required_natively(self) -> bool:
        # Required and named calls come in the model's own format.
        return True

    def get_structural_tag(
        self, tools: Any = None, tool_choice: Any = "auto", thinking_mode: bool = False, parallel_tool_calls: bool = True
    ) -> Any:
        """Where a call is required, the model can write nothing else, as far as its format allows for that."""
        only = getattr(getattr(tool_choice, "function", None), "name", None)
        # A thought that nobody else takes care of has to stay possible.
        if thinking_mode or (only is None and tool_choice != "required"):
            return None
        tag = _grammar.structural_tag(_engine.gate(self.dialect, self._model, tools, only), tools, only, parallel_tool_calls)
        if tag is None:
            return None
        from xgrammar import StructuralTag

        return StructuralTag.model_validate(tag)

    def structure_info(self) -> Any:
        raise NotImplementedError("get_structural_tag says what can be constrained")


class CallgateReasoningDetector(BaseReasoningFormatDetector):  # type: ignore[misc]
    """Tells the thought of one response from the rest of it."""

    dialect: str | None = None

    def __init__(self, stream_reasoning: bool = True, force_reasoning: bool = False, tokenizer: Any = None, **kwargs: Any) -> None:
        known = {key: kwargs[key] for key in ("continue_final_message", "previous_content") if key in kwargs}
        super().__init__("<think>", "</think>", force_reasoning=force_reasoning, stream_reasoning=stream_reasoning, **known)
        self._gate = _engine.gate(self.dialect, getattr(tokenizer, "name_or_path", None), None)
        self._tail = "<think>\n" if self._in_reasoning else ""
        self._thoughts = _engine.Thoughts(self._gate, self._tail)
        self._whole = ""

    def detect_and_parse(self, text: str) -> Any:
        tail = self._tail or _engine.unopened(self._gate, text)
        thought, rest = _engine.split(self._gate, text, tail)
        return ReasoningResult(normal_text=rest, reasoning_text=thought)

    def parse_streaming_increment(self, new_text: str) -> Any:
        return self._result(self._thoughts.push(new_text), self._thoughts.is_over)

    def finish(self) -> Any:
        """The end of the stream: what was held comes out."""
        return self._result(self._thoughts.finish(), True)

    def _result(self, thought: str, is_over: bool) -> Any:
        self._in_reasoning = not is_over
        self._whole += thought
        if self.stream_reasoning or is_over:
            thought, self._whole = self._whole, ""
        else:
            thought = ""
        rest, self._thoughts.rest = self._thoughts.rest, ""
        return ReasoningResult(normal_text=rest, reasoning_text=thought)


def register() -> None:
    """Called by SGLang before it reads its command line, and in every process that it starts."""
    for name, dialect in _engine.names().items():
        own = {"dialect": dialect}
        FunctionCallParser.ToolCallParserEnum[name] = type(f"CallgateDetector_{name}", (CallgateDetector,), own)
        ReasoningParser.DetectorMap[name] = type(f"CallgateReasoningDetector_{name}", (CallgateReasoningDetector,), own)
