"""Errors: the one exception of this package, with a code, a place and a way out."""

from __future__ import annotations

from typing import Any

__all__ = ["Error"]


class Error(ValueError):
    """What is wrong, where, and what to do about it. What a model writes never raises: it comes out as events."""

    def __init__(
        self,
        code: str,
        message: str,
        help: str = "",
        *,
        span: tuple[int, int] | None = None,
        pointer: str | None = None,
        index: int | None = None,
        tool: str | None = None,
        line: int | None = None,
        column: int | None = None,
    ) -> None:
        self.code = code
        """The stable word for what kind of mistake it is."""
        self.message = message
        """What is wrong."""
        self.help = help
        """What to do."""
        self.span = span
        """The bytes of the text that it is about."""
        self.pointer = pointer
        """The place in a value, as a JSON pointer."""
        self.index = index
        """The place in a tool list, counted from 0."""
        self.tool = tool
        """The name of the tool."""
        self.line = line
        """The line of a text, counted from 1."""
        self.column = column
        """The column of a text, counted from 1."""
        super().__init__(code, message, help)

    def _place(self) -> dict[str, Any]:
        names = ("span", "pointer", "index", "tool", "line", "column")
        return {name: getattr(self, name) for name in names if getattr(self, name) is not None}

    def __str__(self) -> str:
        who = ""
        if self.tool is not None:
            who = f"tool `{self.tool}`: " if self.index is None else f"tool {self.index} `{self.tool}`: "
        elif self.index is not None:
            who = f"tool {self.index}: "
        where = ""
        if self.line is not None:
            where = f" at line {self.line}, column {self.column}"
        elif self.pointer:
            where = f" at {self.pointer}"
        elif self.span is not None:
            where = f" at byte {self.span[0]}"
        help = f" {self.help}" if self.help else ""
        return f"{who}{self.message}{where} ({self.code}).{help}"

    def __reduce__(self) -> tuple[Any, ...]:
        return (_load, (self.code, self.message, self.help, self._place()))


def _load(code: str, message: str, help: str, place: dict[str, Any]) -> Error:
    return Error(code, message, help, **place)
