"""vLLM: `vllm serve MODEL --enable-auto-tool-choice --tool-call-parser callgate --reasoning-parser callgate`

Registered by the wheel: vLLM loads it before it reads its command line.
"""

from __future__ import annotations

import json
from typing import Any

from vllm.reasoning import ReasoningParser, ReasoningParserManager
from vllm.tool_parsers.abstract_tool_parser import (
    DeltaMessage,
    ExtractedToolCallInformation,
    ToolParser,
    ToolParserManager,
)

from callgate import Gate, Session, _engine, _grammar

__all__ = ["CallgateReasoningParser", "CallgateToolParser", "register"]

# How many tokens at the end of a prompt say whether a thought is open.
TAIL = 64


def _delta(pieces: _engine.Pieces) -> Any:
    """The pieces as a delta of a chat completion; `None` if there are none."""
    if not (pieces.text or pieces.reasoning or pieces.calls):
        return None
    calls = []
    for piece in pieces.calls:
        function = {"arguments": piece.arguments} if piece.name is None else {"name": piece.name, "arguments": piece.arguments}
        head = {} if piece.id is None else {"id": piece.id, "type": "function"}
        calls.append({"index": piece.index, **head, "function": function})
    return DeltaMessage(content=pieces.text or None, reasoning=pieces.reasoning or None, tool_calls=calls)


def _named(request: Any) -> str | None:
    """The tool that a request asks for by name."""
    choice = getattr(request, "tool_choice", None)
    return getattr(getattr(choice, "function", choice), "name", None)


class CallgateToolParser(ToolParser):  # type: ignore[misc]
    """Reads the calls of one request."""

    dialect: str | None = None
    # Required and named calls come in the model's own format, not as the JSON list that vLLM would read itself.
    supports_required_and_named = False
    # Without both of these and `finish_streaming` nobody says that the stream is over.
    engine_based_streaming = True
    # Set by vLLM where no reasoning parser runs: thoughts are then content, as the model wrote them.
    skip_reasoning_parsing = False

    def __init__(self, tokenizer: Any, tools: Any = None, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, tools, *args, **kwargs)
        self._session: Session | None = None
        self._stream: _engine.CallStream | None = None
        self._thoughts: _engine.Thoughts | None = None

    def _gate(self, request: Any) -> Gate:
        model = getattr(self.model_tokenizer, "name_or_path", None) or getattr(request, "model", None)
        return _engine.gate(self.dialect, model, getattr(request, "tools", None) or self.tools, _named(request))

    def adjust_request(self, request: Any) -> Any:
        request = super().adjust_request(request)
        if request.tools:
            # The markers of most formats are special tokens.
            request.skip_special_tokens = False
            self._require(request)
        return request

    def _require(self, request: Any) -> None:
        """Where a call is required, the model can write nothing else, as far as its format allows for that."""
        only = _named(request)
        if only is None and getattr(request, "tool_choice", None) != "required":
            return
        # Not promised to plugins: without them required calls are read as before, and nothing makes the model write one.
        try:
            from vllm.envs import VLLM_ENFORCE_STRICT_TOOL_CALLING
            from vllm.sampling_params import StructuredOutputsParams
        except ImportError:
            return
        if not VLLM_ENFORCE_STRICT_TOOL_CALLING:
            return
        parallel = getattr(request, "parallel_tool_calls", None) is not False
        tag = _grammar.structural_tag(self._gate(request), request.tools, only, parallel)
        if tag is not None:
            request.structured_outputs = StructuredOutputsParams(structural_tag=json.dumps(tag))
            # Either would be a second grammar: of chat completions, and of responses.
            for other in ("response_format", "text"):
                if hasattr(request, other):
                    setattr(request, other, None)

    def extract_tool_calls(self, model_output: str, request: Any) -> Any:
        gate = self._gate(request)
        _, rest = _engine.split(gate, model_output) if self.skip_reasoning_parsing else ("", model_output)
        stream = _engine.CallStream(gate, live=False)
        session = gate.session()
        pieces = stream.take(session.push(rest) + session.finish())
        calls = [
            {"id": piece.id, "type": "function", "function": {"name": piece.name, "arguments": piece.arguments}}
            for piece in pieces.calls
        ]
        # There is no place for a thought that comes later, so it is shown.
        content = model_output[: len(model_output) - len(rest)] + pieces.reasoning + pieces.text
        return ExtractedToolCallInformation(tools_called=bool(calls), tool_calls=calls, content=content or None)

    def extract_tool_calls_streaming(
        self, previous_text: Any, current_text: Any, delta_text: str, previous_token_ids: Any, current_token_ids: Any,
        delta_token_ids: Any, request: Any,
    ) -> Any:  # fmt: skip
        if self._session is None or self._stream is None:
            gate = self._gate(request)
            self._session, self._stream = gate.session(), _engine.CallStream(gate)
            self._thoughts = _engine.Thoughts(gate) if self.skip_reasoning_parsing else None
        shown = ""
        if self._thoughts is not None:
            self._thoughts.push(delta_text)
            shown = self._thoughts.verbatim()
            if not self._thoughts.is_over:
                return _delta(_engine.Pieces(text=shown))
            delta_text, self._thoughts = self._thoughts.rest, None
        return self._told(self._stream.take(self._session.push(delta_text)), shown)

    def _told(self, pieces: _engine.Pieces, shown: str = "") -> Any:
        pieces.text = shown + pieces.text
        if self._stream is not None:
            # From these two vLLM derives the finish reason and what is left to send.
            self.prev_tool_call_arr = [{"name": name, "arguments": sent} for name, sent in self._stream.sent]
            self.streamed_args_for_tool = [sent for _, sent in self._stream.sent]
        return _delta(pieces)

    def finish_streaming(self) -> Any:
        """The end of the stream: what was held comes out."""
        if self._session is None or self._stream is None:
            return None
        session, self._session = self._session, None
        shown, events = "", []
        if self._thoughts is not None:
            self._thoughts.finish()
            shown, events = self._thoughts.verbatim(), session.push(self._thoughts.rest)
        return self._told(self._stream.take(events + session.finish()), shown)


