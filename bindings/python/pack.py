"""Packs a wheel anew, smaller than zlib does: `python bindings/python/pack.py WHEEL`. Needs zopfli, from PyPI."""

from __future__ import annotations

import sys
import zipfile
from pathlib import Path

import zopfli.zlib


class Packing:
    """What `zipfile` packs one file with, as it uses zlib: everything comes out at the end."""

    def __init__(self) -> None:
        self.parts: list[bytes] = []

    def compress(self, data: bytes) -> bytes:
        self.parts.append(bytes(data))
        return b""

    def flush(self) -> bytes:
        # Without the head and the sum that only zlib's own format has.
        return bytes(zopfli.zlib.compress(b"".join(self.parts), numiterations=5)[2:-4])


def pack(path: Path) -> None:
    packed = path.with_suffix(".packed")
    zipfile._get_compressor = lambda *_: Packing()  # type: ignore[attr-defined]
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as new:
        for file in old.infolist():
            new.writestr(file, old.read(file), zipfile.ZIP_DEFLATED)
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed) as new:
        if [old.read(file) for file in old.namelist()] != [new.read(file) for file in new.namelist()]:
            sys.exit(f"failed: {packed} does not hold what {path} holds")
    packed.replace(path)


if __name__ == "__main__":
    pack(Path(sys.argv[1]))
