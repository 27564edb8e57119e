"""Larger Python frameworks, unchanged, against a gateway with the built-in model. Run by scripts/clients --all."""

import sys

URL = sys.argv[1]
ASK = 'call get_weather {"city": "Oslo",}'
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
TOOLS = [{"type": "function", "function": {"name": "get_weather", "description": "The weather.", "parameters": SCHEMA}}]


def check(what, got, wanted):
    if got != wanted:
        sys.exit(f"FAILED: {what}: {got!r} instead of {wanted!r}")
    print(f"{what}: as it should be")


def litellm_calls():
    import litellm

    settings = dict(
        model="openai/scripted", api_base=f"{URL}/v1", api_key="none", messages=[{"role": "user", "content": ASK}], tools=TOOLS
    )
    whole = litellm.completion(**settings)
    check("litellm", whole.choices[0].message.tool_calls[0].function.arguments, '{"city": "Oslo"}')
    pieces = list(litellm.completion(stream=True, **settings))
    check("litellm stream", litellm.stream_chunk_builder(pieces).choices[0].message.tool_calls[0].function.name, "get_weather")


def langchain_calls():
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI

    @tool
    def get_weather(city: str) -> str:
        """The weather."""
        return f"rain in {city}"

    model = ChatOpenAI(model="scripted", base_url=f"{URL}/v1", api_key="none").bind_tools([get_weather])
    check("langchain", [(call["name"], call["args"]) for call in model.invoke(ASK).tool_calls], [("get_weather", {"city": "Oslo"})])
    whole = None
    for piece in model.stream(ASK):
        whole = piece if whole is None else whole + piece
    check("langchain stream", [(call["name"], call["args"]) for call in whole.tool_calls], [("get_weather", {"city": "Oslo"})])


def pydantic_ai_calls():
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    agent = Agent(OpenAIChatModel("scripted", provider=OpenAIProvider(base_url=f"{URL}/v1", api_key="none")))

    @agent.tool_plain
    def get_weather(city: str) -> str:
        """The weather."""
        return f"rain in {city}"

    check("pydantic-ai", agent.run_sync(ASK).output, "get_weather says: rain in Oslo")


for part in (litellm_calls, langchain_calls, pydantic_ai_calls):
    part()
