"""The border holds: whatever is passed, the answer is an exception with a clear message, never an abort."""

from __future__ import annotations

import random
import threading
import time
from typing import Any

import pytest
from conftest import WEATHER, hermes

import callgate
from callgate import Error, Gate, Response, repair

GATE = Gate([WEATHER])


@pytest.mark.parametrize(
    ("act", "message"),
    [
        (lambda: GATE.parse(3), "text must be str or bytes, not int"),
        (lambda: GATE.parse(None), "text must be str or bytes, not NoneType"),
        (lambda: GATE.session().push(["a"]), "chunk must be str or bytes, not list"),
        (lambda: GATE.session().native(3), "delta must be a mapping"),
        (lambda: GATE.session().native(index=-1), "can't convert negative int|out of range"),
        (lambda: GATE.session().native(name=3), "name must be str, not int"),
        (lambda: GATE.session().native_calls({1, 2}), "calls cannot be written as JSON"),
        (lambda: GATE.session().finish(3), "finish_reason must be str, not int"),
        (lambda: GATE.session().finish("stopp"), "did you mean stop"),
        (lambda: GATE.session(untrusted=3), "untrusted must be str or a list of str, not int"),
        (lambda: GATE.session(prompt_tail=b"x"), "prompt_tail must be str, not bytes"),
        (lambda: GATE.parse_many("abc"), "texts must be a list or iterator of str"),
        (lambda: GATE.parse_many(3), "texts must be a list or iterator of str"),
        (lambda: GATE.parse_many({"a": 1}), "texts must be a list or iterator of str"),
        (lambda: GATE.parse_many(["a", None]), r"texts\[1\] must be str, not NoneType"),
        (lambda: list(GATE.parse_many(iter([b"a"]))), r"texts\[0\] must be str, not bytes"),
        (lambda: GATE.parse_many(["a"], finish_reason=["stop", "stop"]), "finish_reason has 2 values for 1 texts"),
        (lambda: GATE.parse_many(iter(["a"]), prompt_tail=["x"]), "prompt_tail has 1 values for an iterator"),
        (lambda: GATE.parse_many(["a"], threads="x"), "threads"),
        (lambda: GATE.feedback("x"), "response must be Response, not str"),
        (lambda: GATE.render(3), "calls must be a list of calls, not int"),
        (lambda: GATE.render([3]), "a call must be a Call or a mapping"),
        (lambda: GATE.render([{"arguments": {}}], "hermes"), "has no name"),
        (lambda: GATE.render([{"name": "x", "arguments": "[1]"}], "hermes"), "are no JSON object"),
        (lambda: GATE.render([], "hermez"), "did you mean hermes"),
        (lambda: GATE.stream("abc"), "chunks must be an iterable"),
        (lambda: list(GATE.stream([3])), "a chunk must be str, bytes or"),
        (lambda: Gate().prompt(), "nothing to teach without tools"),
        (lambda: Gate(dialect=3), "dialect must be str, Dialect or a list"),
        (lambda: Gate(dialect="nobody"), "there is no dialect `nobody`"),
        (lambda: Gate(model=3), "model must be str"),
        (lambda: Gate(profile="x"), "there is no profile `x`"),
        (lambda: Gate(max_calls="many"), "max_calls"),
        (lambda: Gate(max_calls=float("nan")), "cannot be written as JSON"),
        (lambda: Gate("{"), "tools-bad-json"),
        (lambda: Gate([{"name": "a", "parameters": float("inf")}]), "cannot be written as JSON"),
        (lambda: Gate([WEATHER, WEATHER]), "tool-name-taken"),
        (lambda: Gate(partial="all-or-nothing", release="early"), "early-release"),
        (lambda: Response.collect([1]), "an event must be Event, not int"),
        (lambda: Response.from_json("{}"), "this is no response"),
        (lambda: callgate.Event.from_json("{}"), "this is no event"),
        (lambda: repair(3), "text must be str or bytes, not int"),
        (lambda: repair("{", depth=-1), "depth"),
    ],
)
def test_mistakes_are_told(act: Any, message: str) -> None:
    with pytest.raises((Error, TypeError, OverflowError), match=message):
        act()


def test_lone_surrogates_are_told_with_their_place() -> None:
    for act in (GATE.parse, GATE.session().push, repair, lambda text: GATE.parse_many([text])):
        with pytest.raises(Error) as caught:
            act("ab\udc80")
        assert caught.value.code == "lone-surrogate" and "character 2" in str(caught.value)
    with pytest.raises(Error, match="lone-surrogate"):
        Gate([{"name": "\ud800", "parameters": {}}])
    assert GATE.parse("ab\udc80".encode("utf-8", "surrogatepass")).text.startswith("ab\N{REPLACEMENT CHARACTER}")


