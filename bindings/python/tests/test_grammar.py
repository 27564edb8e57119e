"""Grammars for required calls: what they allow is what the gate reads. Against xgrammar itself where that is installed."""

from __future__ import annotations

import importlib.util
import json
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from conftest import WEATHER

import callgate
from callgate import Gate, _grammar

NOTE = {"type": "function", "function": {"name": "note", "parameters": {"type": "object", "properties": {"text": {"type": "string"}}}}}
CALLS = [{"name": "weather", "arguments": {"city": "Oslo", "days": 3}}, {"name": "note", "arguments": {"text": 'a "b" {c}\n'}}]
STRICT = {"type": "function", "function": {**WEATHER["function"], "strict": True}}  # type: ignore[dict-item]


def tags(dialect: str, tools: Any = (WEATHER, NOTE), **kwargs: Any) -> dict[str, Any] | None:
    return _grammar.structural_tag(Gate(list(tools), dialect=dialect), list(tools), **kwargs)


CONSTRAINED = [name for name in callgate.dialects if tags(name) is not None]


def test_formats_with_one_json_object_for_the_arguments_are_constrained() -> None:
    assert {"hermes", "llama3-json", "mistral", "deepseek-v31", "kimi-k2", "granite", "harmony"} <= set(CONSTRAINED)
    # Parameters as elements, or as Python.
    assert {"qwen3-coder", "glm45", "pythonic"}.isdisjoint(CONSTRAINED)


@pytest.mark.parametrize("name", CONSTRAINED)
def test_what_the_tag_spells_is_read_as_it_stands(name: str) -> None:
    gate = Gate([WEATHER, NOTE], dialect=name)
    tag = tags(name)
    assert tag is not None
    form = tag["format"]
    parts = [one["begin"] + json.dumps(call["arguments"]) + one["end"] for one, call in zip(form["tags"], CALLS)]
    for part, call in zip(parts, CALLS):
        (read,) = gate.parse(part, finish_reason="stop").calls
        assert (read.name, read.arguments, list(read.repairs)) == (call["name"], call["arguments"], [])
    if not form["stop_after_first"]:
        both = gate.parse(form["separator"].join(parts), finish_reason="stop")
        assert [(one.name, one.arguments) for one in both.calls] == [(one["name"], one["arguments"]) for one in CALLS]


def test_named_single_strict_and_unknown() -> None:
    tag = tags("hermes", only="note")
    assert tag is not None
    assert len(tag["format"]["tags"]) == 1 and '"note"' in tag["format"]["tags"][0]["begin"] and tag["format"]["stop_after_first"]
    single, strict = tags("hermes", parallel=False), tags("hermes", tools=[STRICT])
    assert single is not None and single["format"]["stop_after_first"]
    assert strict is not None
    assert strict["format"]["tags"][0]["content"]["json_schema"]["required"] == ["city"]
    # Nobody says in which dialect the model writes.
    assert _grammar.structural_tag(Gate([WEATHER]), [WEATHER]) is None


def xgrammar() -> Any:
    """The real one. It needs torch for masks, which nobody asks for here."""
    if importlib.util.find_spec("xgrammar") is None:
        pytest.skip("xgrammar is not installed; scripts/real-engines grammar does it")
    if importlib.util.find_spec("torch") is None:
        for name in ("torch", "torch.utils", "transformers"):

            class Standing(ModuleType):
                def __getattr__(self, name: str) -> Any:
                    if name.startswith("__"):
                        raise AttributeError(name)
                    return type(name, (), {"__init__": lambda self, *args, **kwargs: None})

            sys.modules[name] = made = Standing(name)
            made.__path__, made.__spec__ = [], ModuleSpec(name, None)
            setattr(made, "cuda", SimpleNamespace(is_available=lambda: False))
            setattr(made, "__version__", "2.9.0")
    import xgrammar

    return xgrammar


def test_xgrammar_allows_what_the_dialect_writes_and_nothing_else() -> None:
    xg = xgrammar()
    end = 256
    info = xg.TokenizerInfo([*(bytes([byte]) for byte in range(256)), b"</s>"], vocab_type=xg.VocabType.RAW, stop_token_ids=[end])
    compiler = xg.GrammarCompiler(info)

    def compiled(tag: Any) -> Any:
        return compiler.compile_grammar(xg.Grammar.from_structural_tag(json.dumps(tag)))

    def allows(grammar: Any, text: str) -> bool:
        matcher = xg.GrammarMatcher(grammar)
        return bool(matcher.accept_string(text) and matcher.accept_token(end))

    for name in CONSTRAINED:
        tag, gate = tags(name), Gate([WEATHER, NOTE], dialect=name)
        assert tag is not None
        xg.StructuralTag.model_validate(tag)
        grammar = compiled(tag)
        assert not allows(grammar, "It rains."), name
        for call in CALLS:
            assert allows(grammar, gate.render([call], name)), (name, call)
            assert not allows(grammar, gate.render([{**call, "name": "other"}], name)), name
        assert allows(grammar, gate.render(CALLS, name)) != tag["format"]["stop_after_first"], name
    strict = compiled(tags("hermes", tools=[STRICT]))
    hermes = Gate([WEATHER], dialect="hermes")
    assert allows(strict, hermes.render([{"name": "weather", "arguments": {"city": "Oslo"}}]))
    assert not allows(strict, hermes.render([{"name": "weather", "arguments": {"city": 1}}]))
