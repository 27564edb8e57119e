"""Judges transcripts on daft: `python judge_daft.py TRANSCRIPTS TOOLS JUDGED`.

TRANSCRIPTS is Parquet with what models wrote in the column `output`, TOOLS a JSON file with the tools they had. JUDGED gets
every row and column of it, and beside them what came through the gate, what did not, and why.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import callgate
import daft
import pyarrow


def main(transcripts: str, tools: str, judged: str) -> None:
    gate = callgate.Gate(json.loads(Path(tools).read_text(encoding="utf-8")), strict_tools=False)
    verdict = pyarrow.array(gate.parse_many(pyarrow.array([], pyarrow.string()))).type

    # Its fields become columns. It lets go of the interpreter, so daft needs no process for it.
    @daft.func.batch(return_dtype=daft.DataType.from_arrow_type(verdict), unnest=True, use_process=False)
    def judge(output: daft.Series) -> pyarrow.Array:
        return pyarrow.array(gate.parse_many(output))

    frame = daft.read_parquet(transcripts)
    frame.select("*", judge(frame["output"])).write_parquet(judged, write_mode="overwrite")


if __name__ == "__main__":
    main(*sys.argv[1:])
