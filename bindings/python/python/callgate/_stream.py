"""Streams: the events of a response whose chunks come one by one, awaited or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from typing import Any

from callgate._core import Event, Session

__all__ = ["EventStream"]


def _field(chunk: Any, name: str) -> Any:
    """A member of a chunk, which may be a mapping or an object."""
    return chunk.get(name) if isinstance(chunk, dict) else getattr(chunk, name, None)


class EventStream:
    """Events, for `async for`, and for `for` if the chunks themselves do not have to be awaited.

    A chunk is text, bytes, or what OpenAI's client gives: a chunk with `choices`, or its delta with `content`,
    `reasoning_content`, `tool_calls` and `finish_reason`. The end of the chunks is the end of the response.
    """

    def __init__(self, session: Session, chunks: Any, finish_reason: str | None = None) -> None:
        if not hasattr(chunks, "__aiter__") and not hasattr(chunks, "__iter__") or isinstance(chunks, (str, bytes)):
            raise TypeError(f"chunks must be an iterable or an async iterable of chunks, not {type(chunks).__name__}")
        self._session = session
        self._chunks = chunks
        self._reason = finish_reason

    def _read(self, chunk: Any) -> list[Event]:
        session = self._session
        if isinstance(chunk, (str, bytes)):
            return session.push(chunk)
        events: list[Event] = []
        choices = _field(chunk, "choices")
        if choices is not None:
            # A session reads one response, so the others of a request with several are left alone.
            for choice in choices:
                if not _field(choice, "index"):
                    self._reason = _field(choice, "finish_reason") or self._reason
                    events += self._read_delta(_field(choice, "delta") or {})
            return events
        if isinstance(chunk, dict) or any(hasattr(chunk, name) for name in ("content", "tool_calls")):
            self._reason = _field(chunk, "finish_reason") or self._reason
            return self._read_delta(chunk)
        raise TypeError(f"a chunk must be str, bytes or a chunk of a chat completion, not {type(chunk).__name__}")

    def _read_delta(self, delta: Any) -> list[Event]:
        events: list[Event] = []
        thought = _field(delta, "reasoning_content") or _field(delta, "reasoning")
        if isinstance(thought, str) and thought:
            events += self._session.reasoning(thought)
        content = _field(delta, "content")
        if content:
            events += self._session.push(content)
        for call in _field(delta, "tool_calls") or ():
            events += self._session.native(call)
        return events

    def __iter__(self) -> Iterator[Event]:
        if not hasattr(self._chunks, "__iter__"):
            raise TypeError("these chunks have to be awaited: use `async for`")
        for chunk in self._chunks:
            yield from self._read(chunk)
        yield from self._session.finish(self._reason)

    async def __aiter__(self) -> AsyncIterator[Event]:
        if hasattr(self._chunks, "__aiter__"):
            async for chunk in self._chunks:
                for event in self._read(chunk):
                    yield event
        else:
            for chunk in self._chunks:
                for event in self._read(chunk):
                    yield event
        for event in self._session.finish(self._reason):
            yield event
