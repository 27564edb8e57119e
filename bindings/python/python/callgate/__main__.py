"""`python -m callgate`: the command, where the wheel has put it."""

from __future__ import annotations

import os
import subprocess
import sys
import sysconfig
from pathlib import Path


def find() -> Path | None:
    """The command of this installation."""
    name = "callgate" + (sysconfig.get_config_var("EXE") or "")
    user = sysconfig.get_preferred_scheme("user")
    folders = [
        sysconfig.get_path("scripts"),
        sysconfig.get_path("scripts", scheme=user),
        # `pip install --target` puts it beside the package.
        str(Path(__file__).resolve().parent.parent / "bin"),
    ]
    found = (Path(folder) / name for folder in folders if folder)
    return next((path for path in found if path.is_file()), None)


def main() -> int:
    """Runs the command in place of this process."""
    command = find()
    if command is None:
        print("callgate: this installation has no command; wheels have it, or `cargo install callgate-cli`", file=sys.stderr)
        return 2
    arguments = [str(command), *sys.argv[1:]]
    if os.name == "nt":
        return subprocess.call(arguments)
    os.execv(arguments[0], arguments)


if __name__ == "__main__":
    sys.exit(main())
