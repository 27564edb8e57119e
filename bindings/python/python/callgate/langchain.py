"""LangChain: `create_agent(model, tools, middleware=[callgate.langchain.CallgateMiddleware()])`

A middleware that reads calls out of what a model wrote, and judges those that came apart from it.
"""

from __future__ import annotations

import json
from typing import Any

from langchain.agents.middleware import AgentMiddleware
from langchain_core.messages import AIMessage
from langchain_core.utils.function_calling import convert_to_openai_tool

from callgate import Gate, _engine

__all__ = ["CallgateMiddleware"]


class CallgateMiddleware(AgentMiddleware):  # type: ignore[misc]
    """Give it to `create_agent(..., middleware=[CallgateMiddleware()])`.

    Calls in the text become `tool_calls`, and what is rejected `invalid_tool_calls` with the reason.
    """

    def __init__(self, *, dialect: str | None = None, model: str | None = None) -> None:
        super().__init__()
        self._dialect, self._model = dialect, model

    def wrap_model_call(self, request: Any, handler: Any) -> Any:
        return self._read(request, handler(request))

    async def awrap_model_call(self, request: Any, handler: Any) -> Any:
        return self._read(request, await handler(request))

    def _read(self, request: Any, response: Any) -> Any:
        tools = [convert_to_openai_tool(tool) for tool in request.tools or ()]
        if not tools:
            return response
        model = self._model or getattr(request.model, "model_name", None) or getattr(request.model, "model", None)
        gate = _engine.gate(self._dialect, model, tools)
        response.result = [read(gate, one) if isinstance(one, AIMessage) else one for one in response.result]
        return response


def read(gate: Gate, message: Any) -> Any:
    """A message with the calls that stand in it."""
    native = [_native(call, json.dumps(call["args"], ensure_ascii=False)) for call in message.tool_calls]
    native += [_native(call, call.get("args") or "") for call in message.invalid_tool_calls]
    # Content in blocks is the provider's own format, which has calls apart from the text already.
    text = message.content if isinstance(message.content, str) else ""
    response = gate.parse(text, tool_calls=native or None)
    if not response.calls and not response.rejected:
        return message
    calls = [{"type": "tool_call", "id": call.id, "name": call.name, "args": call.arguments} for call in response.calls]
    invalid = [
        {"type": "invalid_tool_call", "id": one.id, "name": one.name, "args": one.raw, "error": "; ".join(map(str, one.findings))}
        for one in response.rejected
    ]
    content = response.text if isinstance(message.content, str) else message.content
    return message.model_copy(update={"content": content, "tool_calls": calls, "invalid_tool_calls": invalid})


def _native(call: Any, arguments: str) -> dict[str, Any]:
    return {"id": call.get("id"), "type": "function", "function": {"name": call.get("name"), "arguments": arguments}}
