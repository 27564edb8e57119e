"""LiteLLM proxy: `litellm_settings: {callbacks: callgate.litellm.handler}` in its configuration

A callback that reads calls out of what a model wrote, streamed or whole.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from litellm.integrations.custom_logger import CustomLogger
from litellm.types.utils import ChatCompletionDeltaToolCall, ChatCompletionMessageToolCall, Function

from callgate import Session, _engine

__all__ = ["CallgateHandler", "handler"]


class CallgateHandler(CustomLogger):  # type: ignore[misc]
    """Calls in the text become `tool_calls`; those that came apart from it are judged."""

    def __init__(self, dialect: str | None = None, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self._dialect = dialect

    async def async_post_call_success_hook(self, data: dict[str, Any], user_api_key_dict: Any, response: Any) -> Any:
        if not data.get("tools") or not hasattr(response, "choices"):
            return response
        gate = _engine.gate(self._dialect, data.get("model"), data["tools"])
        for choice in response.choices:
            message = choice.message
            native = [one.model_dump() for one in message.tool_calls or ()]
            read = gate.parse(message.content or "", tool_calls=native or None, finish_reason=_known(choice.finish_reason))
            message.content = read.text or None
            message.tool_calls = [
                ChatCompletionMessageToolCall(id=call.id, function=Function(name=call.name, arguments=call.arguments_json))
                for call in read.calls
            ] or None
            choice.finish_reason = read.finish_reason
        return response

    async def async_post_call_streaming_iterator_hook(
        self, user_api_key_dict: Any, response: Any, request_data: dict[str, Any]
    ) -> AsyncIterator[Any]:
        if not request_data.get("tools"):
            async for chunk in response:
                yield chunk
            return
        gate = _engine.gate(self._dialect, request_data.get("model"), request_data["tools"])
        sessions: dict[int, tuple[Session, _engine.CallStream]] = {}
        async for chunk in response:
            for choice in chunk.choices:
                if choice.index not in sessions:
                    sessions[choice.index] = (gate.session(), _engine.CallStream(gate))
                session, stream = sessions[choice.index]
                if session.closed:
                    continue
                delta = choice.delta
                events = session.push(delta.content or "")
                for call in delta.tool_calls or ():
                    events += session.native(call)
                if choice.finish_reason:
                    events += session.finish(_known(choice.finish_reason))
                pieces = stream.take(events)
                delta.content = pieces.text or None
                delta.tool_calls = [_call(piece) for piece in pieces.calls] or None
                if choice.finish_reason == "stop" and stream.sent:
                    choice.finish_reason = "tool_calls"
            yield chunk


def _known(word: Any) -> str | None:
    return word if word in ("stop", "length", "tool_calls", "content_filter", "function_call") else None


def _call(piece: _engine.Piece) -> Any:
    function = Function(name=piece.name, arguments=piece.arguments)
    return ChatCompletionDeltaToolCall(id=piece.id, function=function, type="function", index=piece.index)


handler = CallgateHandler()
