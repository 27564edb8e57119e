"""Speed: what crossing the border costs, and how a batch compares with the command. `python bindings/python/speed.py`.

Needs the wheel as it is shipped (`scripts/wheel dist`) in the environment. Each figure is the best of several runs, and of work on one
thread it is the time of the processor, so that a busy machine shows least. vLLM's own parser and json_repair are measured beside it where they are installed.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any, Callable

import callgate
from callgate.__main__ import find

TOOLS = [
    {
        "type": "function",
        "function": {
            "name": "weather",
            "description": "The weather of a city.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}, "days": {"type": "integer"}}},
        },
    }
]
CALL = '<tool_call>\n{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}\n</tool_call>'
TEXT = "Let me look that up for you, it will only take a moment. " * 6 + CALL


def best(work: Callable[[], Any], runs: int = 7, clock: Callable[[], float] = time.process_time) -> float:
    """The seconds of the quickest run."""
    times = []
    for _ in range(runs):
        start = clock()
        work()
        times.append(clock() - start)
    return min(times)


def processor() -> float:
    """The seconds that this process and those it has started have computed, on all cores."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def say(what: str, figure: str) -> None:
    print(f"{what:<58} {figure}")


def crossing(gate: callgate.Gate) -> None:
    count = 100_000
    for name, chunk in (("a word of text", "word "), ("a word of Chinese", "中文")):

        def push() -> None:
            session = gate.session()
            for _ in range(count):
                session.push(chunk)

        say(f"push of {name}, one event back", f"{best(push) / count * 1e6:.2f} µs")

    def silent() -> None:
        session = gate.session()
        session.push('<tool_call>{"name": "weather", "arguments": {"city": "')
        for _ in range(count):
            session.push("word")

    say("push inside of a value, its delta back", f"{best(silent) / count * 1e6:.2f} µs")

    def empty() -> None:
        session = gate.session()
        for _ in range(count):
            session.push("")

    say("push of nothing: the crossing alone", f"{best(empty) / count * 1e6:.2f} µs")


def whole(gate: callgate.Gate) -> None:
    def parse() -> None:
        for _ in range(10_000):
            gate.parse(TEXT).calls[0].arguments_json

    say(f"gate.parse of {len(TEXT)} bytes with one call", f"{best(parse, 5) / 10_000 * 1e6:.1f} µs")
    pieces = [TEXT[at : at + 4] for at in range(0, len(TEXT), 4)]

    def stream() -> None:
        for _ in range(1000):
            session = gate.session()
            for piece in pieces:
                session.push(piece)
            session.finish("stop")

    say(f"the same in {len(pieces)} chunks", f"{best(stream, 5) / 1000 * 1e6:.1f} µs")


def batch(gate: callgate.Gate) -> None:
    import random

    dice = random.Random(1)
    texts = ["word " * dice.randrange(40, 400) + CALL for _ in range(40_000)]
    megabytes = sum(map(len, texts)) / 1e6
    works: dict[str, Callable[[], Any]] = {"parse_many of a list": lambda: gate.parse_many(texts)}
    try:
        import pyarrow

        column = pyarrow.array(texts)
        works["parse_many of an Arrow column"] = lambda: gate.parse_many(column)
    except ImportError:
        pass
    with tempfile.TemporaryDirectory() as folder:
        lines, tools = Path(folder) / "lines.jsonl", Path(folder) / "tools.json"
        lines.write_text("".join(json.dumps({"id": at, "text": text}) + "\n" for at, text in enumerate(texts)))
        tools.write_text(json.dumps(TOOLS))
        scan = [str(find()), "scan", "--quiet", "--tools", str(tools), str(lines)]
        works["callgate scan, lines in and out"] = lambda: subprocess.run(scan, stdout=subprocess.DEVNULL, check=True)
        for name, work in works.items():
            wall, computed = best(work, 5, time.perf_counter), best(work, 5, processor)
            say(f"{name}, {len(texts)} texts, {megabytes:.0f} MB", f"{megabytes / wall:.0f} MB/s, {megabytes / computed:.0f} MB/s per core")
    done, ticks = threading.Event(), 0
    thread = threading.Thread(target=lambda: (gate.parse_many(texts), done.set()))
    start = time.perf_counter()
    thread.start()
    while not done.is_set():
        ticks += 1
    took = time.perf_counter() - start
    thread.join()
    say("turns of another Python thread meanwhile", f"{ticks / took / 1e6:.1f} million per second")


def others() -> None:
    try:
        import json_repair

        bad = '{"city": "Oslo", "days": 3,}'
        ours = best(lambda: [callgate.repair(bad).value for _ in range(20_000)], 3) / 20_000
        theirs = best(lambda: [json_repair.loads(bad) for _ in range(2000)], 3) / 2000
        say("repair of a small object, json_repair's", f"{ours * 1e6:.1f} µs, {theirs * 1e6:.1f} µs")
    except ImportError:
        pass
    try:
        from vllm.entrypoints.openai.chat_completion.protocol import ChatCompletionRequest
        from vllm.parser import ParserManager
        from vllm.plugins import load_general_plugins
    except ImportError:
        return
    load_general_plugins()

    class Tokenizer:
        name_or_path = "Qwen/Qwen2.5-7B-Instruct"

        def get_vocab(self) -> dict[str, int]:
            return {"<tool_call>": 1, "</tool_call>": 2}

        def encode(self, text: str, **kwargs: Any) -> list[int]:
            return [ord(one) for one in text]

        def decode(self, ids: list[int], **kwargs: Any) -> str:
            return "".join(map(chr, ids))

    asked = ChatCompletionRequest(model="m", messages=[{"role": "user", "content": "x"}], tools=TOOLS)
    pieces = [TEXT[at : at + 4] for at in range(0, len(TEXT), 4)]
    for name in ("callgate", "hermes"):
        kind = ParserManager.get_parser(tool_parser_name=name, reasoning_parser_name=None, enable_auto_tools=True)

        def stream() -> None:
            parser = kind(Tokenizer(), asked.tools)
            for at, piece in enumerate(pieces):
                parser.parse_delta(piece, [5], asked, prompt_token_ids=[5] if at == 0 else None, finished=at == len(pieces) - 1)

        say(f"vLLM streaming {len(pieces)} chunks with the parser {name}", f"{best(stream, 9) * 1e6 / len(pieces):.1f} µs per chunk")


if __name__ == "__main__":
    print(f"callgate {callgate.__version__}, Python {sys.version.split()[0]}")
    made = callgate.Gate(TOOLS)
    crossing(made)
    whole(made)
    batch(made)
    others()
