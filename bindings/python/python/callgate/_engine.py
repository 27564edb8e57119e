"""Engines: what the adapters of model servers share. Pieces of a stream as servers want them, and where a thought ends."""

from __future__ import annotations

import functools
import json
import logging
import os
import re
import uuid
from dataclasses import dataclass, field
from typing import Any

from callgate._core import Call, Event, Gate, Rejected
from callgate._dialects import dialects
from callgate._errors import Error
from callgate._tools import tool_list

log = logging.getLogger("callgate")

# Thoughts that any model may write, whatever its dialect says.
_OPENERS = [r"<(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)(?:\s[^<>]*)?>"]
_CLOSERS = [r"</(?:think|thinking|thoughts?|reasoning|reflection|scratchpad)(?:\s[^<>]*)?>"]
_HEADS = ["<think", "<thought", "<reasoning", "<reflection", "<scratchpad"]


@dataclass(frozen=True)
class Marks:
    """What opens and closes a thought, and how each opener begins."""

    opener: re.Pattern[str]
    closer: re.Pattern[str]
    heads: tuple[str, ...]


@functools.lru_cache(maxsize=128)
def marks(live: tuple[str, ...]) -> Marks:
    """The markers of the thoughts of these dialects, from their own templates."""
    openers, closers, heads = [*_OPENERS], [*_CLOSERS], [*_HEADS]
    for name in live:
        keys = dialects[name].keys if name in dialects else {}
        said = keys.get("reasoning") or []
        prompt = keys.get("prompt") or ""
        for template in [said] if isinstance(said, str) else said:
            head, _, tail = (part.strip() for part in template.partition("{text}"))
            # The prompt may have written the first of it.
            start = head.removeprefix(prompt) or head
            if start and tail:
                openers.append(f"(?:{_pattern(prompt)})?{_pattern(start)}")
                closers.append(_pattern(tail))
                heads += [head.split("{")[0], start.split("{")[0]]

    def either(patterns: list[str]) -> re.Pattern[str]:
        # The longest first, since the first that fits counts.
        return re.compile(r"\s*(?:" + "|".join(sorted(set(patterns), key=len, reverse=True)) + ")")

    return Marks(either(openers), either(closers), tuple(sorted(set(filter(None, heads)))))


def _pattern(literal: str) -> str:
    return "[^<>]{0,24}".join(re.escape(part) for part in literal.split("{suffix}"))


def names() -> dict[str, str | None]:
    """Every parser that is registered, with its dialect: `callgate` goes by the name of the model."""
    return {"callgate": None, **{"callgate_" + name.replace("-", "_"): name for name in dialects}}


# The compiled dialects, which gates for other tools share.
_compiled: dict[tuple[str | None, str | None], Gate] = {}


@functools.lru_cache(maxsize=256)
def _gate(dialect: str | None, model: str | None, tools: str | None) -> Gate:
    if tools is not None and (dialect, model) in _compiled:
        return _compiled[dialect, model].with_tools(tools)
    # The tools of a request are somebody else's: what is wrong with one of them must not end the others. And whatever
    # can be revoked later could not leave while the response is still coming.
    try:
        made = Gate(tools, dialect=dialect, model=model, strict_tools=False, release="early")
    except Error as error:
        # Such as a dialect whose markers are the names of tools, in a request without any.
        log.warning("%s; calls are read in every dialect whose markers are unmistakable", error)
        return Gate(tools, dialect="auto", strict_tools=False, release="early")
    if len(_compiled) > 256:
        _compiled.clear()
    _compiled[dialect, model] = made
    return made


def gate(dialect: str | None, model: Any, tools: Any, only: str | None = None) -> Gate:
    """The gate for a request, compiled once for equal tools. `only` is the tool that the request names."""
    listed = tool_list(tools) if tools else None
    if listed is not None and only is not None:
        listed = [one for one in listed if (one.get("function") or one).get("name") == only] or listed
    return _gate(dialect, model if isinstance(model, str) else None, json.dumps(listed) if listed else None)


def is_live() -> bool:
    """Whether arguments leave while they are written. Otherwise a call leaves whole, once it is judged."""
    return os.environ.get("CALLGATE_STREAM", "live") != "settled"


@dataclass
class Piece:
    """A part of a call, as it goes to a client. The first of a call has its id and its name."""

    index: int
    arguments: str
    name: str | None = None
    id: str | None = None


@dataclass
class Pieces:
    """What some events come to."""

    text: str = ""
    reasoning: str = ""
    calls: list[Piece] = field(default_factory=list)


@dataclass
class _Started:
    index: int
    name: str
    sent: str = ""
    held: str = ""


