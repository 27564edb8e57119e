"""A stand-in for what constrains a model in vLLM."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass
class StructuredOutputsParams:
    structural_tag: str | None = None
