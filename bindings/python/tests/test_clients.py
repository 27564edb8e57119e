"""Clients: LangChain, pydantic-ai and LiteLLM, each with its own mock model. They are there only where they are installed."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from conftest import WEATHER, hermes

TEXT = "Sure. " + hermes("weather", '{"city": "Oslo", "days": "3",}')


def test_langchain() -> None:
    pytest.importorskip("langchain")
    from langchain.agents import create_agent
    from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
    from langchain_core.messages import AIMessage
    from langchain_core.tools import tool

    from callgate.langchain import CallgateMiddleware

    seen = []

    @tool
    def weather(city: str, days: int = 1) -> str:
        """The weather of a city."""
        seen.append((city, days))
        return "rain"

    class Model(GenericFakeChatModel):  # type: ignore[misc]
        def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
            return self

    bad = AIMessage(hermes("weather", '{"town": 1}'))
    for start in ("sync", "async"):
        model = Model(messages=iter([AIMessage(TEXT), AIMessage("Rain.")]))
        agent = create_agent(model, [weather], middleware=[CallgateMiddleware()])
        asked = {"messages": [("user", "x")]}
        out = agent.invoke(asked) if start == "sync" else asyncio.run(agent.ainvoke(asked))
        assert [message.content for message in out["messages"]] == ["x", "Sure.", "rain", "Rain."]
    assert seen == [("Oslo", 3)] * 2
    agent = create_agent(Model(messages=iter([bad])), [weather], middleware=[CallgateMiddleware()])
    last = agent.invoke({"messages": [("user", "x")]})["messages"][-1]
    assert not last.tool_calls and "missing-argument" in last.invalid_tool_calls[0]["error"]


def test_pydantic_ai() -> None:
    pytest.importorskip("pydantic_ai")
    from pydantic_ai import Agent
    from pydantic_ai.messages import ModelResponse, TextPart, ToolCallPart
    from pydantic_ai.models.function import FunctionModel
    from pydantic_ai.models.test import TestModel

    from callgate.pydantic_ai import Callgate

    answers = [
        [TextPart(TEXT)],
        [ToolCallPart("weather", '{"city": "Bergen", "days": "2",}')],
        [TextPart("Rain.")],
    ]

    def answer(messages: Any, info: Any) -> Any:
        return ModelResponse(parts=answers[sum(isinstance(message, ModelResponse) for message in messages)])

    seen = []
    for model in (FunctionModel(answer), TestModel(custom_output_text="Rain.")):
        agent: Any = Agent(model, capabilities=[Callgate()])

        @agent.tool_plain
        def weather(city: str, days: int) -> str:
            """The weather of a city."""
            seen.append((city, days))
            return "rain"

        assert agent.run_sync("x").output == "Rain."
    assert seen[:2] == [("Oslo", 3), ("Bergen", 2)] and len(seen) == 3


def test_litellm(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LITELLM_LOCAL_MODEL_COST_MAP", "True")
    litellm = pytest.importorskip("litellm")

    from callgate.litellm import handler

    async def ask(**options: Any) -> Any:
        messages = [{"role": "user", "content": "x"}]
        return await litellm.acompletion(model="gpt-4o", messages=messages, mock_response=TEXT, **options)

    async def run() -> None:
        data = {"tools": [WEATHER], "model": "m"}
        answer = await handler.async_post_call_success_hook(data, None, await ask())
        (choice,) = answer.choices
        (call,) = choice.message.tool_calls
        assert (choice.message.content, choice.finish_reason) == ("Sure.", "tool_calls")
        assert (call.function.name, call.function.arguments) == ("weather", '{"city": "Oslo", "days": 3}')
        content = name = arguments = ""
        reasons = set()
        stream = handler.async_post_call_streaming_iterator_hook(None, await ask(stream=True), data)
        async for chunk in stream:
            content += chunk.choices[0].delta.content or ""
            reasons.add(chunk.choices[0].finish_reason)
            for piece in chunk.choices[0].delta.tool_calls or ():
                name += piece.function.name or ""
                arguments += piece.function.arguments
        # What was coerced after it had left stays as the model wrote it.
        assert (content, name, arguments) == ("Sure.", "weather", '{"city": "Oslo", "days": "3"}')
        assert "tool_calls" in reasons and "stop" not in reasons
        plain = await handler.async_post_call_success_hook({"model": "m"}, None, await ask())
        assert plain.choices[0].message.content == TEXT

    asyncio.run(run())
