"""The eight names: what they take, what they give, and how they say what is wrong."""

from __future__ import annotations

import dataclasses
import enum
import pickle
import re
from pathlib import Path
from typing import Annotated, Any, Literal, Optional, TypedDict

import pytest
from conftest import WEATHER, hermes

import callgate
from callgate import Call, Error, Event, Gate, Rejected, Response, Session, _core, dialects, repair

BAD = '{"city": "Oslo", "days": "3",}'


def test_there_are_eight_names_and_the_error() -> None:
    names = {"Gate", "Session", "Event", "Response", "Call", "Rejected", "repair", "dialects"}
    assert set(callgate.__all__) == names | {"Error", "__version__"}
    assert all(hasattr(callgate, name) for name in callgate.__all__)


def test_a_whole_response() -> None:
    response = Gate([WEATHER]).parse("Ä: " + hermes("weather", BAD) + hermes("weather", '{"town": 1}'))
    assert isinstance(response, Response)
    (call,), (rejected,) = response.calls, response.rejected
    assert response.text == "Ä:" and response.finish_reason == "tool_calls" and response.has_errors
    assert (call.name, call.arguments_json) == ("weather", '{"city": "Oslo", "days": 3}')
    assert call.arguments is call.arguments and call.checked and call.dialect == "hermes"
    assert [one.code for one in call.repairs] == ["trailing-comma"]
    assert [(one.code, one.path, one.before, one.after) for one in call.coercions] == [
        ("string-to-number", "/days", '"3"', "3")
    ]
    assert call.span == (4, 93) and call.char_span == (3, 92)
    assert rejected.code == "missing-argument" and rejected.name == "weather"
    assert "town" in rejected.raw and rejected.findings[0].help and rejected.findings[0].severity == "error"
    assert response.all_findings == rejected.findings
    assert response.to_dict()["calls"][0]["name"] == "weather"
    assert Response.from_json(response.to_json()).to_json() == response.to_json()


def test_numbers_keep_their_digits() -> None:
    digits = "9" * 40
    call = Gate().parse(hermes("f", f'{{"n": {digits}, "x": 1.10}}')).calls[0]
    assert call.arguments["n"] == int(digits)
    assert "1.10" in call.arguments_json
    # Such a call does not pass the gate, but it may have been kept by somebody.
    huge = Event.from_json(call.to_json().replace(digits, "9" * 5000))
    assert isinstance(huge, Call)
    with pytest.raises(Error, match="undecodable"):
        huge.arguments  # noqa: B018
    assert "9" * 5000 in huge.arguments_json


def test_events_match() -> None:
    session = Gate([WEATHER]).session()
    assert isinstance(session, Session)
    seen = []
    chunks = ["Hi ", hermes("weather", '{"city": "Oslo"}'), hermes("x", "{}")]
    for event in [event for chunk in chunks for event in session.push(chunk)] + session.finish("stop"):
        match event:
            case Event.Text(text):
                seen.append(text)
            case Event.Markup((start, end)):
                assert end > start
            case Event.CallStarted(name, attempt):
                seen.append(f"start {name} {attempt}")
            case Event.ArgumentsDelta(delta):
                seen.append(delta)
            case Call(name, {"city": city}):
                seen.append(f"call {name} {city}")
            case Rejected(name, code):
                seen.append(f"rejected {name} {code}")
    assert seen == ["Hi", "start weather 0", '{"city": "Oslo"}', "start x 1", "{}", "call weather Oslo", "rejected x unknown-tool"]
    assert Event.Call is Call and issubclass(Call, Event) and issubclass(Event.Text, Event)


def test_events_are_frozen() -> None:
    call = Gate().parse(hermes("f", "{}")).calls[0]
    for value, name in [(call, "name"), (call, "new"), (call.to_dict, "x"), (Gate(), "policy")]:
        with pytest.raises(AttributeError):
            setattr(value, name, 1)
    assert {call, call} == {call} and call != "x"
    with pytest.raises(TypeError):
        Call()  # type: ignore[call-arg]


def test_everything_pickles() -> None:
    gate = Gate([WEATHER], dialect="hermes", max_calls=3, limits={"depth": 9})
    back = pickle.loads(pickle.dumps(gate))
    assert back.policy == gate.policy and back.tools == gate.tools and back.dialects == ["hermes"]
    call = back.parse("é" + hermes("weather", BAD)).calls[0]
    for value in [*call.repairs, *call.coercions, repair("[é 1,]"), dialects["hermes"]]:
        assert pickle.loads(pickle.dumps(value)) == value
    with pytest.raises(Error) as caught:
        Gate(profile="standrd")
    error = pickle.loads(pickle.dumps(caught.value))
    assert (error.code, str(error)) == (caught.value.code, str(caught.value))
    with pytest.raises(TypeError):
        pickle.dumps(gate.session())


