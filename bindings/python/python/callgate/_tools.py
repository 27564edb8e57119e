"""Tools: lists of them from dictionaries, JSON Schema, models and annotated functions. The core reads what comes of it."""

from __future__ import annotations

import collections.abc
import dataclasses
import enum
import inspect
import types
import typing
from collections.abc import Iterable, Mapping
from typing import Any

from callgate._errors import Error

__all__ = ["arguments_as", "tool", "tool_list"]

_PLAIN: dict[Any, dict[str, Any]] = {
    str: {"type": "string"},
    bytes: {"type": "string"},
    int: {"type": "integer"},
    float: {"type": "number"},
    bool: {"type": "boolean"},
    None: {"type": "null"},
    type(None): {"type": "null"},
    Any: {},
    object: {},
    inspect.Parameter.empty: {},
}
_LISTS = (list, tuple, set, frozenset, collections.abc.Sequence, collections.abc.Iterable, collections.abc.Set)
_MAPPINGS = (dict, collections.abc.Mapping, collections.abc.MutableMapping)


def tool_list(tools: Any) -> Any:
    """The tools of an argument as a list that the core reads: of one tool, of many, or `{"tools": [...]}`."""
    if isinstance(tools, Mapping):
        if "tools" in tools:
            return {**tools, "tools": [tool(entry) for entry in tools["tools"]]}
        return [tool(tools)]
    if callable(tools) or not isinstance(tools, Iterable) or hasattr(tools, "model_dump"):
        return [tool(tools)]
    return [tool(entry) for entry in tools]


def tool(entry: Any) -> dict[str, Any]:
    """One tool: a dictionary of any form, a bare JSON Schema with a title, a model or an annotated function."""
    if isinstance(entry, Mapping):
        is_schema = "name" not in entry and "function" not in entry and ("properties" in entry or "$schema" in entry)
        if is_schema and isinstance(entry.get("title"), str):
            return {"name": entry["title"], "description": entry.get("description", ""), "parameters": dict(entry)}
        return dict(entry)
    if inspect.isclass(entry):
        return _described(entry.__name__, entry, _Schemas().whole(entry))
    if hasattr(entry, "model_dump"):
        # What clients and servers describe tools with: OpenAI's, MCP's, those of vLLM and SGLang.
        dumped = entry.model_dump(by_alias=True, exclude_none=True)
        return dict(dumped)
    if callable(entry):
        target = inspect.unwrap(getattr(entry, "func", entry))
        name = getattr(target, "__name__", type(target).__name__)
        return _described(name, target, _Schemas().function(name, target))
    kind = type(entry).__name__
    raise Error(
        "bad-tool",
        f"nothing can be made of a tool that is a {kind}",
        "give a dictionary, a pydantic model, a dataclass or an annotated function",
    )


def _described(name: str, thing: Any, parameters: dict[str, Any]) -> dict[str, Any]:
    parameters.pop("title", None)
    text = parameters.pop("description", None) or _summary(inspect.getdoc(thing) or "", thing)
    return {"name": name, "description": text, "parameters": parameters}


def _summary(text: str, thing: Any) -> str:
    """The first paragraph of a docstring, unless Python wrote it."""
    if dataclasses.is_dataclass(thing) and text.startswith(f"{getattr(thing, '__name__', '')}("):
        return ""
    return " ".join(text.split("\n\n")[0].split())


def _described_parameters(text: str) -> dict[str, str]:
    """What the section `Args:` of a docstring says of each parameter."""
    found: dict[str, str] = {}
    last = None
    lines = iter(text.splitlines())
    for line in lines:
        if line.strip() in ("Args:", "Arguments:", "Parameters:"):
            break
    for line in lines:
        if line.strip() and not line.startswith(" "):
            break
        name, colon, rest = line.strip().partition(":")
        name = name.split("(")[0].strip()
        if colon and name.isidentifier() and line.startswith("    ") and not line.startswith("     "):
            found[name], last = rest.strip(), name
        elif last and line.strip():
            found[last] += " " + line.strip()
    return found


