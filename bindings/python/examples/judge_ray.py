"""Judges transcripts on Ray Data: `python judge_ray.py TRANSCRIPTS TOOLS JUDGED`.

TRANSCRIPTS is Parquet with what models wrote in the column `output`, TOOLS a JSON file with the tools they had. JUDGED gets
every row and column of it, and beside them what came through the gate, what did not, and why.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import callgate
import pyarrow
import ray


def main(transcripts: str, tools: str, judged: str) -> None:
    # It is pickled to the workers, and compiled there once for each task.
    gate = callgate.Gate(json.loads(Path(tools).read_text(encoding="utf-8")), strict_tools=False)

    def judge(batch: pyarrow.Table) -> pyarrow.Table:
        # Ray runs a task on every core, so one thread is enough.
        found = pyarrow.table(gate.parse_many(batch["output"], threads=1))
        return pyarrow.table([*batch.columns, *found.columns], names=[*batch.column_names, *found.column_names])

    rows = ray.data.read_parquet(transcripts)
    rows.map_batches(judge, batch_format="pyarrow", batch_size=4096).write_parquet(judged)


if __name__ == "__main__":
    main(*sys.argv[1:])