class CallgateReasoningParser(ReasoningParser):  # type: ignore[misc]
    """Tells the thought of one response from the rest of it."""

    dialect: str | None = None
    engine_based_streaming = True

    def __init__(self, tokenizer: Any, *args: Any, **kwargs: Any) -> None:
        super().__init__(tokenizer, *args, **kwargs)
        model = getattr(tokenizer, "name_or_path", None) or getattr(kwargs.get("model_config"), "model", None)
        self._gate = _engine.gate(self.dialect, model, None)
        self._thoughts: _engine.Thoughts | None = None
        self._tail = ""

    def _text(self, ids: Any) -> str:
        return str(self.model_tokenizer.decode(list(ids)[-TAIL:]))

    def adjust_request(self, request: Any) -> Any:
        request.skip_special_tokens = False
        return request

    def is_reasoning_end(self, input_ids: Any) -> bool:
        return _engine.closes(self._gate, self._text(input_ids))

    def is_reasoning_end_streaming(self, input_ids: Any, delta_ids: Any) -> bool:
        # A step may have several tokens, and a closer a few of its own.
        recent = self.model_tokenizer.decode(list(input_ids)[-(len(list(delta_ids)) + 16) :])
        return _engine.marks(tuple(self._gate.dialects)).closer.search(recent) is not None

    def adjust_initial_state_from_prompt(self, prompt_token_ids: Any) -> None:
        self._tail = self._text(prompt_token_ids)

    def has_engine_confirmed_reasoning_end(self) -> bool:
        return self._thoughts is not None and self._thoughts.is_over

    def extract_content_ids(self, input_ids: list[int]) -> list[int]:
        # Only where a thought closes within them some are content; the text itself is handed over as text.
        for at in range(len(input_ids), 0, -1):
            if _engine.closes(self._gate, self._text(input_ids[:at])):
                return input_ids[at:]
        return []

    def extract_reasoning(self, model_output: str, request: Any) -> tuple[str | None, str | None]:
        # Nobody shows the prompt here, so a closer without its opener says that the prompt opened the thought.
        tail = self._tail or _engine.unopened(self._gate, model_output)
        thought, rest = _engine.split(self._gate, model_output, tail)
        return thought or None, rest or None

    def extract_reasoning_streaming(
        self, previous_text: Any, current_text: Any, delta_text: str, previous_token_ids: Any, current_token_ids: Any,
        delta_token_ids: Any,
    ) -> Any:  # fmt: skip
        if self._thoughts is None:
            self._thoughts = _engine.Thoughts(self._gate, self._tail)
        return _delta(_engine.Pieces(reasoning=self._thoughts.push(delta_text)))

    def finish_streaming(self) -> Any:
        """The end of the thought or of the stream: what follows the thought is handed on."""
        if self._thoughts is None:
            return None
        thoughts = self._thoughts
        pieces = _engine.Pieces(reasoning=thoughts.finish(), text=thoughts.rest)
        thoughts.rest = ""
        return _delta(pieces)


def register() -> None:
    """Called by vLLM before it reads its command line."""
    for name, dialect in _engine.names().items():
        for manager, base in ((ToolParserManager, CallgateToolParser), (ReasoningParserManager, CallgateReasoningParser)):
            manager.register_module(name, module=type(f"{base.__name__}_{name}", (base,), {"dialect": dialect}))
