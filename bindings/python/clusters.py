"""Clusters: the examples on a local cluster of each engine, against `callgate scan` line by line. `python clusters.py [spark|ray|daft]...`.

`scripts/real-engines clusters` installs what it needs. Speed is what one core does in a second, of everything that the engine has started: of
a large run less that of a small one, so that starting a cluster does not count.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
import uuid
from pathlib import Path
from typing import Any

import pyarrow
import pyarrow.parquet

HERE = Path(__file__).resolve().parent
FIXTURES = HERE.parents[1] / "crates/callgate/fixtures/dialects"
SMALL, LARGE = 2, 60
TICK = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100


def samples() -> tuple[list[str], list[Any]]:
    """What models wrote in every dialect, and one list of the tools they had."""
    texts, tools = [], {}
    for file in sorted(FIXTURES.glob("*/*.jsonl")):
        for line in file.read_text(encoding="utf-8").split("\n"):
            if line:
                row = json.loads(line)
                texts.append(row["text"])
                for tool in row["tools"]:
                    tools.setdefault(tool["function"]["name"] if "function" in tool else tool["name"], tool)
    return texts, list(tools.values())


def run(command: list[str]) -> float:
    """Runs a program, and gives the seconds that it and all it has started have computed."""
    mark = f"CLUSTER_RUN={uuid.uuid4()}"
    name, _, value = mark.partition("=")
    with tempfile.TemporaryFile() as said:
        # Spark's workers take another Python otherwise.
        variables = {**os.environ, "PYSPARK_PYTHON": sys.executable, name: value}
        process = subprocess.Popen(command, env=variables, stdout=said, stderr=said)
        seconds: dict[str, float] = {}
        while process.poll() is None:
            for folder in Path("/proc").glob("[0-9]*"):
                try:
                    if mark.encode() in (folder / "environ").read_bytes():
                        fields = (folder / "stat").read_text().rpartition(")")[2].split()
                        seconds[folder.name] = (int(fields[11]) + int(fields[12])) / TICK
                except OSError:
                    continue
            time.sleep(0.1)
        if process.returncode:
            said.seek(0)
            sys.exit(f"{' '.join(command)} failed:\n{said.read().decode(errors='replace')[-4000:]}")
    return sum(seconds.values())


def as_columns(line: dict[str, Any]) -> dict[str, Any]:
    """What a line of `scan` says, as `parse_many` has it in columns."""

    def place(one: dict[str, Any]) -> dict[str, Any]:
        start, end = one.get("span") or (None, None)
        return {"start": start, "end": end}

    def finding(one: dict[str, Any], attempt: int | None) -> dict[str, Any]:
        kept = {key: one[key] for key in ("code", "severity", "path", "message", "help")}
        return {**kept, "attempt": attempt, "count": one.get("count", 1), **place(one)}

    calls, rejected = line["calls"], line["rejected"]
    return {
        "text": line["text"],
        "reasoning": line["reasoning"],
        "finish_reason": line["finish_reason"],
        "model_error": line["model_error"] and {key: line["model_error"][key] for key in ("code", "message")},
        "calls": [
            {
                **{key: call[key] for key in ("attempt", "id", "name", "arguments", "checked", "dialect")},
                "repairs": [repair["code"] for repair in call["repairs"]],
                "coercions": [coercion["code"] for coercion in call["coercions"]],
                "after": call.get("after", []),
                **place(call),
            }
            for call in calls
        ],
        "rejected": [
            {
                **{key: one.get(key) for key in ("attempt", "id", "name", "raw", "dialect")},
                "code": one["findings"][0]["code"],
                **place(one),
            }
            for one in rejected
        ],
        "findings": [finding(one, None) for one in line["findings"]]
        + [finding(one, call["attempt"]) for call in [*calls, *rejected] for one in call.get("findings", [])],
    }


def exact(text: str) -> Any:
    """JSON in which every digit of a number counts."""
    return json.loads(text, parse_float=lambda digits: ("float", digits), parse_int=lambda digits: ("int", digits))


def without_characters(row: dict[str, Any]) -> dict[str, Any]:
    """A row of columns as lines have it: arguments decoded, places in bytes only."""
    for name in ("calls", "rejected", "findings"):
        row[name] = [{key: value for key, value in one.items() if not key.startswith("char_")} for one in row[name]]
    return row


def compare(engine: str, judged: Path, lines: dict[int, str]) -> None:
    rows = pyarrow.parquet.read_table(judged).to_pylist()
    if sorted(row["id"] for row in rows) != sorted(lines):
        sys.exit(f"{engine}: there are {len(rows)} rows for {len(lines)} lines")
    for row in rows:
        number, _ = row.pop("id"), row.pop("output")
        wanted, got = as_columns(json.loads(lines[number])), without_characters(row)
        for call, line in zip(got["calls"], exact(lines[number])["calls"]):
            if exact(call["arguments"]) != line["arguments"]:
                sys.exit(f"{engine}: the arguments in row {number} are {call['arguments']}\nscan says {lines[number]}")
        for side in (got, wanted):
            for call in side["calls"]:
                del call["arguments"]
        if got != wanted:
            parts = [f"{key}: {got[key]}\nscan: {wanted[key]}" for key in wanted if got[key] != wanted[key]]
            sys.exit(f"{engine}: row {number} is not what scan says\n" + "\n".join(parts))


def main(engines: list[str]) -> None:
    texts, tools = samples()
    python, scan = sys.executable, [sys.executable, "-m", "callgate", "scan", "--quiet"]
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "tools.json").write_text(json.dumps(tools), encoding="utf-8")
        times: dict[str, list[float]] = {name: [] for name in ["scan", *engines]}
        for times_all in (SMALL, LARGE):
            outputs = [text for _ in range(times_all) for text in texts]
            transcripts, source, out = folder / f"transcripts-{times_all}", folder / f"{times_all}.jsonl", folder / f"{times_all}.out"
            transcripts.mkdir()
            table = pyarrow.table({"id": list(range(len(outputs))), "output": outputs})
            # Several files, as large sets have; each becomes a task or more.
            for part in range(4):
                rows = table.slice(part * len(outputs) // 4, (part + 1) * len(outputs) // 4 - part * len(outputs) // 4)
                pyarrow.parquet.write_table(rows, transcripts / f"part-{part}.parquet")
            source.write_text("".join(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(outputs)), encoding="utf-8")
            times["scan"].append(run([*scan, "--tools", str(folder / "tools.json"), "-o", str(out), str(source)]))
            lines = {json.loads(line)["id"]: line for line in out.read_text(encoding="utf-8").split("\n") if line}
            for engine in engines:
                judged = folder / f"{engine}-{times_all}"
                example = HERE / "examples" / f"judge_{engine}.py"
                times[engine].append(run([python, str(example), str(transcripts), str(folder / "tools.json"), str(judged)]))
                compare(engine, judged, lines)
        megabytes = (LARGE - SMALL) * sum(len(text.encode()) for text in texts) / 1e6
        print(f"{len(texts) * LARGE} texts, the same line by line; per core, without the start:")
        for engine, (small, large) in times.items():
            print(f"{engine:<6} {megabytes / max(large - small, 0.01):7.1f} MB/s   {small:6.1f} s to start and judge {SMALL * len(texts)}")


if __name__ == "__main__":
    main(sys.argv[1:] or ["spark", "ray", "daft"])
