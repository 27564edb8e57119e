"""vLLM: what its server makes of the adapter, streamed and whole. Against the real package where that is installed."""

from __future__ import annotations

import json
from importlib.metadata import entry_points
from typing import Any

import pytest
from conftest import WEATHER, hermes, is_real

from callgate import Gate, dialects

from vllm.parser import ParserManager
from vllm.tool_parsers.abstract_tool_parser import ToolParserManager

REAL = is_real("vllm")
if REAL:
    from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
else:
    from vllm.protocol import ChatCompletionRequest


class Tokenizer:
    """A token for each character."""

    def __init__(self, name_or_path: str = "Qwen/Qwen3-8B") -> None:
        self.name_or_path = name_or_path

    def get_vocab(self) -> dict[str, int]:
        return {}

    def encode(self, text: str, **kwargs: Any) -> list[int]:
        return [ord(one) for one in text]

    def decode(self, ids: list[int], **kwargs: Any) -> str:
        return "".join(map(chr, ids))


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    (point,) = [point for point in entry_points(group="vllm.general_plugins") if point.name == "callgate"]
    point.load()()


def request(tools: Any = (WEATHER,), choice: Any = "auto") -> Any:
    return ChatCompletionRequest(
        model="m", messages=[{"role": "user", "content": "x"}], tools=list(tools), tool_choice=choice
    )


def whole(text: str, asked: Any, tool: str = "callgate", reasoning: str | None = None, model: str = "Qwen/Qwen3-8B") -> Any:
    kind = ParserManager.get_parser(tool_parser_name=tool, reasoning_parser_name=reasoning, enable_auto_tools=True)
    parser = kind(Tokenizer(model), asked.tools)
    asked = parser.adjust_request(asked)
    assert asked.skip_special_tokens is False
    # Where a call is required the model writes nothing else, in its own format and not in vLLM's list.
    if asked.tool_choice in ("auto", "none"):
        assert not asked.structured_outputs
    else:
        tag = json.loads(asked.structured_outputs.structural_tag)
        assert [one["begin"] for one in tag["format"]["tags"]] == ['<tool_call>\n{"name": "weather", "arguments": ']
    thought, content, calls = parser.parse(text, asked, enable_auto_tools=True)
    return thought or "", content or "", [(call.name, call.arguments) for call in calls or ()]


def streamed(
    text: str, size: int, asked: Any, tool: str = "callgate", reasoning: str | None = None,
    prompt: str = "<|im_start|>assistant\n", model: str = "Qwen/Qwen3-8B",
) -> Any:  # fmt: skip
    kind = ParserManager.get_parser(tool_parser_name=tool, reasoning_parser_name=reasoning, enable_auto_tools=True)
    tokenizer = Tokenizer(model)
    parser = kind(tokenizer, asked.tools)
    content = thought = ""
    calls: dict[int, list[str]] = {}
    ids = []
    pieces = [text[at : at + size] for at in range(0, len(text), size)] or [""]
    for number, piece in enumerate(pieces):
        delta = parser.parse_delta(
            piece, tokenizer.encode(piece), asked, prompt_token_ids=tokenizer.encode(prompt) if number == 0 else None,
            finished=number == len(pieces) - 1,
        )  # fmt: skip
        if delta is None:
            continue
        content += delta.content or ""
        thought += delta.reasoning or ""
        for call in delta.tool_calls:
            if call.id:
                ids.append(call.id)
            known = calls.setdefault(call.index, ["", ""])
            known[0] += call.function.name or ""
            known[1] += call.function.arguments or ""
    assert len(ids) == len(set(ids)) == len(calls) and sorted(calls) == list(range(len(calls)))
    return thought, content, [tuple(call) for call in calls.values()]


GOOD = ("weather", '{"city": "Oslo", "days": 3}')
TEXT = "<think>\nI need it.\n</think>\n\nSure. " + hermes(*GOOD)


def test_every_dialect_is_a_parser() -> None:
    for name in dialects:
        assert ToolParserManager.get_tool_parser("callgate_" + name.replace("-", "_"))


@pytest.mark.parametrize("choice", ["auto", "required", {"type": "function", "function": {"name": "weather"}}])
@pytest.mark.parametrize("size", [1, 7, 1000])
def test_streamed_is_whole(choice: Any, size: int) -> None:
    wanted = ("I need it.", "Sure.", [GOOD])
    assert whole(TEXT, request(choice=choice), reasoning="callgate") == wanted
    assert streamed(TEXT, size, request(choice=choice), reasoning="callgate") == wanted


def test_a_named_choice_lets_no_other_tool_through() -> None:
    other = {"type": "function", "function": {"name": "ping", "parameters": {"type": "object", "properties": {}}}}
    asked = request([WEATHER, other], {"type": "function", "function": {"name": "weather"}})
    text = hermes("ping", "{}") + hermes(*GOOD)
    assert whole(text, asked)[2] == [GOOD] and streamed(text, 3, asked)[2] == [GOOD]
    assert "ping" in whole(text, asked)[1], "what was refused is shown, not lost"


def test_no_calls_where_none_are_wanted() -> None:
    for size in (1, 1000):
        assert streamed(hermes(*GOOD), size, request(choice="none"))[1:] == ("", [])
    assert whole(hermes(*GOOD), request(choice="none"))[2] == []