def test_a_finished_session_says_so() -> None:
    session = GATE.session()
    assert not session.closed and session.finish() == [] and session.closed
    for act in (lambda: session.push("x"), session.finish, lambda: session.native(name="x"), lambda: session.reasoning("x")):
        with pytest.raises(Error, match="this session is finished") as caught:
            act()
        assert caught.value.code == "session-closed" and "gate.session()" in caught.value.help


def test_two_threads_on_one_session() -> None:
    session, seen = GATE.session(), []
    text = "word " * 2_000_000

    def feed() -> None:
        try:
            session.push(text)
        except Error as error:
            seen.append(error.code)

    threads = [threading.Thread(target=feed) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert set(seen) == {"session-busy"}
    session.push("still open")
    session.finish()


def test_other_threads_run_meanwhile() -> None:
    texts = ["word " * 20_000 + hermes("weather", '{"city": "Oslo"}')] * 2000
    done = threading.Event()

    def work() -> None:
        GATE.parse_many(texts)
        done.set()

    thread = threading.Thread(target=work)
    start = last = time.monotonic()
    longest = 0.0
    thread.start()
    while not done.is_set():
        time.sleep(0.001)
        now = time.monotonic()
        longest, last = max(longest, now - last), now
    thread.join()
    # Had the lock been kept, one pause would have been as long as the whole work.
    assert longest < (last - start) / 2


def test_huge_strings() -> None:
    text = "x" * (64 << 20)
    assert len(GATE.parse(text).text) == len(text)
    value = "y" * GATE.policy["limits"]["arguments"]
    rejected = GATE.parse(hermes("weather", f'{{"city": "{value}"}}')).rejected
    assert rejected and len(rejected[0].raw) < rejected[0].raw_len
    assert GATE.parse("[" * 1_000_000).calls == ()
    with pytest.raises(Error):
        repair("[" * 1_000_000)
    deep: Any = {}
    for _ in range(3000):
        deep = {"a": deep}
    with pytest.raises((Error, RecursionError)):
        Gate([{"name": "a", "parameters": deep}])


def test_an_iterator_that_fails_is_heard() -> None:
    def texts() -> Any:
        yield "a"
        raise OSError("gone")

    with pytest.raises(OSError, match="gone"):
        list(GATE.parse_many(texts()))

    class Hostile:
        def __iter__(self) -> Any:
            raise RuntimeError("no")

        def __getattr__(self, name: str) -> Any:
            raise RuntimeError(f"no {name}")

    for act in (GATE.parse_many, GATE.render, Gate, lambda value: GATE.session().native(value)):
        with pytest.raises((RuntimeError, TypeError, Error)):
            act(Hostile())  # type: ignore[operator]


def random_value(dice: random.Random, depth: int = 0) -> Any:
    """Anything that somebody may pass."""
    pick = dice.randrange(16 if depth < 3 else 12)
    text = "".join(dice.choice('<tool_call>{"name": }é\udc80\x00[]，') for _ in range(dice.randrange(20)))
    simple = [None, True, -1, 0, 2**70, 1.5, float("nan"), text, text.encode("utf-8", "replace"), object(), len, Gate]
    if pick < 12:
        return simple[pick]
    if pick < 14:
        return [random_value(dice, depth + 1) for _ in range(dice.randrange(4))]
    keys = ["name", "function", "arguments", "parameters", "type", "tools", "index", "id", text]
    return {dice.choice(keys): random_value(dice, depth + 1) for _ in range(dice.randrange(4))}


def test_whatever_is_passed_only_exceptions_come_back() -> None:
    dice = random.Random(17)
    allowed = (Error, TypeError, ValueError, OverflowError, AttributeError, KeyError, RecursionError)
    names = ["tools", "model", "dialect", "profile", "strict_tools", "repair", "max_calls", "limits", "name_rule"]
    raised = 0
    for _ in range(6000):
        value = random_value(dice)
        session = GATE.session()
        acts: list[Any] = [
            lambda: GATE.parse(value, **{dice.choice(["prompt_tail", "finish_reason", "untrusted", "tool_calls"]): random_value(dice)}),
            lambda: session.push(value),
            lambda: session.native(value),
            lambda: session.native(index=value, name=random_value(dice)),
            lambda: session.native_calls(value),
            lambda: session.finish(value),
            lambda: list(GATE.parse_many(value, threads=dice.choice([None, 0, 1, 3]))),
            lambda: list(GATE.stream(value)),
            lambda: GATE.render(value, dice.choice(["hermes", "glm45", value])),
            lambda: GATE.with_tools(value),
            lambda: Gate(**{dice.choice(names): value}),
            lambda: repair(value, depth=dice.choice([0, 1, 128, 2**40])),
            lambda: callgate.dialects.parse(value),
            lambda: callgate.dialects.detect(value),
            lambda: callgate.dialects.for_model(value),
            lambda: Response.collect(value),
            lambda: callgate.Event.from_json(value),
        ]
        try:
            dice.choice(acts)()
        except allowed as error:
            raised += 1
            assert str(error), "an error without a message"
    assert 1000 < raised < 6000
