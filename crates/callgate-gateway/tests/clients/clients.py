"""The official Python clients, unchanged, against a gateway with the built-in model. Run by scripts/clients."""

import sys

import anthropic
import ollama
import openai

URL = sys.argv[1]
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}
FUNCTION = {"name": "get_weather", "description": "The weather of a city.", "parameters": SCHEMA}
TOOLS = [{"type": "function", "function": FUNCTION}]
# What the built-in model is told to call, with a comma too many: it comes out mended.
ASK = 'call get_weather {"city": "Oslo",}'
OSLO = '{"city": "Oslo"}'
checks = 0


def check(what, got, wanted):
    global checks
    checks += 1
    if got != wanted:
        sys.exit(f"FAILED: {what}: {got!r} instead of {wanted!r}")


def openai_chat():
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    check("models", [model.id for model in client.models.list()], ["scripted"])
    messages = [{"role": "user", "content": ASK}]
    whole = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS)
    choice = whole.choices[0]
    check("chat reason", choice.finish_reason, "tool_calls")
    call = choice.message.tool_calls[0]
    check("chat call", (call.function.name, call.function.arguments), ("get_weather", OSLO))
    # The result goes back, and the model answers with it.
    messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": "rain"}]
    answer = client.chat.completions.create(model="scripted", messages=messages, tools=TOOLS)
    check("chat answer", answer.choices[0].message.content, "get_weather says: rain")
    check("chat answer reason", answer.choices[0].finish_reason, "stop")
    # Streamed, by the client's own accumulation.
    with client.chat.completions.stream(
        model="scripted", messages=[{"role": "user", "content": ASK}], tools=TOOLS
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_completion()
    call = final.choices[0].message.tool_calls[0]
    check("chat stream", (call.function.name, call.function.arguments), ("get_weather", OSLO))
    check("chat stream reason", final.choices[0].finish_reason, "tool_calls")
    pieces = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": "hello"}], stream=True,
        stream_options={"include_usage": True},
    )
    pieces = list(pieces)
    text = "".join(piece.choices[0].delta.content or "" for piece in pieces if piece.choices)
    check("chat stream text", text.startswith("I am no language model"), True)
    check("chat stream usage", pieces[-1].usage is not None, True)
    # What the model gets wrong is corrected by the gateway.
    wrong = client.chat.completions.create(
        model="scripted", messages=[{"role": "user", "content": 'call get_wether {"town": 1}'}], tools=TOOLS
    )
    check("chat corrected", wrong.choices[0].message.tool_calls[0].function.name, "get_weather")
    try:
        client.chat.completions.create(model="scripted", messages=[{"content": "no role"}])
        check("chat error", "no error", "an error")
    except openai.BadRequestError as error:
        check("chat error", error.param, "messages[0].role")


def openai_responses():
    client = openai.OpenAI(base_url=f"{URL}/v1", api_key="none", max_retries=0)
    tools = [{"type": "function", **FUNCTION}]
    whole = client.responses.create(model="scripted", input=ASK, tools=tools)
    call = next(item for item in whole.output if item.type == "function_call")
    check("responses call", (call.name, call.arguments), ("get_weather", OSLO))
    turn = [{"role": "user", "content": ASK}, *[item.to_dict() for item in whole.output]]
    turn.append({"type": "function_call_output", "call_id": call.call_id, "output": "rain"})
    answer = client.responses.create(model="scripted", input=turn, tools=tools)
    check("responses answer", answer.output_text, "get_weather says: rain")
    with client.responses.stream(model="scripted", input=ASK, tools=tools) as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    call = next(item for item in final.output if item.type == "function_call")
    check("responses stream", (call.name, call.arguments), ("get_weather", OSLO))
    check("responses done", "response.function_call_arguments.done" in kinds, True)
    with client.responses.stream(model="scripted", input="hello") as stream:
        text = "".join(event.delta for event in stream if event.type == "response.output_text.delta")
        check("responses text", stream.get_final_response().output_text, text)
    try:
        client.responses.create(model="scripted", input="x", previous_response_id="resp_1")
        check("responses state", "no error", "an error")
    except openai.BadRequestError as error:
        check("responses state", error.param, "previous_response_id")


def anthropic_messages():
    client = anthropic.Anthropic(base_url=URL, api_key="none", max_retries=0)
    tools = [{"name": "get_weather", "description": "The weather.", "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": ASK}]
    whole = client.messages.create(model="scripted", max_tokens=500, messages=messages, tools=tools)
    check("messages reason", whole.stop_reason, "tool_use")
    use = whole.content[-1]
    check("messages call", (use.name, use.input), ("get_weather", {"city": "Oslo"}))
    messages += [
        {"role": "assistant", "content": whole.content},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": use.id, "content": "rain"}]},
    ]
    answer = client.messages.create(model="scripted", max_tokens=500, messages=messages, tools=tools)
    check("messages answer", answer.content[0].text, "get_weather says: rain")
    check("messages answer reason", answer.stop_reason, "end_turn")
    with client.messages.stream(
        model="scripted", max_tokens=500, messages=[{"role": "user", "content": ASK}], tools=tools, system="Be brief."
    ) as stream:
        for _ in stream:
            pass
        final = stream.get_final_message()
    check("messages stream", (final.content[-1].name, final.content[-1].input), ("get_weather", {"city": "Oslo"}))
    check("messages stream reason", final.stop_reason, "tool_use")
    with client.messages.stream(model="scripted", max_tokens=9, messages=[{"role": "user", "content": "hi"}]) as stream:
        check("messages text", "".join(stream.text_stream).startswith("I am no language model"), True)
    count = client.messages.count_tokens(model="scripted", messages=messages)
    check("messages tokens", count.input_tokens > 0, True)
    try:
        client.messages.create(model="scripted", max_tokens=5, messages=[{"role": "user", "content": 7}])
        check("messages error", "no error", "an error")
    except anthropic.BadRequestError as error:
        check("messages error", error.body["error"]["type"], "invalid_request_error")


def ollama_chat():
    client = ollama.Client(host=URL)
    check("tags", [model.model for model in client.list().models], ["scripted"])
    messages = [{"role": "user", "content": ASK}]
    whole = client.chat(model="scripted", messages=messages, tools=TOOLS)
    call = whole.message.tool_calls[0]
    check("ollama call", (call.function.name, dict(call.function.arguments)), ("get_weather", {"city": "Oslo"}))
    messages += [whole.message, {"role": "tool", "tool_name": "get_weather", "content": "rain"}]
    answer = client.chat(model="scripted", messages=messages, tools=TOOLS)
    check("ollama answer", answer.message.content, "get_weather says: rain")
    pieces = list(client.chat(model="scripted", messages=[{"role": "user", "content": ASK}], tools=TOOLS, stream=True))
    called = [call.function.name for piece in pieces for call in piece.message.tool_calls or []]
    check("ollama stream", (called, pieces[-1].done), (["get_weather"], True))
    text = "".join(piece.response for piece in client.generate(model="scripted", prompt="hi", stream=True))
    check("ollama generate", text.startswith("I am no language model"), True)


for part in (openai_chat, openai_responses, anthropic_messages, ollama_chat):
    part()
print(f"{checks} checks passed")
