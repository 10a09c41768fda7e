"""Settings of a workload by the names of its paper, such as `f_h=100`, `zipf=0.8` or `AN=3,10`."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any, cast

from cbnet.errors import InputError
from cbnet_lab.workload.scenario import WorkloadParameters

_PER_INTERFACE = {"f_l", "f_h"}  # [2002 §5.1] draws the filters of an interface from [f_l, f_h)
_OPERATORS = ("DO", "D_os", "D_oi")  # shares by operator are no plain numbers
_SEED = "seed"  # has an option of its own


def with_settings(parameters: WorkloadParameters, texts: Sequence[str]) -> WorkloadParameters:
    """Return the parameters with settings of the form NAME=VALUE; f_l or f_h replace the fixed number of filters."""
    changes = dict(_parse(text, parameters) for text in texts)
    if changes.keys() & _PER_INTERFACE:
        changes.setdefault("F", None)
    return cast("WorkloadParameters", replace(cast("Any", parameters), **changes))


def setting_names(parameters: WorkloadParameters) -> list[str]:
    """Return the names that can be set."""
    return [field.name for field in fields(cast("Any", parameters)) if field.name not in (*_OPERATORS, _SEED)]


def _parse(text: str, parameters: WorkloadParameters) -> tuple[str, Any]:
    name, is_there, value = text.partition("=")
    names = setting_names(parameters)
    if not is_there or name not in names:
        raise InputError(f"{text!r} sets no parameter of this mix", hint=f"use NAME=VALUE with {', '.join(names)}")
    present = getattr(parameters, name)
    try:
        return name, _value(name, value, present)
    except ValueError:
        form = "numbers, such as 3,10" if isinstance(present, tuple) else "a number"
        raise InputError(f"{text!r}: {name} takes {form}") from None


def _value(name: str, text: str, present: object) -> Any:
    """Return a value of the type of the present one; a parameter that is None is a number of something."""
    if name == "dictionary":
        return Path(text)
    if isinstance(present, tuple):
        values = tuple(_numbers(text.split(","), type(present[0])))
        if len(values) != len(present):
            raise ValueError
        return values
    return float(text) if isinstance(present, float) else int(text)


def _numbers(texts: Iterable[str], kind: type) -> Iterable[int | float]:
    return (int(text) if kind is int else float(text) for text in texts)
