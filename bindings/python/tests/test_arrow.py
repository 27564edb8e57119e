"""Arrow columns in and out, with the libraries that people have."""

from __future__ import annotations

import gc
from typing import Any

import pytest
from conftest import WEATHER, hermes

from callgate import Error, Gate

pa = pytest.importorskip("pyarrow")

GATE = Gate([WEATHER])
TEXTS = [
    "plain",
    None,
    "",
    "é " + hermes("weather", '{"city": "Oslo", "days": "3",}'),
    hermes("weather", '{"town": 1}') + hermes("weather", '{"city": "Rome"}'),
    "<tool_call>" + "x" * 100,
]


def check(rows: Any) -> None:
    for text, row in zip(TEXTS, rows, strict=True):
        if text is None:
            assert set(row.values()) == {None}
            continue
        response = GATE.parse(text)
        assert (row["text"], row["reasoning"], row["finish_reason"]) == (response.text, "", response.finish_reason)
        assert [(one["name"], one["arguments"], one["id"], one["checked"]) for one in row["calls"]] == [
            (call.name, call.arguments_json, call.id, call.checked) for call in response.calls
        ]
        for one, call in zip(row["calls"], response.calls, strict=True):
            assert (one["start"], one["end"]) == call.span and (one["char_start"], one["char_end"]) == call.char_span
            assert one["repairs"] == [repair.code for repair in call.repairs]
            assert one["coercions"] == [coercion.code for coercion in call.coercions]
        assert [(one["code"], one["name"], one["raw"]) for one in row["rejected"]] == [
            (one.code, one.name, one.raw) for one in response.rejected
        ]
        assert [(one["code"], one["severity"], one["message"], one["help"]) for one in row["findings"]] == [
            (one.code, one.severity, one.message, one.help) for one in response.all_findings
        ]
        assert row["model_error"] is None


@pytest.mark.parametrize("kind", [pa.string(), pa.large_string(), pa.string_view()])
def test_arrays_of_every_string_type(kind: Any) -> None:
    array = pa.array(TEXTS, kind)
    out = GATE.parse_many(array)
    assert len(out) == len(TEXTS)
    made = pa.array(out)
    made.validate(full=True)
    check(made.to_pylist())
    # A part of an array is an array with an offset.
    part = pa.array(GATE.parse_many(array[3:5]))
    assert part.to_pylist() == made.to_pylist()[3:5]
    # Each export stands alone, and outlives what it came from.
    again = pa.array(out)
    del out
    gc.collect()
    assert again.equals(made)


def test_streams_and_tables() -> None:
    chunked = pa.chunked_array([TEXTS[:2], TEXTS[2:]], pa.string())
    out = GATE.parse_many(chunked)
    made = pa.chunked_array(out)
    made.validate(full=True)
    assert made.num_chunks == 2
    check(made.to_pylist())
    with pytest.raises(ValueError, match="several chunks"):
        pa.array(out)
    table = pa.table(out)
    assert table.column_names[:3] == ["text", "reasoning", "calls"] and table.num_rows == len(TEXTS)
    assert len(GATE.parse_many(pa.chunked_array([], pa.string()))) == 0
    assert len(pa.array(GATE.parse_many(pa.array([], pa.string())))) == 0
    assert pa.array(GATE.parse_many(pa.nulls(2))).to_pylist()[0]["text"] is None


def test_wrong_types_are_told() -> None:
    for wrong in (pa.array([1]), pa.array(["a"]).dictionary_encode(), pa.table({"a": ["x"]}), pa.array([b"a"])):
        with pytest.raises(Error, match="not of strings"):
            GATE.parse_many(wrong)
    broken = pa.Array.from_buffers(pa.string(), 1, [None, pa.py_buffer(b"\0\0\0\0\1\0\0\0"), pa.py_buffer(b"\xff")])
    with pytest.raises(Error, match="row 0 of the Arrow array is not UTF-8"):
        GATE.parse_many(broken)


def test_large_batches() -> None:
    texts = [f"{number} " + hermes("weather", f'{{"city": "Oslo", "days": {number}}}') for number in range(20_000)]
    made = pa.array(GATE.parse_many(pa.array(texts)))
    made.validate(full=True)
    assert made.field("text").to_pylist() == [str(number) for number in range(20_000)]
    names = [one[0]["arguments"] for one in made.field("calls").to_pylist()]
    assert names == [f'{{"city": "Oslo", "days": {number}}}' for number in range(20_000)]


def test_polars() -> None:
    pl = pytest.importorskip("polars")
    made = pl.Series("response", GATE.parse_many(pl.Series(TEXTS)))
    check(made.to_list())
    frame = pl.DataFrame(GATE.parse_many(pl.Series(TEXTS)))
    assert frame["finish_reason"].to_list()[3] == "tool_calls"


def test_duckdb() -> None:
    duckdb = pytest.importorskip("duckdb")
    transcripts = pa.table({"id": range(len(TEXTS)), "output": TEXTS})  # noqa: F841 # Named in the query.
    column = pa.table(duckdb.sql("select output from transcripts order by id"))["output"]
    # DuckDB reads what Python has under this name, through the same interface.
    judged = GATE.parse_many(column)  # noqa: F841
    rows = duckdb.sql("select * from judged").fetchall()
    names = [field[0] for field in duckdb.sql("select * from judged").description]
    check([dict(zip(names, row)) for row in rows])
    found = duckdb.sql("select name, count(*) from (select unnest(calls).name as name from judged) group by name").fetchall()
    assert found == [("weather", 2)]
