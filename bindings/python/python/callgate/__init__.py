"""Callgate: the controlled doorway between a language model and the tools it may call.

Whatever the model writes, only a call that is explicit, complete, known, valid and permitted comes out, and
everything that did not is accounted for. Eight names, and the `Error` they raise::

    gate = callgate.Gate(tools, model="qwen3-coder")
    for call in gate.parse(text).calls:
        run(call.name, call.arguments)
"""

from callgate._core import Call, Event, Gate, Rejected, Response, Session, __version__, repair
from callgate._dialects import dialects
from callgate._errors import Error

__all__ = ["Call", "Error", "Event", "Gate", "Rejected", "Response", "Session", "__version__", "dialects", "repair"]