class _Schemas:
    """The schemas of types, with those that are named gathered under `$defs`."""

    def __init__(self) -> None:
        self.defs: dict[str, dict[str, Any]] = {}
        self.names: dict[Any, str] = {}

    def whole(self, kind: type) -> dict[str, Any]:
        """The schema of a type of its own."""
        if hasattr(kind, "model_json_schema"):
            return dict(kind.model_json_schema())
        fields = self._fields(kind)
        if fields is None:
            raise _unknown(kind, kind.__name__)
        return self._closed(fields)

    def function(self, name: str, function: Any) -> dict[str, Any]:
        """The schema of a function's parameters."""
        try:
            signature = inspect.signature(function)
            hints = typing.get_type_hints(function, include_extras=True)
        except (ValueError, TypeError, NameError) as error:
            help = "annotate them with types that are defined at the top of their module"
            raise Error("bad-tool", f"the parameters cannot be read: {error}", help, tool=name) from error
        said = _described_parameters(inspect.getdoc(function) or "")
        properties: dict[str, Any] = {}
        required = []
        closed = True
        for parameter in signature.parameters.values():
            if parameter.kind is parameter.VAR_KEYWORD:
                closed = False
                continue
            if parameter.kind in (parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
                help = "give parameters that can be passed by name"
                raise Error("bad-tool", f"`{parameter.name}` of `{name}` has no name to a caller", help, tool=name)
            if parameter.name in ("self", "cls") and parameter.annotation is parameter.empty:
                continue
            schema = self.of(hints.get(parameter.name, parameter.empty), parameter.name)
            if parameter.name in said:
                schema.setdefault("description", said[parameter.name])
            if parameter.default is parameter.empty:
                required.append(parameter.name)
            properties[parameter.name] = schema
        return self._closed((properties, required), closed)

    def _closed(self, fields: tuple[dict[str, Any], list[str]], closed: bool = True) -> dict[str, Any]:
        schema: dict[str, Any] = {"type": "object", "properties": fields[0], "required": fields[1]}
        if closed:
            schema["additionalProperties"] = False
        if self.defs:
            schema["$defs"] = self.defs
        return schema

    def _fields(self, kind: Any) -> tuple[dict[str, Any], list[str]] | None:
        """The members of a dataclass, a `TypedDict` or a named tuple."""
        if dataclasses.is_dataclass(kind):
            missing = dataclasses.MISSING
            names = [field.name for field in dataclasses.fields(kind) if field.init]
            required = [f.name for f in dataclasses.fields(kind) if f.init and f.default is missing and f.default_factory is missing]
        elif typing.is_typeddict(kind):
            names, required = list(kind.__annotations__), sorted(kind.__required_keys__)
            required = [name for name in names if name in required]
        elif inspect.isclass(kind) and issubclass(kind, tuple) and hasattr(kind, "_fields"):
            names = list(kind._fields)
            required = [name for name in names if name not in getattr(kind, "_field_defaults", {})]
        else:
            return None
        hints = typing.get_type_hints(kind, include_extras=True)
        return {name: self.of(hints.get(name, Any), name) for name in names}, required

    def _named(self, kind: Any) -> dict[str, Any]:
        """A reference to the schema of a type with members, which may contain itself."""
        if kind not in self.names:
            name = kind.__name__
            while name in self.defs:
                name += "_"
            self.names[kind] = name
            self.defs[name] = {}
            if hasattr(kind, "model_json_schema"):
                schema = dict(kind.model_json_schema(ref_template="#/$defs/{model}"))
                self.defs.update({key: value for key, value in schema.pop("$defs", {}).items() if key != name})
                self.defs[name] = schema
            else:
                properties, required = self._fields(kind) or ({}, [])
                self.defs[name] = {"type": "object", "properties": properties, "required": required, "additionalProperties": False}
        return {"$ref": f"#/$defs/{self.names[kind]}"}

    def of(self, kind: Any, place: str) -> dict[str, Any]:
        """The schema of an annotation."""
        try:
            if kind in _PLAIN:
                return dict(_PLAIN[kind])
        except TypeError:
            pass
        origin, arguments = typing.get_origin(kind), typing.get_args(kind)
        if origin is typing.Annotated:
            schema = self.of(arguments[0], place)
            for note in arguments[1:]:
                text = note if isinstance(note, str) else getattr(note, "description", None)
                if isinstance(text, str):
                    schema["description"] = text
            return schema
        if origin in (typing.Required, typing.NotRequired) if hasattr(typing, "Required") else False:
            return self.of(arguments[0], place)
        if origin is typing.Literal:
            return {"enum": [value.value if isinstance(value, enum.Enum) else value for value in arguments]}
        if origin in (typing.Union, types.UnionType):
            return {"anyOf": [self.of(each, place) for each in arguments]}
        if origin is tuple and arguments and arguments[-1] is not Ellipsis:
            parts = [self.of(each, place) for each in arguments]
            return {"type": "array", "prefixItems": parts, "minItems": len(parts), "maxItems": len(parts)}
        if origin in _LISTS or kind in _LISTS:
            items = self.of(arguments[0], place) if arguments else {}
            unique = {"uniqueItems": True} if (origin or kind) in (set, frozenset) else {}
            return {"type": "array", "items": items, **unique}
        if origin in _MAPPINGS or kind in _MAPPINGS:
            value = self.of(arguments[1], place) if len(arguments) == 2 else {}
            return {"type": "object", "additionalProperties": value or True}
        if inspect.isclass(kind) and issubclass(kind, enum.Enum):
            return {"enum": [member.value for member in kind]}
        if hasattr(kind, "model_json_schema") or dataclasses.is_dataclass(kind) or typing.is_typeddict(kind):
            return self._named(kind)
        if hasattr(kind, "__supertype__"):
            return self.of(kind.__supertype__, place)
        raise _unknown(kind, place)


def _unknown(kind: Any, place: str) -> Error:
    name = getattr(kind, "__name__", repr(kind))
    help = "use str, int, float, bool, list, dict, Literal, an Enum, a dataclass, a TypedDict or a pydantic model"
    return Error("bad-tool", f"no schema can be made of the type `{name}` of `{place}`", help)


def arguments_as(call: Any, model: Any) -> Any:
    """The arguments of a call as an instance of a type."""
    if hasattr(model, "model_validate_json"):
        return model.model_validate_json(call.arguments_json)
    if not callable(model) and not typing.is_typeddict(model):
        raise TypeError(f"a model must be a pydantic model, a dataclass or a callable, not {type(model).__name__}")
    return _instance(model, call.arguments)


def _instance(kind: Any, value: Any) -> Any:
    """A value as an instance of a type with members, members included."""
    origin, arguments = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return _instance(arguments[0], value)
    if origin in (typing.Union, types.UnionType):
        fitting = [each for each in arguments if dataclasses.is_dataclass(each) and isinstance(value, dict)]
        return _instance(fitting[0], value) if len(fitting) == 1 else value
    if origin is list and isinstance(value, list) and arguments:
        return [_instance(arguments[0], each) for each in value]
    if origin is dict and isinstance(value, dict) and len(arguments) == 2:
        return {key: _instance(arguments[1], each) for key, each in value.items()}
    if dataclasses.is_dataclass(kind) and isinstance(kind, type) and isinstance(value, dict):
        hints = typing.get_type_hints(kind, include_extras=True)
        return kind(**{key: _instance(hints.get(key, Any), each) for key, each in value.items()})
    if inspect.isclass(kind) and issubclass(kind, enum.Enum):
        return kind(value)
    if hasattr(kind, "model_validate"):
        return kind.model_validate(value)
    if isinstance(value, dict) and kind is not dict and callable(kind) and origin is None and not typing.is_typeddict(kind):
        return kind(**value) if kind not in (Any, object) else value
    return value