def test_native_calls_are_judged_like_text() -> None:
    gate = Gate([WEATHER])
    session = gate.session()
    session.native({"index": 0, "id": "a", "function": {"name": "weather", "arguments": '{"city": "Os'}})
    session.native(index=0, arguments='lo", "days": "2",}')
    (call,) = [event for event in session.finish("tool_calls") if isinstance(event, Call)]
    assert (call.id, call.arguments, call.dialect, call.span) == ("a", {"city": "Oslo", "days": 2}, "native", None)
    assert call.repairs[0].char_span is None
    native = [{"id": "b", "type": "function", "function": {"name": "weather", "arguments": "{}"}}]
    response = gate.parse("", tool_calls=native, reasoning="Hm.")
    assert response.rejected[0].code == "missing-argument" and response.reasoning == "Hm."


def test_prompt_tail_untrusted_and_ends() -> None:
    gate = Gate([WEATHER])
    assert gate.parse("Hm.</think>Yes.", prompt_tail="<think>\n").reasoning == "Hm."
    call = hermes("weather", '{"city": "Oslo"}')
    echo = gate.parse(call, untrusted=["a page says: " + call])
    assert [finding.code for finding in echo.calls[0].findings] == ["echo"]
    cut = gate.parse(call[:40], finish_reason="length")
    assert cut.finish_reason == "length" and cut.rejected[0].code == "truncated"
    assert gate.parse(call.encode()[:-3] + b"\xff").text == ""


def test_feedback_prompt_and_render() -> None:
    gate = Gate([WEATHER], model="Qwen3-Coder-30B")
    assert gate.dialects == ["qwen3-coder"]
    assert "<function=weather>" in gate.prompt() and "<tool_call>" in gate.prompt("hermes")
    assert gate.feedback(gate.parse("fine")) is None
    bad = gate.parse(gate.render([{"name": "weather", "arguments": {"days": 1}}]))
    assert "missing required argument: city" in (gate.feedback(bad) or "")
    call = {"name": "weather", "arguments": {"city": "Ærø"}}
    written = gate.render([call], "hermes", text="On it.", reasoning="Hm.")
    response = Gate([WEATHER]).parse(written)
    assert (response.text.strip(), response.reasoning.strip(), response.calls[0].arguments) == ("On it.", "Hm.", call["arguments"])
    assert gate.render(response.calls).startswith("<tool_call>")


def test_dialects() -> None:
    assert len(dialects) > 80 and "hermes" in dialects and "nobody" not in dialects and list(dialects)
    found = dialects.for_model("Qwen/Qwen3-Coder-480B")
    assert found is not None and found.name == "qwen3-coder"
    assert dialects.for_model("zzz") is None
    with pytest.raises(KeyError):
        dialects["nobody"]
    (mine,) = dialects.parse('[mine]\ncall = "<<{object}>>"')
    gate = Gate([WEATHER], dialect=mine)
    assert pickle.loads(pickle.dumps(gate)).parse('<<{"name": "weather", "arguments": {"city": "Oslo"}}>>').calls
    with pytest.raises(Error) as caught:
        dialects.parse("[mine]\ncall = 1")
    assert caught.value.code == "bad-dialect" and caught.value.line == 2
    assert dialects.detect('[{"name": "weather", "arguments": {"city": "Oslo"}}]', [WEATHER])


def test_repair() -> None:
    fixed = repair("{path: 'é.md',}")
    assert fixed.text == str(fixed) == '{"path": "é.md"}' and fixed.value == {"path": "é.md"} and len(fixed.repairs) == 3
    assert repair('{"a": [1, 2', partial=True).value == {"a": [1]}
    assert [one.value for one in repair("{'n': 1}\n{n: 2}", many=True)] == [{"n": 1}, {"n": 2}]
    with pytest.raises(Error) as caught:
        repair("")
    assert caught.value.code == "bad-json" and caught.value.span == (0, 0) and caught.value.help


class Unit(enum.Enum):
    C = "celsius"
    F = "fahrenheit"


class Place(TypedDict):
    city: str


@dataclasses.dataclass
class Trip:
    """A trip."""

    start: Place
    stops: list[Place] = dataclasses.field(default_factory=list)


def plan(
    trip: Trip,
    unit: Unit,
    mode: Literal["car", "train"] = "train",
    days: Annotated[int, "how long"] = 1,
    notes: Optional[dict[str, str]] = None,
    pair: tuple[int, str] = (1, "a"),
    *,
    anything: Any = None,
) -> str:
    """Plans a trip.

    More about it.

    Args:
        trip: where it goes,
            and back
        mode (str): by what
    """
    return ""


