"""Errors for arguments of a wrong type, and the conversion of configs to JSON."""

from __future__ import annotations

import functools
import inspect
import json
import os
import re
import sys
import types
from collections.abc import Callable, Iterable, Mapping
from typing import Any, NamedTuple, SupportsFloat, SupportsIndex, TypeVar, Union, cast, get_args, get_origin

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])

# For each type that an annotation may contain: the types that are accepted, and the description in errors.
_TYPES: dict[Any, tuple[Any, str]] = {
    int: (SupportsIndex, "an integer"), float: (SupportsFloat, "a number"), bool: (bool, "True or False"),
    str: (str, "a str"), type(None): (type(None), "None"), os.PathLike: (os.PathLike, "a path"),
    tuple: (tuple, "a tuple"), list: (list, "a list"), Iterable: (Iterable, "a list"), Mapping: (Mapping, "a dict"),
    Callable: (Callable, "a function")}


class _Check(NamedTuple):
    """What a parameter accepts."""

    types: tuple[Any, ...]
    description: str

    def __call__(self, name: str, value: Any) -> None:
        if not isinstance(value, self.types):
            raise TypeError(f"{name}: expected {self.description}, got {value!r}")


def _check_of(annotation: Any, scope: dict[str, Any]) -> Union[_Check, None]:
    """The check for an annotation, or None if it accepts any value. scope: the names that the annotation may use."""
    hint = eval(annotation, scope) if isinstance(annotation, str) else annotation
    is_union = get_origin(hint) in (Union, getattr(types, "UnionType", Union))  # types.UnionType is int | None
    members = get_args(hint) if is_union else (hint,)
    if Any in members or hint is inspect.Parameter.empty:
        return None
    kinds = [get_origin(member) or member for member in members]
    if unknown := [kind for kind in kinds if kind not in _TYPES]:
        raise TypeError(f"expected an annotation of types that can be checked, got {unknown[0]!r}")
    accepted, descriptions = zip(*(_TYPES[kind] for kind in kinds))
    return _Check(accepted, " or ".join(descriptions))


# The error of nanobind for a function with one signature. Groups: the function, its parameters, and the given types.
_NANOBIND_ERROR = re.compile(r"(\w+)\(\): incompatible function arguments\. The following argument types are supported:"
                             r"\n    1\. \w+\((.*)\)(?: -> .*)?\n\nInvoked with types: (.*)")


def checked(function: _Function) -> _Function:
    """A decorator: calls with an argument of a wrong type raise a TypeError of one sentence.

    For a Python function, each argument must have the type of its annotation. An annotation is Any, a key of _TYPES or
    a Union of these. The decorator itself raises a TypeError for all others. The C++ module checks the arguments of its
    own functions. The decorator shortens its errors, also if a Python function calls it."""
    is_python = isinstance(function, types.FunctionType)
    signature = inspect.signature(function) if is_python else inspect.Signature()
    checks = {parameter.name: check for parameter in signature.parameters.values()
              if (check := _check_of(parameter.annotation, getattr(function, "__globals__", {})))}

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        if checks:
            _check_all(signature, checks, args, options)
        try:
            return function(*args, **options)
        except TypeError as error:
            match = _NANOBIND_ERROR.fullmatch(str(error).rstrip())
            if match is None:
                raise
            name, parameters, given = match.groups()
            raise TypeError(f"{name}: expected the arguments ({parameters}), got ({given})") from None

    return cast(_Function, call)


def _check_all(signature: inspect.Signature, checks: dict[str, _Check], args: Any, options: Any) -> None:
    try:
        arguments = signature.bind(*args, **options).arguments
    except TypeError:
        return  # the function itself raises an error that says which argument is missing or unknown
    for name, check in checks.items():
        if signature.parameters[name].kind is inspect.Parameter.VAR_KEYWORD:
            for option, value in arguments.get(name, {}).items():  # options such as momentum=0.9
                check(option, value)
        elif name in arguments:
            check(name, arguments[name])


def caller_level() -> int:
    """The stacklevel of warnings.warn, called by the caller of this function, for the program's line that called weft.

    It is the first line outside the package weft."""
    level, frame = 1, sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__", "").partition(".")[0] == __package__:
        level, frame = level + 1, frame.f_back
    return level


def config_json(config: dict[str, Any]) -> str:
    """The options of an architecture as JSON. Numbers may be numpy's."""
    return json.dumps(config, default=_plain_number)


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"config: expected numbers, texts and lists, got {value!r}")
