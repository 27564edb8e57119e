"""Dialects: how models write calls. The built-in ones by name, by model and by what they wrote, and your own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from os import PathLike
from pathlib import Path
from typing import Any

from callgate._core import Dialect, _detect, _dialect_for_model, _dialect_named, _dialect_names, _dialects_of

__all__ = ["Dialects", "dialects"]


class Dialects(Mapping[str, Dialect]):
    """The built-in dialects by name, in order of rank."""

    def __getitem__(self, name: str) -> Dialect:
        found = _dialect_named(name) if isinstance(name, str) else None
        if found is None:
            raise KeyError(name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(_dialect_names())

    def __len__(self) -> int:
        return len(_dialect_names())

    def for_model(self, model: str) -> Dialect | None:
        """The dialect that a model of this name writes, if it is known."""
        return _dialect_for_model(model)

    def parse(self, toml: str) -> list[Dialect]:
        """The dialects of your own that this text of a dialect file has."""
        return _dialects_of(toml)

    def load(self, path: str | PathLike[str]) -> list[Dialect]:
        """The dialects of your own that a file has."""
        return _dialects_of(Path(path).read_text(encoding="utf-8"))

    def detect(self, text: str, tools: Any = None) -> list[str]:
        """The names of the dialects that read calls in this text, the best first. Nothing read here is a call."""
        return _detect(text, tools)

    def __repr__(self) -> str:
        return f"<callgate.dialects: {len(self)} dialects>"


dialects = Dialects()
"""The built-in dialects by name."""
