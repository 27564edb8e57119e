"""Types: the classes of what the eight names give, for annotations and `isinstance`."""

from callgate._core import (
    ArgumentsDelta,
    CallStarted,
    Coercion,
    Dialect,
    Finding,
    Markup,
    ModelError,
    Reasoning,
    Repair,
    Repaired,
    ResponseArray,
    Responses,
    Text,
)
from callgate._stream import EventStream

__all__ = [
    "ArgumentsDelta",
    "CallStarted",
    "Coercion",
    "Dialect",
    "EventStream",
    "Finding",
    "Markup",
    "ModelError",
    "Reasoning",
    "Repair",
    "Repaired",
    "ResponseArray",
    "Responses",
    "Text",
]
