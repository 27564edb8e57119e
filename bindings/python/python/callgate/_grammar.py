"""Grammars: where a call is required, a model can write nothing but calls in its own format. Made of what its dialect writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from callgate._core import Gate
from callgate._errors import Error
from callgate._tools import tool_list

# Arguments that nobody else writes, so that they are found in what a dialect makes of a call.
_PROBES: tuple[dict[str, Any], dict[str, Any]] = ({"callgate-probe": 1}, {"callgate-probe": [True, "x"]})


def structural_tag(gate: Gate, given: Any, only: str | None = None, parallel: bool = True) -> dict[str, Any] | None:
    """What xgrammar calls a structural tag: one or more calls of the tools of a gate and nothing else. `None` where nobody says in
    which dialect the model writes, and for dialects that do not write arguments as one JSON object; those stay free.

    As the engines have it, arguments follow their schema where the tool as it was given is `strict`, and are any object otherwise.
    """
    if len(gate.dialects) != 1:
        return None
    tools = [tool["function"] for tool in gate.tools or [] if only in (None, tool["function"]["name"])]
    around = [_around(gate, tool["name"]) for tool in tools]
    if not tools or None in around:
        return None
    listed = [one.get("function") or one for one in tool_list(given)]
    strict = {one.get("name") for one in listed if one.get("strict") is True}
    tags = [_tag(tool, tool["name"] in strict, begin, end) for tool, (begin, end) in zip(tools, filter(None, around))]
    separator = _separator(gate, tools[0]["name"]) if parallel else None
    many = {"separator": separator or "", "at_least_one": True, "stop_after_first": separator is None or only is not None}
    return {"type": "structural_tag", "format": {"type": "tags_with_separator", "tags": tags, **many}}


def _tag(tool: dict[str, Any], is_strict: bool, begin: str, end: str) -> dict[str, Any]:
    free = {"type": "object", "additionalProperties": True}
    schema = tool.get("parameters") if is_strict else None
    return {"type": "tag", "begin": begin, "content": {"type": "json_schema", "json_schema": schema or free}, "end": end}


def _written(gate: Gate, name: str, arguments: Sequence[dict[str, Any]]) -> str | None:
    try:
        return gate.render([{"name": name, "arguments": one} for one in arguments], gate.dialects[0])
    except Error:
        return None


def _around(gate: Gate, name: str) -> tuple[str, str] | None:
    """What a dialect writes before and behind the arguments of a call, if they are one JSON object between the two."""
    found = set()
    for probe in _PROBES:
        written = _written(gate, name, [probe]) or ""
        places = [at for at, letter in enumerate(written) if letter == "{" and _object(written, at, probe)]
        if len(places) != 1:
            return None
        found.add((written[: places[0]], written[_object(written, places[0], probe) :]))
    return found.pop() if len(found) == 1 else None


def _object(written: str, at: int, probe: dict[str, Any]) -> int:
    """Where the object that begins here ends, if it is this one; otherwise 0."""
    try:
        value, end = json.JSONDecoder().raw_decode(written, at)
    except ValueError:
        return 0
    return end if value == probe else 0


def _separator(gate: Gate, name: str) -> str | None:
    """What stands between two calls, where they are written one behind the other and share nothing around them."""
    first, second = (_written(gate, name, [probe]) for probe in _PROBES)
    both = _written(gate, name, _PROBES)
    if first is None or second is None or both is None or len(both) < len(first) + len(second):
        return None
    is_both = both.startswith(first) and both.endswith(second)
    return both[len(first) : len(both) - len(second)] if is_both else None
