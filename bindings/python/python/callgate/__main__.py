"""The command: `callgate`, and `python -m callgate`."""

from __future__ import annotations

import signal
import sys

from callgate._core import _command


def main() -> int:
    """Runs the command in this process, and gives its exit code."""
    # Ctrl-C is the command's own matter, and ends whatever does not mind it.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    return _command(["callgate", *sys.argv[1:]])


if __name__ == "__main__":
    sys.exit(main())
