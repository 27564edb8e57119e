"""The command in the wheel, as a program of its own: streams, signals and exit codes are its own, and not Python's."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

import callgate

CALL = '<tool_call>{"name": "f", "arguments": {}}</tool_call>'


@pytest.fixture(params=["script", "module"])
def command(request: pytest.FixtureRequest) -> list[str]:
    if request.param == "module":
        return [sys.executable, "-m", "callgate"]
    installed = os.environ.get("CALLGATE_COMMAND")
    if not installed:
        pytest.fail("CALLGATE_COMMAND must name the installed command; scripts/python sets it")
    return [installed]


def test_words_streams_and_exit_codes(command: list[str], tmp_path: Path) -> None:
    def run(*words: str | bytes, said: str = "") -> tuple[int, str, str]:
        done = subprocess.run([*command, *words], input=said, capture_output=True, text=True)
        return done.returncode, done.stdout, done.stderr

    assert run("--version") == (0, f"callgate {callgate.__version__}\n", "")
    code, out, _ = run("parse", "--json", "-", said=CALL)
    (call,) = [line for line in out.splitlines() if '"event":"call"' in line]
    assert code == 0 and callgate.Event.from_json(call).name == "f"  # type: ignore[attr-defined]
    assert run("parse", "--json", "-", said=CALL[:-20])[0] == 1
    code, _, wrong = run("pasre")
    assert code == 2 and wrong.startswith("callgate: unrecognized subcommand 'pasre'")
    if os.name == "posix":
        # A name that is no text.
        name = os.fsencode(tmp_path) + b"/\xff.txt"
        Path(os.fsdecode(name)).write_text(CALL)
        assert run("parse", "--json", name)[0] == 0


@pytest.mark.skipif(os.name != "posix", reason="other systems have other signals")
def test_ctrl_c_ends_what_waits(command: list[str]) -> None:
    with subprocess.Popen([*command, "parse", "--stream", "-"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as waiting:
        assert waiting.stdin is not None and waiting.stdout is not None and waiting.stderr is not None
        waiting.stdin.write(b"Some text, and then nothing for long.\n")
        waiting.stdin.flush()
        assert waiting.stdout.readline()
        waiting.send_signal(signal.SIGINT)
        assert waiting.wait(30) == -signal.SIGINT
        assert waiting.stderr.read() == b""


@pytest.mark.skipif(os.name != "posix", reason="other systems have other signals")
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM])
def test_a_server_answers_and_ends_when_asked(command: list[str], sent: signal.Signals) -> None:
    with subprocess.Popen([*command, "serve", "--listen", "127.0.0.1:0"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None and server.stderr is not None
        at = re.search(r"http://\S+", server.stdout.readline())
        assert at is not None
        with urllib.request.urlopen(f"{at[0]}/v1/models") as answer:
            assert b"scripted" in answer.read()
        server.send_signal(sent)
        assert server.wait(40) == 0
        assert server.stderr.read() == ""


def test_a_reader_that_goes_away_has_seen_enough(command: list[str]) -> None:
    with subprocess.Popen([*command, "explain"], stdout=subprocess.PIPE, stderr=subprocess.PIPE) as told:
        assert told.stdout is not None and told.stderr is not None
        told.stdout.close()
        assert told.wait(30) == 0
        assert told.stderr.read() == b""
