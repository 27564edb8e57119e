"""Judges transcripts on Spark: `spark-submit judge_spark.py TRANSCRIPTS TOOLS JUDGED`.

TRANSCRIPTS is Parquet with what models wrote in the column `output`, TOOLS a JSON file with the tools they had. JUDGED gets
every row and column of it, and beside them what came through the gate, what did not, and why. The Python of the workers
(`PYSPARK_PYTHON`) needs callgate and pyarrow.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import callgate
import pyarrow
from pyspark.sql import SparkSession
from pyspark.sql.pandas.types import from_arrow_schema
from pyspark.sql.types import StructType


def main(transcripts: str, tools: str, judged: str) -> None:
    # It is pickled to the workers, and compiled there once for each task.
    gate = callgate.Gate(json.loads(Path(tools).read_text(encoding="utf-8")), strict_tools=False)
    frame = SparkSession.builder.appName("callgate").getOrCreate().read.parquet(transcripts)
    verdicts = from_arrow_schema(pyarrow.table(gate.parse_many(pyarrow.array([], pyarrow.string()))).schema)

    def judge(batches: Iterator[pyarrow.RecordBatch]) -> Iterator[pyarrow.RecordBatch]:
        for batch in batches:
            # Spark runs a task on every core, so one thread is enough.
            found = pyarrow.record_batch(gate.parse_many(batch["output"], threads=1))
            yield pyarrow.record_batch([*batch.columns, *found.columns], names=[*batch.schema.names, *found.schema.names])

    frame.mapInArrow(judge, StructType([*frame.schema, *verdicts])).write.mode("overwrite").parquet(judged)


if __name__ == "__main__":
    main(*sys.argv[1:])
