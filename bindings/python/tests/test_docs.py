"""The documents: every block of Python runs, and the table of engines is what the adapters say."""

from __future__ import annotations

import ast
import importlib.util
import os
import re
import sys
from pathlib import Path
from typing import Any

import pytest
from conftest import ROOT

import callgate

PAGES = [ROOT / "docs/python.md", ROOT / "bindings/python/README.md", ROOT / "README.md"]
ADAPTERS = ["vllm", "sglang", "litellm", "langchain", "pydantic_ai"]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_every_block_runs(page: Path, tmp_path: Path) -> None:
    text = page.read_text(encoding="utf-8")
    blocks = [match for match in re.finditer(r"^```python\n(.*?)^```$", text, re.M | re.S)]
    assert blocks
    assert text.count("```python") == len(blocks), "a block that is not closed, or is indented"
    # As a module of its own, since types are looked up by the names of their module.
    module = type(sys)(f"page_{PAGES.index(page)}")
    sys.modules[module.__name__] = module
    for match in blocks:
        needs = re.findall(r"^# needs (\w+)$", match[1], re.M)
        if any(importlib.util.find_spec(name) is None for name in needs):
            continue
        line = text.count("\n", 0, match.start()) + 1
        code: Any = compile("\n" * line + match[1], str(page), "exec")
        exec(code, module.__dict__)


def test_the_table_of_engines_is_what_the_adapters_say() -> None:
    rows = ["| your engine | your flag |", "|---|---|"]
    for name in ADAPTERS:
        source = (Path(callgate.__file__).parent / f"{name}.py").read_text(encoding="utf-8")
        engine, said = (ast.get_docstring(ast.parse(source)) or "").splitlines()[0].split(": ", 1)
        assert "callgate" in said
        rows.append(f"| {engine} | {said} |")
    page = PAGES[0]
    text = page.read_text(encoding="utf-8")
    made = re.sub(r"(<!-- made: engines -->\n).*?(<!-- end -->)", lambda match: match[1] + "\n".join(rows) + "\n" + match[2], text, flags=re.S)
    if os.environ.get("UPDATE"):
        page.write_text(made, encoding="utf-8")
    assert made == page.read_text(encoding="utf-8"), "UPDATE=1 makes it anew"
