"""Every fixture gives through Python the events that it gives in Rust: whole, and cut into characters and bytes."""

from __future__ import annotations

import json
import pickle
from typing import Any

import pytest

import callgate
from callgate import Event, Gate, Response

CHARS, BYTES = 7, 5


def cut(text: Any, size: int) -> list[Any]:
    return [text[at : at + size] for at in range(0, len(text), size)]


@pytest.fixture(scope="module")
def rows(reference: list[dict[str, Any]]) -> list[tuple[dict[str, Any], Gate]]:
    gates: dict[str, Gate] = {}
    made = []
    for line in reference:
        tools, name = line["row"]["tools"], line["dialect"]
        gates[name] = gates[name].with_tools(tools) if name in gates else Gate(tools, dialect=name)
        made.append((line, gates[name]))
    assert len(made) > 800
    return made


def events(gate: Gate, row: dict[str, Any], pieces: list[Any]) -> list[Event]:
    session = gate.session(prompt_tail=row.get("prompt_tail"))
    out = [event for piece in pieces for event in session.push(piece)]
    return out + session.finish("stop")


def test_events_are_the_same_whole_and_in_pieces(rows: Any) -> None:
    for line, gate in rows:
        row, text = line["row"], line["row"]["text"]
        for form, pieces in {
            "whole": [text],
            "pieces": cut(text, CHARS),
            "bytes": cut(text.encode(), BYTES),
        }.items():
            got = [event.to_json() for event in events(gate, row, pieces)]
            assert got == line[form], (line["dialect"], row["case"], form)


def test_responses_and_feedback_are_the_same(rows: Any) -> None:
    for line, gate in rows:
        row = line["row"]
        whole = gate.parse(row["text"], prompt_tail=row.get("prompt_tail"), finish_reason="stop")
        assert whole.to_json() == line["response"], (line["dialect"], row["case"])
        assert gate.feedback(whole) == line["feedback"]
        streamed = Response.collect(events(gate, row, cut(row["text"], CHARS)), "stop")
        assert streamed == whole


def test_batches_are_the_same(rows: Any) -> None:
    by_gate: dict[str, list[Any]] = {}
    for line, gate in rows:
        if "prompt_tail" not in line["row"]:
            by_gate.setdefault(line["dialect"] + json.dumps(line["row"]["tools"]), []).append((line, gate))
    for group in by_gate.values():
        gate = group[0][1]
        texts = [line["row"]["text"] for line, _ in group]
        wanted = [line["response"] for line, _ in group]
        assert [one.to_json() for one in gate.parse_many(texts, finish_reason="stop")] == wanted
        assert [one.to_json() for one in gate.parse_many(iter(texts), finish_reason="stop")] == wanted
        many = gate.parse_many(texts * 20, finish_reason=["stop"] * len(texts) * 20, threads=4)
        assert [one.to_json() for one in many] == wanted * 20


def test_what_is_pickled_comes_back_equal(rows: Any) -> None:
    for line, gate in rows:
        row = line["row"]
        for event in events(gate, row, [row["text"]]):
            back = pickle.loads(pickle.dumps(event))
            assert back == event and hash(back) == hash(event) and type(back) is type(event)
            assert back.char_span == event.char_span
            assert Event.from_json(event.to_json()).to_json() == event.to_json()
        response = gate.parse(row["text"])
        back = pickle.loads(pickle.dumps(response))
        assert back == response
        assert [call.char_span for call in back.calls] == [call.char_span for call in response.calls]


def test_places_in_characters_cut_the_text_where_places_in_bytes_cut_the_bytes(rows: Any) -> None:
    for line, gate in rows:
        row, text = line["row"], line["row"]["text"]
        raw = text.encode()
        for pieces in ([text], cut(text, CHARS), cut(raw, BYTES)):
            for event in events(gate, row, pieces):
                if event.span is None:
                    assert event.char_span is None
                    continue
                (start, end), (first, last) = event.span, event.char_span or (-1, -1)
                assert raw[start:end].decode() == text[first:last], (line["dialect"], row["case"], event)
        response = gate.parse(text, prompt_tail=row.get("prompt_tail"))
        parts = [*response.all_findings, *(repair for call in response.calls for repair in call.repairs)]
        for part in parts:
            if part.span is not None and part.char_span is not None:
                assert raw[slice(*part.span)].decode() == text[slice(*part.char_span)]


def test_what_a_dialect_writes_it_reads(rows: Any) -> None:
    for name, dialect in callgate.dialects.items():
        tools = [{"name": "look", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}]
        gate = Gate(tools, dialect=name)
        call = {"name": dialect.keys.get("code_tool") or "look", "arguments": {"q": "a"}, "id": "call_1"}
        try:
            written = gate.render([call])
        except callgate.Error as error:
            assert error.code == "unrepresentable" and error.pointer, error
            continue
        assert written == dialect.render([call])
        calls = gate.parse(written, finish_reason="stop").calls
        if call["name"] == "look":
            assert [(one.name, one.arguments) for one in calls] == [("look", {"q": "a"})], name
