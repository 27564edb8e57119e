"""pydantic-ai: `Agent(model, capabilities=[callgate.pydantic_ai.Callgate()])`

A capability that reads calls out of what a model wrote, and repairs arguments before they are validated.
"""

from __future__ import annotations

import dataclasses
import json
from typing import Any

from pydantic_ai.capabilities import AbstractCapability
from pydantic_ai.messages import TextPart, ThinkingPart, ToolCallPart

from callgate import Gate, _engine

__all__ = ["Callgate"]


def _tool(definition: Any) -> dict[str, Any]:
    return {
        "name": definition.name,
        "description": definition.description or "",
        "parameters": definition.parameters_json_schema,
    }


@dataclasses.dataclass
class Callgate(AbstractCapability[Any]):  # type: ignore[misc]
    """Give it to `Agent(..., capabilities=[Callgate()])`."""

    dialect: str | None = None
    model: str | None = None

    async def after_model_request(self, ctx: Any, *, request_context: Any, response: Any) -> Any:
        """Calls in the text become parts of their own."""
        parameters = request_context.model_request_parameters
        tools = [_tool(one) for one in [*parameters.function_tools, *parameters.output_tools]]
        if not tools or any(isinstance(part, ToolCallPart) for part in response.parts):
            return response
        gate = _engine.gate(self.dialect, self.model or response.model_name, tools)
        parts: list[Any] = []
        for part in response.parts:
            parts += read(gate, part.content) if isinstance(part, TextPart) else [part]
        return dataclasses.replace(response, parts=parts)

    async def before_tool_validate(self, ctx: Any, *, call: Any, tool_def: Any, args: Any) -> Any:
        """Arguments that can be read are given as JSON; what cannot is left to pydantic to tell the model about."""
        text = args if isinstance(args, str) else json.dumps(args, ensure_ascii=False)
        gate = _engine.gate(None, None, [_tool(tool_def)])
        native = [{"id": call.tool_call_id, "type": "function", "function": {"name": tool_def.name, "arguments": text}}]
        response = gate.parse("", tool_calls=native)
        return response.calls[0].arguments_json if len(response.calls) == 1 else args


def read(gate: Gate, text: str) -> list[Any]:
    """The parts that a text comes to: itself if it holds no call."""
    response = gate.parse(text)
    if not response.calls:
        return [TextPart(text)]
    parts: list[Any] = [ThinkingPart(response.reasoning)] if response.reasoning else []
    if response.text.strip():
        parts.append(TextPart(response.text))
    return parts + [ToolCallPart(call.name, call.arguments_json, call.id) for call in response.calls]