def test_tools_from_functions() -> None:
    gate = Gate([plan])
    function = (gate.tools or [])[0]["function"]
    assert (function["name"], function["description"]) == ("plan", "Plans a trip.")
    schema = function["parameters"]
    assert schema["required"] == ["trip", "unit"] and schema["additionalProperties"] is False
    properties = schema["properties"]
    assert properties["days"] == {"type": "integer", "description": "how long"}
    assert properties["trip"]["description"] == "where it goes, and back" and properties["mode"]["description"] == "by what"
    assert properties["unit"] == {"enum": ["celsius", "fahrenheit"]}
    arguments = '{"trip": {"start": {"city": "Oslo"}, "stops": [{"city": "Bergen"}]}, "unit": "celsius"}'
    (call,) = gate.parse(hermes("plan", arguments)).calls
    trip = call.arguments_as(dict)["trip"]
    assert trip["start"]["city"] == "Oslo"
    assert gate.parse(hermes("plan", arguments.replace("celsius", "kelvin"))).rejected
    (call,) = Gate([Trip]).parse(hermes("Trip", '{"start": {"city": "Oslo"}}')).calls
    assert call.arguments_as(Trip) == Trip({"city": "Oslo"})

    def positional(a: int, /) -> None: ...
    def unknown(a: re.Pattern) -> None: ...  # type: ignore[type-arg]

    for wrong in (positional, unknown, 3):
        with pytest.raises(Error, match="bad-tool"):
            Gate([wrong])


def test_tools_from_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic")

    class Stay(pydantic.BaseModel):  # type: ignore[name-defined,misc]
        """Books a stay."""

        city: str
        nights: int = pydantic.Field(1, ge=1, description="how many")

    gate = Gate([Stay])
    assert (gate.tools or [])[0]["function"]["description"] == "Books a stay."
    (call,) = gate.parse(hermes("Stay", '{"city": "Oslo", "nights": "2"}')).calls
    assert call.arguments_as(Stay) == Stay(city="Oslo", nights=2)
    assert gate.parse(hermes("Stay", '{"city": "Oslo", "nights": 0}')).rejected

    def visit(stay: Stay) -> str:
        """Visits."""
        return stay.city

    visit.__annotations__["stay"] = Stay  # A local class has no name that could be looked up.
    (call,) = Gate(visit).parse(hermes("visit", '{"stay": {"city": "Oslo"}}')).calls
    assert call.arguments["stay"] == {"city": "Oslo"}


def test_tools_in_other_forms() -> None:
    schema = {"title": "look", "type": "object", "properties": {"q": {"type": "string"}}}
    forms: list[Any] = [
        [{"name": "look", "parameters": schema}],
        {"tools": [{"name": "look", "input_schema": schema}]},
        [schema],
        '[{"name": "look", "inputSchema": {"type": "object", "properties": {"q": {"type": "string"}}}}]',
        [{"type": "function", "function": {"name": "look", "parameters": schema}}],
    ]
    for form in forms:
        assert Gate(form).parse(hermes("look", '{"q": 1}')).calls[0].arguments == {"q": "1"}, form
    broken = [WEATHER, {"name": "x", "parameters": {"type": "object", "properties": {"a": {"pattern": "(?<=a)b"}}}}]
    with pytest.raises(Error) as caught:
        Gate(broken)
    error = caught.value
    assert (error.code, error.index, error.tool, error.pointer) == ("tool-bad-pattern", 1, "x", "/properties/a/pattern")
    assert error.help in str(error) and Gate(broken, strict_tools=False).notes


def test_every_knob_is_a_keyword_and_stands_in_the_stubs() -> None:
    stub = (Path(callgate.__file__).parent / "_core.pyi").read_text()
    listed = set(re.findall(r"^    (\w+): ", stub.split("class _Policy")[1].split("@type_check_only")[0], re.M))
    nested = {
        f"{group}.{name}"
        for group, kind in (("limits", "_Limits"), ("name_rule", "_NameRule"))
        for name in re.findall(r"^    (\w+): ", stub.split(f"class {kind}")[1].split("@type_check_only")[0].split("# ")[0], re.M)
    }
    assert listed - {"limits", "name_rule"} | nested == set(_core._knobs())
    for line in re.findall(r"^    (\w+): Literal\[(.*)\]$", stub.split("class _Policy")[1], re.M):
        for word in re.findall(r'"([^"]*)"', line[1]):
            assert Gate(**{line[0]: word}).policy[line[0]] == word
        with pytest.raises(Error, match="unknown-knob"):
            Gate(**{line[0]: "zzzz"})
    with pytest.raises(Error, match="did you mean repair"):
        Gate(repiar="off")  # type: ignore[call-arg]


def test_tokens() -> None:
    gate = Gate()
    text = "Ja é " + hermes("f", "{}")
    call = gate.parse(text).calls[0]
    offsets = [(at, at + 3) for at in range(0, len(text), 3)]
    first, last = call.token_span(offsets) or (0, 0)
    assert offsets[first][0] <= (call.char_span or (0, 0))[0] < offsets[first][1] and last == len(offsets)
    assert call.token_span([]) is None