class CallStream:
    """Turns events into pieces. A call that is not judged is never complete: its last brace waits for the verdict."""

    def __init__(self, gate: Gate, live: bool | None = None) -> None:
        self._live = is_live() if live is None else live
        tools = gate.tools
        self._names = None if tools is None else {tool["function"]["name"] for tool in tools}
        self._started: dict[int, _Started] = {}

    @property
    def sent(self) -> list[tuple[str, str]]:
        """The name and the arguments of each call, as far as they have left."""
        return [(call.name, call.sent) for call in self._started.values()]

    def _start(self, attempt: int, name: str, id: str | None = None) -> tuple[_Started, Piece]:
        call = self._started[attempt] = _Started(len(self._started), name)
        return call, Piece(call.index, "", name, id or f"call_{uuid.uuid4().hex[:24]}")

    def take(self, events: list[Event]) -> Pieces:
        """The pieces of these events."""
        out = Pieces()
        for event in events:
            match event:
                case Event.Text(text):
                    out.text += text
                case Event.Reasoning(text):
                    out.reasoning += text
                case Event.CallStarted(name, attempt) if self._live and (self._names is None or name in self._names):
                    out.calls.append(self._start(attempt, name)[1])
                case Event.ArgumentsDelta(delta, attempt) if attempt in self._started:
                    call = self._started[attempt]
                    waiting = call.held + delta
                    cut = waiting.rfind("}")
                    now, call.held = (waiting, "") if cut < 0 else (waiting[:cut], waiting[cut:])
                    if now:
                        call.sent += now
                        out.calls.append(Piece(call.index, now))
                case Call(attempt=attempt, name=name, arguments_json=arguments):
                    if attempt in self._started:
                        call = self._started[attempt]
                        # What was coerced after it had left cannot be taken back: then it ends as the model wrote it.
                        is_start = arguments.startswith(call.sent)
                        rest = arguments[len(call.sent) :] if is_start else call.held
                        piece = Piece(call.index, rest)
                    else:
                        call, piece = self._start(attempt, name, None if event.id.startswith("gen_") else event.id)
                        piece.arguments = rest = arguments
                    call.sent, call.held = call.sent + rest, ""
                    out.calls.append(piece)
                case Rejected(attempt=attempt):
                    log.warning("rejected %s: %s", event.name or "a call without a name", "; ".join(map(str, event.findings)))
                    # What never looked like a call to the client is shown, so that it is not lost.
                    if attempt not in self._started:
                        out.text += event.raw
        return out


class Thoughts:
    """Finds where the thought at the start of a response ends. What follows it is left as the model wrote it."""

    def __init__(self, gate: Gate, prompt_tail: str = "") -> None:
        self._session = gate.session(prompt_tail=prompt_tail or None)
        self._marks = marks(tuple(gate.dialects))
        self._raw = ""
        self._shown = 0
        self._end: int | None = None
        self._open = opens(gate, prompt_tail)
        self.is_over = False
        self.rest = ""

    def push(self, text: str) -> str:
        """More of the thought. Once `is_over` is true, `rest` has what follows it."""
        if self.is_over:
            self.rest += text
            return ""
        self._raw += text
        thought = self._take(self._session.push(text))
        if not self.is_over and self._end is None and not self._open and not self._may_open():
            self._finish(0)
        return thought

    def _may_open(self) -> bool:
        start = self._raw.lstrip()
        return any(head.startswith(start[: len(head)]) for head in self._marks.heads)

    def finish(self) -> str:
        """The rest of the thought, if the response ends within it."""
        thought = "" if self.is_over else self._take(self._session.finish())
        if not self.is_over:
            self._finish(len(self._raw) if self._end is not None or self._open else 0)
        return thought

    def verbatim(self) -> str:
        """What certainly belongs to the thought, markers and all, since this was last asked."""
        end = len(self._raw) - len(self.rest) if self.is_over else self._end or 0
        start, self._shown = self._shown, max(end, self._shown)
        return self._raw[start : self._shown]

    def _take(self, events: list[Event]) -> str:
        thought = ""
        for event in events:
            if self.is_over:
                break
            match event:
                case Event.Reasoning(text):
                    thought += text
                    self._end = event.char_span[1] if event.char_span else self._end
                case Event.Finding():
                    continue
                case Event.Markup() if self._end is None:
                    continue
                case _:
                    self._finish(self._end or 0)
        return thought

    def _finish(self, end: int) -> None:
        self.is_over = True
        rest = self._raw[end:]
        start = 0
        if self._end is None and (opened := self._marks.opener.match(rest)):
            start = opened.end()
        if (start or self._end is not None or self._open) and (closed := self._marks.closer.match(rest, start)):
            rest = rest[closed.end() :].lstrip("\n")
        self.rest = rest


def opens(gate: Gate, prompt_tail: str) -> bool:
    """Whether a response to a prompt with this end begins inside of a thought."""
    if not prompt_tail:
        return False
    session = gate.session(prompt_tail=prompt_tail)
    return any(isinstance(event, Event.Reasoning) for event in session.push("x ") + session.finish())


def closes(gate: Gate, text: str) -> bool:
    """Whether a text ends with a thought that is over."""
    found = [*marks(tuple(gate.dialects)).closer.finditer(text)]
    return bool(found) and not text[found[-1].end() :].strip()


def unopened(gate: Gate, text: str) -> str:
    """The end of the prompt that a response needs in which a thought ends that it did not begin; nothing for others."""
    own = marks(tuple(gate.dialects))
    closed = own.closer.search(text)
    is_open = closed is not None and not own.opener.search(text[: closed.start()])
    return "<think>\n" if is_open and closed is not None and closed[0].strip().startswith("</") else ""


def split(gate: Gate, text: str, prompt_tail: str = "") -> tuple[str, str]:
    """The thought at the start of a whole response, and what follows it."""
    thoughts = Thoughts(gate, prompt_tail)
    thought = thoughts.push(text) + thoughts.finish()
    return thought, thoughts.rest