def test_thoughts_are_content_without_a_reasoning_parser() -> None:
    thought = TEXT[: TEXT.index("Sure")]
    assert whole(TEXT, request()) == ("", thought + "Sure.", [GOOD])
    for size in (1, 5, 1000):
        assert streamed(TEXT, size, request()) == ("", thought + "Sure.", [GOOD])


def test_the_prompt_may_have_opened_or_closed_the_thought() -> None:
    text = "I need it.\n</think>\n\nSure."
    for size in (1, 5, 1000):
        opened = streamed(text, size, request(), reasoning="callgate", prompt="<|im_start|>assistant\n<think>\n")
        assert (opened[0].strip(), opened[1]) == ("I need it.", "Sure.")
        closed = streamed("Sure.", size, request(), reasoning="callgate", prompt="assistant\n<think>\n\n</think>\n\n")
        assert closed[:2] == ("", "Sure.")
        plain = streamed("Sure, 1 < 2.", size, request(), reasoning="callgate")
        assert plain[:2] == ("", "Sure, 1 < 2.")
    assert whole(text, request(), reasoning="callgate")[:2] == ("I need it.", "Sure.")


def test_a_call_that_is_not_judged_is_never_complete() -> None:
    bad = hermes("weather", '{"town": {"a": 1}}')
    for size in (1, 4, 1000):
        ((_, arguments),) = streamed(bad, size, request())[2]
        assert arguments.startswith('{"town"') and arguments.count("}") < arguments.count("{")
    cut = hermes(*GOOD)[:-14]
    for size in (1, 1000):
        assert not any(arguments.endswith("}") for _, arguments in streamed(cut, size, request())[2])
    assert whole(cut, request())[2] == [] and whole(bad, request())[2] == []
    unknown = hermes("nobody", "{}")
    assert streamed(unknown, 3, request()) == ("", unknown, [])


def test_settled_calls_leave_whole(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CALLGATE_STREAM", "settled")
    coerced = hermes("weather", '{"city": "Oslo", "days": "3",}')
    for size in (1, 1000):
        assert streamed(coerced, size, request())[2] == [GOOD]
        rejected = hermes("weather", '{"town": 1}')
        assert streamed(rejected, size, request()) == ("", rejected, [])


def test_text_is_not_held_to_the_end() -> None:
    kind = ParserManager.get_parser(tool_parser_name="callgate", reasoning_parser_name=None, enable_auto_tools=True)
    parser = kind(Tokenizer(), request().tools)
    delta = parser.parse_delta("Hello there", [1], request(), prompt_token_ids=[1], finished=False)
    assert delta.content == "Hello there"


def test_the_model_says_the_dialect() -> None:
    text = "<tool_call>\n<function=weather>\n<parameter=city>\nOslo\n</parameter>\n<parameter=days>\n3\n</parameter>\n</function>\n</tool_call>"
    model = "Qwen/Qwen3-Coder-30B-A3B-Instruct"
    assert whole(text, request(), model=model)[2] == [GOOD] and streamed(text, 2, request(), model=model)[2] == [GOOD]
    assert streamed(text, 2, request(), tool="callgate_qwen3_coder")[2] == [GOOD]


def test_every_sample_of_every_dialect(reference: list[dict[str, Any]]) -> None:
    seen = set()
    gates: dict[str, Gate] = {}
    for line in reference:
        row, name = line["row"], line["dialect"]
        gates[name] = gates[name].with_tools(row["tools"]) if name in gates else Gate(row["tools"], dialect=name)
        response = gates[name].parse(row["text"]) if "prompt_tail" not in row else None
        is_plain = response is not None and response.calls and not response.rejected and not response.reasoning
        if not is_plain or any(call.coercions or any(one.late for one in call.repairs) for call in response.calls):
            continue
        if (name, len(response.calls)) in seen:
            continue
        seen.add((name, len(response.calls)))
        asked, tool = request(row["tools"]), "callgate_" + name.replace("-", "_")
        wanted = [(call.name, call.arguments_json) for call in response.calls]
        assert whole(row["text"], asked, tool)[2] == wanted, (name, row["case"])
        assert streamed(row["text"], 5, asked, tool)[2] == wanted, (name, row["case"])
    assert len({name for name, _ in seen}) > 70


def test_thoughts_of_dialects_with_markers_of_their_own() -> None:
    cases = {
        "cohere_command": "<|START_THINKING|>Hm.<|END_THINKING|>Yes.",
        "harmony": "<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant<|channel|>final<|message|>Yes.",
        "seed_oss": "<seed:think>Hm.</seed:think>Yes.",
        "gemma4": "<|channel>thought\nHm.<channel|>Yes.",
    }
    for name, text in cases.items():
        parser = "callgate_" + name
        for size in (1, 6, 1000):
            got = streamed(text, size, request(), tool=parser, reasoning=parser, prompt="")
            assert (got[0].strip(), got[1].strip()) == ("Hm.", "Yes."), (name, size)
        got = whole(text, request(), tool=parser, reasoning=parser)
        assert (got[0].strip(), got[1].strip()) == ("Hm.", "Yes."), name
