"""What the tests share: the tools of a small weather service, and what the crate itself says about every fixture."""

from __future__ import annotations

import importlib.util
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

# Stand-ins for engines come last, so that those which are installed are taken.
FAKES = Path(__file__).resolve().parent / "fakes"
sys.path.append(str(FAKES))

ROOT = Path(__file__).resolve().parents[3]
FIXTURES = ROOT / "crates/callgate/fixtures/dialects"

WEATHER = {
    "type": "function",
    "function": {
        "name": "weather",
        "description": "The weather of a city.",
        "parameters": {
            "type": "object",
            "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
            "required": ["city"],
        },
    },
}


def is_real(name: str) -> bool:
    """Whether an engine is installed, and not only its stand-in."""
    spec = importlib.util.find_spec(name)
    return spec is not None and not str(spec.origin).startswith(str(FAKES))


def hermes(name: str, arguments: str) -> str:
    """A call in the dialect `hermes`."""
    return f'<tool_call>\n{{"name": "{name}", "arguments": {arguments}}}\n</tool_call>'


@pytest.fixture(scope="session")
def reference() -> list[dict[str, Any]]:
    """What the crate says about every fixture, from the program in `reference/`."""
    program = os.environ.get("CALLGATE_REFERENCE")
    if not program:
        pytest.fail("CALLGATE_REFERENCE must name the program of bindings/python/reference; scripts/python sets it")
    out = subprocess.run([program, str(FIXTURES)], check=True, capture_output=True, text=True, encoding="utf-8").stdout
    # Not `splitlines`: a string of a sample may hold other line breaks.
    return [json.loads(line) for line in out.split("\n") if line]
