"""Speed: what crossing the border costs, and how a batch compares with the command. `python bindings/python/speed.py`.

Needs the wheel as it is shipped (`scripts/wheel dist`) in the environment; the command is in the same module, so both are built alike, unless
`CALLGATE_COMMAND` names another one. Each
figure is the best of several runs, and of work on one thread it is the time of the processor, so that a busy machine shows least. vLLM's own
parsers and json_repair are measured beside it where they are installed, one parser of vLLM's also from the unpacked source archive that
`VLLM_SOURCE` names. It fails if a promise is not kept: less than 1.5 µs for a chunk, a batch at no
less than 80 % of the speed of `scan`, and other threads that go on.
"""

from __future__ import annotations

import importlib
import json
import logging
import os
import subprocess
import sys
import tempfile
import threading
import time
import uuid
from pathlib import Path
from types import ModuleType
from typing import Any, Callable

import callgate

BROKEN: list[str] = []
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
    print(f"{what:<66} {figure}", flush=True)


def promise(is_kept: bool, what: str) -> None:
    if not is_kept:
        BROKEN.append(what)


def crossing(gate: callgate.Gate) -> None:
    count = 100_000
    for name, chunk in (("a word of text", "word "), ("a word of Chinese", "中文")):

        def push() -> None:
            session = gate.session()
            for _ in range(count):
                session.push(chunk)

        took = best(push) / count * 1e6
        say(f"push of {name}, one event back", f"{took:.2f} µs")
        promise(took < 1.5, f"a chunk takes {took:.2f} µs")

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
    long = ["word " * dice.randrange(40, 400) + CALL for _ in range(40_000)]
    compare(gate, "long texts with a call each", long)
    compare(gate, "short calls", [f"On it. {CALL}"] * 100_000)
    texts = long
    done, ticks = threading.Event(), 0
    thread = threading.Thread(target=lambda: (gate.parse_many(texts), done.set()))
    start = time.perf_counter()
    thread.start()
    while not done.is_set():
        ticks += 1
    took = time.perf_counter() - start
    thread.join()
    say("turns of another Python thread meanwhile", f"{ticks / took / 1e6:.1f} million per second")
    promise(ticks / took > 1e5, "other threads do not run while parse_many does")


def compare(gate: callgate.Gate, kind: str, texts: list[str]) -> None:
    """A batch beside the command, each with everything that it reads and writes."""
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
        own = os.environ.get("CALLGATE_COMMAND")
        command = [own] if own else [sys.executable, "-m", "callgate"]
        scan = [*command, "scan", "--quiet", "--tools", str(tools), str(lines)]
        works["callgate scan, lines in and out"] = lambda: subprocess.run(scan, stdout=subprocess.DEVNULL, check=True)
        # In turns, so that what else the machine does meets all of them.
        figures: dict[str, tuple[float, float]] = {}
        for _ in range(5):
            for name, work in works.items():
                wall, computed = time.perf_counter(), processor()
                work()
                wall, computed = time.perf_counter() - wall, processor() - computed
                before = figures.get(name, (wall, computed))
                figures[name] = (min(before[0], wall), min(before[1], computed))
    scanned = figures["callgate scan, lines in and out"]
    for name, (wall, computed) in figures.items():
        speeds = f"{megabytes / wall:.0f} MB/s, {megabytes / computed:.0f} MB/s per core"
        share = scanned[1] / computed
        say(f"{name}, {kind}", speeds if "scan" in name else f"{speeds}: {scanned[0] / wall:.0%}, {share:.0%} of scan")
        promise(share >= 0.8, f"{name} has {share:.0%} of the speed of scan, with {kind}")


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


def vllm_source(folder: Path) -> None:
    """vLLM's own reader of `hermes` from the unpacked source archive, alone: the types that it imports stand in. Needs pydantic and regex."""
    from pydantic import BaseModel, ConfigDict

    class Message(BaseModel):
        model_config = ConfigDict(extra="allow")

    class Parser:
        def __init__(self, tokenizer: Any, tools: Any = None) -> None:
            self.model_tokenizer = tokenizer
            self.prev_tool_call_arr: list[Any] = []
            self.streamed_args_for_tool: list[str] = []

    class Standing(ModuleType):
        def __getattr__(self, name: str) -> Any:
            if name.startswith("__"):
                raise AttributeError(name)
            return Message

    for name in [name for name in sys.modules if name.split(".")[0] in ("vllm", "openai")]:
        del sys.modules[name]
    for name in (
        "openai openai.types openai.types.responses openai.types.responses.tool partial_json_parser partial_json_parser.core "
        "partial_json_parser.core.options vllm vllm.entrypoints.generate.base.protocol vllm.entrypoints.openai.chat_completion.protocol "
        "vllm.entrypoints.openai.responses.protocol vllm.exceptions vllm.logger vllm.renderers.chat_utils vllm.tokenizers vllm.tool_parsers "
        "vllm.tool_parsers.abstract_tool_parser vllm.utils.mistral"
    ).split():
        parts = name.split(".")
        for length in range(1, len(parts) + 1):
            made = sys.modules.setdefault(".".join(parts[:length]), Standing(".".join(parts[:length])))
            made.__path__ = []
    sys.modules["vllm.tool_parsers"].__path__ = [str(folder / "vllm/tool_parsers")]
    stand: dict[str, dict[str, Any]] = {
        "vllm.tool_parsers.abstract_tool_parser": {"ToolParser": Parser},
        "vllm.logger": {"init_logger": logging.getLogger},
        "vllm.renderers.chat_utils": {"make_tool_call_id": lambda: f"chatcmpl-tool-{uuid.uuid4().hex}"},
        "vllm.utils.mistral": {"is_mistral_tokenizer": lambda tokenizer: False},
    }
    for name, attributes in stand.items():
        vars(sys.modules[name]).update(attributes)
    kind = importlib.import_module("vllm.tool_parsers.hermes_tool_parser").Hermes2ProToolParser
    found = kind(object()).extract_tool_calls(TEXT, None)
    assert [call.function.name for call in found.tool_calls] == ["weather"], found
    theirs = best(lambda: [kind(object()).extract_tool_calls(TEXT, None) for _ in range(1000)], 5) / 1000 * 1e6
    say(f"vLLM's reader of hermes alone, whole, {len(TEXT)} bytes", f"{theirs:.1f} µs")
    pieces = [TEXT[at : at + 4] for at in range(0, len(TEXT), 4)]

    def stream() -> list[Any]:
        parser, text, out = kind(object()), "", []
        for piece in pieces:
            before, text = text, text + piece
            out.append(parser.extract_tool_calls_streaming(before, text, piece, [], [], [], None))
        return out

    assert any(delta is not None and getattr(delta, "tool_calls", None) for delta in stream())
    say(f"the same streaming {len(pieces)} chunks", f"{best(stream, 25) * 1e6 / len(pieces):.1f} µs per chunk")


if __name__ == "__main__":
    print(f"callgate {callgate.__version__}, Python {sys.version.split()[0]}")
    made = callgate.Gate(TOOLS)
    crossing(made)
    whole(made)
    batch(made)
    others()
    if source := os.environ.get("VLLM_SOURCE"):
        vllm_source(Path(source))
    if BROKEN:
        sys.exit("promises that are not kept: " + "; ".join(BROKEN))
