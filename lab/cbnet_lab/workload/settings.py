"""Settings of a workload by the names of its paper, such as `f_h=100`, `zipf=0.8` or `AN=3,10`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, cast, get_type_hints

import msgspec

from cbnet.errors import InputError
from cbnet_lab.workload.scenario import WorkloadParameters

_PER_INTERFACE = {"f_l", "f_h"}  # [2002 §5.1] draws the filters of an interface from [f_l, f_h)
_NOT_SET = ("DO", "D_os", "D_oi", "seed")  # shares by operator are not plain numbers; the seed has its own option


def with_settings(parameters: WorkloadParameters, texts: Sequence[str]) -> WorkloadParameters:
    """Return the parameters with settings of the form NAME=VALUE; f_l or f_h replace the fixed number of filters."""
    changes = dict(_parse(text, parameters) for text in texts)
    if changes.keys() & _PER_INTERFACE:
        changes.setdefault("F", None)
    return cast("WorkloadParameters", replace(cast("Any", parameters), **changes))


def _parse(text: str, parameters: WorkloadParameters) -> tuple[str, Any]:
    """Return the name of a setting, and its value in the type of the parameter."""
    name, is_there, value = text.partition("=")
    types = {name: kind for name, kind in get_type_hints(type(parameters)).items() if name not in _NOT_SET}
    if not is_there or name not in types:
        raise InputError(f"{text!r} sets no parameter of this mix", hint=f"use NAME=VALUE with {', '.join(types)}")
    is_range = isinstance(getattr(parameters, name), tuple)
    try:
        parts = value.split(",") if is_range else value
        return name, msgspec.convert(parts, types[name], strict=False, dec_hook=lambda kind, path: kind(path))
    except msgspec.ValidationError:
        raise InputError(f"{text!r}: {name} takes {'numbers, such as 3,10' if is_range else 'a number'}") from None
