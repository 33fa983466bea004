"""Errors for arguments of a wrong type, and the conversion of configs to JSON."""

from __future__ import annotations

import functools
import inspect
import json
import re
from collections.abc import Callable
from typing import Any, SupportsFloat, SupportsIndex, TypeVar, cast

import numpy as np

_Function = TypeVar("_Function", bound=Callable[..., Any])

# For each annotation that `checked` checks: the type that the C++ module accepts, and the description in errors.
_TYPES = {"int": (SupportsIndex, "an integer"), "float": (SupportsFloat, "a number"),
          "bool": (bool, "True or False"), "str": (str, "a str")}


def checked(function: _Function) -> _Function:
    """A decorator: each call raises a TypeError if an argument does not have the type of its annotation.

    Only the annotations int, float, bool and str are checked, and Union[…, None] of one of these."""
    signature = inspect.signature(function)

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            arguments = signature.bind(*args, **options).arguments
        except TypeError:
            arguments = {}  # the call below raises an error that says which argument is missing or unknown
        for name, value in arguments.items():
            parameter = signature.parameters[name]
            if parameter.kind is inspect.Parameter.VAR_KEYWORD:  # options such as momentum=0.9
                for option, number in value.items():
                    _check(option, number, parameter.annotation)
            else:
                _check(name, value, parameter.annotation)
        return function(*args, **options)

    return cast(_Function, call)


def _check(name: str, value: Any, annotation: Any) -> None:
    annotation = str(annotation)
    kind = annotation.removeprefix("Union[").removesuffix(", None]")
    if kind not in _TYPES or (value is None and kind != annotation):
        return
    wanted, description = _TYPES[kind]
    if not isinstance(value, wanted):
        raise TypeError(f"{name}: expected {description}, got {value!r}")


# The error of nanobind for a function with one signature. Groups: the function, its parameters, and the given types.
_NANOBIND_ERROR = re.compile(r"(\w+)\(\): incompatible function arguments\. The following argument types are supported:"
                             r"\n    1\. \w+\((.*)\)(?: -> .*)?\n\nInvoked with types: (.*)")


def with_short_errors(function: _Function) -> _Function:
    """The same function of the C++ module, but its errors for wrong argument types are one sentence."""

    @functools.wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        try:
            return function(*args, **options)
        except TypeError as error:
            match = _NANOBIND_ERROR.fullmatch(str(error).rstrip())
            if match is None:
                raise
            name, parameters, types = match.groups()
            raise TypeError(f"{name}: expected the arguments ({parameters}), got ({types})") from None

    return cast(_Function, call)


def config_json(config: dict[str, Any]) -> str:
    """The options of an architecture as JSON. Numbers may be numpy's."""
    return json.dumps(config, default=_plain_number)


def _plain_number(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"config: expected numbers, texts and lists, got {value!r}")
