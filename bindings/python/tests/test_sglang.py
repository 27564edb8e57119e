"""SGLang: what its server makes of the adapter, streamed and whole. Against the real package where that is installed."""

from __future__ import annotations

from importlib.metadata import entry_points
from typing import Any

import pytest
from conftest import WEATHER, hermes, is_real

from callgate import Gate

from sglang.srt.function_call.function_call_parser import FunctionCallParser
from sglang.srt.parser.reasoning_parser import ReasoningParser

REAL = is_real("sglang")
if REAL:
    from sglang.srt.entrypoints.openai.protocol import Tool


class Tokenizer:
    name_or_path = "Qwen/Qwen3-8B"


@pytest.fixture(scope="module", autouse=True)
def registered() -> None:
    (point,) = [point for point in entry_points(group="sglang.srt.plugins") if point.name == "callgate"]
    point.load()()


def parser(tools: Any, name: str = "callgate") -> Any:
    listed = [Tool(**tool) for tool in tools] if REAL else list(tools)
    return FunctionCallParser(listed, name, tokenizer=Tokenizer())


def whole(text: str, tools: Any = (WEATHER,), name: str = "callgate") -> Any:
    content, calls = parser(tools, name).parse_non_stream(text)
    return content, [(call.name, call.parameters) for call in calls]


def streamed(text: str, size: int, tools: Any = (WEATHER,), name: str = "callgate") -> Any:
    reader = parser(tools, name)
    parts = [reader.parse_stream_chunk(text[at : at + size]) for at in range(0, len(text), size)]
    parts.append(reader.parse_stream_end())
    found: dict[int, list[str]] = {}
    for call in [call for _, calls in parts for call in calls]:
        known = found.setdefault(call.tool_index, ["", ""])
        known[0] += call.name or ""
        known[1] += call.parameters
    # What the server sends after the end is what these two differ by.
    for number, (name_, sent) in enumerate(found.values()):
        assert reader.detector.prev_tool_call_arr[number] == {"name": name_, "arguments": sent}
        assert reader.detector.streamed_args_for_tool[number] == sent
    return "".join(text for text, _ in parts), [tuple(call) for call in found.values()]


GOOD = ("weather", '{"city": "Oslo", "days": 3}')
TEXT = "Sure. " + hermes(*GOOD)


@pytest.mark.parametrize("size", [1, 7, 1000])
def test_streamed_is_whole(size: int) -> None:
    assert whole(TEXT) == ("Sure.", [GOOD]) and streamed(TEXT, size) == ("Sure.", [GOOD])
    assert whole("1 < 2") == streamed("1 < 2", size) == ("1 < 2", [])
    # Text that was held because it might have become a call comes out at the end.
    assert streamed("so <tool", size) == ("so <tool", [])
    bad = hermes("weather", '{"town": 1}')
    ((_, arguments),) = streamed(bad, size)[1]
    assert not arguments.endswith("}") and whole(bad) == (bad, [])


def test_required_and_named_are_read_in_the_models_own_format() -> None:
    detector = parser([WEATHER]).detector
    assert detector.parses_required_natively() and not detector.supports_structural_tag()
    assert detector.has_tool_call(TEXT) and not detector.has_tool_call("Sure.")


def test_required_calls_are_constrained() -> None:
    pytest.importorskip("xgrammar")
    detector = parser([WEATHER]).detector
    tools = [Tool(**WEATHER)] if REAL else [WEATHER]
    assert detector.get_structural_tag(tools, "auto") is None
    assert detector.get_structural_tag(tools, "required", thinking_mode=True) is None
    made = detector.get_structural_tag(tools, "required").model_dump()
    assert made["format"]["tags"][0]["begin"].startswith("<tool_call>") and made["format"]["at_least_one"]


def test_thoughts() -> None:
    text = "<think>\nI need it.\n</think>\n\n" + TEXT
    for force, output in ((None, text), (True, text.removeprefix("<think>\n"))):
        for stream in (True, False):
            for size in (1, 6, 1000):
                reader = ReasoningParser("callgate", stream_reasoning=stream, force_reasoning=force)
                parts = [reader.parse_stream_chunk(output[at : at + size]) for at in range(0, len(output), size)]
                parts.append(reader.parse_stream_end())
                thought, content = ("".join(part[at] or "" for part in parts) for at in (0, 1))
                assert (thought.strip(), content) == ("I need it.", TEXT), (force, stream, size)
        thought, content = ReasoningParser("callgate", force_reasoning=force).parse_non_stream(output)
        assert (thought.strip(), content) == ("I need it.", TEXT)
    reader = ReasoningParser("callgate")
    assert [reader.parse_stream_chunk("Sure."), reader.parse_stream_end()] == [("", "Sure."), ("", "")]


def test_every_sample_of_every_dialect(reference: list[dict[str, Any]]) -> None:
    seen = set()
    gates: dict[str, Gate] = {}
    for line in reference:
        row, name = line["row"], line["dialect"]
        gates[name] = gates[name].with_tools(row["tools"]) if name in gates else Gate(row["tools"], dialect=name)
        response = gates[name].parse(row["text"]) if "prompt_tail" not in row else None
        is_plain = response is not None and response.calls and not response.rejected
        if not is_plain or any(call.coercions or any(one.late for one in call.repairs) for call in response.calls):
            continue
        if (name, len(response.calls)) in seen:
            continue
        seen.add((name, len(response.calls)))
        parsers = "callgate_" + name.replace("-", "_")
        wanted = [(call.name, call.arguments_json) for call in response.calls]
        assert whole(row["text"], row["tools"], parsers)[1] == wanted, (name, row["case"])
        assert streamed(row["text"], 5, row["tools"], parsers)[1] == wanted, (name, row["case"])
    assert len({name for name, _ in seen}) > 70
