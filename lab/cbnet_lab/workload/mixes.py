"""Workload mixes that commands select by name, at any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from cbnet.errors import InputError
from cbnet.language.constraint import Op
from cbnet_lab.workload.forwarding_2001 import Forwarding2001
from cbnet_lab.workload.forwarding_2002 import Forwarding2002
from cbnet_lab.workload.scenario import WorkloadParameters

_ONLY_EQUAL = ((Op.EQ, 100.0),)


def _2001(*, M: int, F: int, I: int | None, seed: int) -> Forwarding2001:  # noqa: E741, N803
    return Forwarding2001(N=M, F=F, I=I, seed=seed)


def equality(**parameters: Any) -> Forwarding2002:
    """Return the parameters of [2002 §5.1] with `=` as the only operator, as in most brokers; not from the papers."""
    return Forwarding2002(D_os=_ONLY_EQUAL, D_oi=_ONLY_EQUAL, **parameters)


MIXES: dict[str, Callable[..., WorkloadParameters]] = {
    "2002": Forwarding2002,
    "2001": _2001,
    "equality": equality,
}


def mix(
    name: str, *, filters: int = 10_000, interfaces: int | None = None, messages: int = 100, seed: int = 0
) -> WorkloadParameters:
    """Return the parameters of a mix at this size, with everything else as in its paper.

    If `interfaces` is None, each filter has its own interface: the papers' centralised case, I = F.
    """
    if name not in MIXES:
        raise InputError(f"unknown mix {name!r}", hint=f"use one of {', '.join(MIXES)}")
    return MIXES[name](M=messages, F=filters, I=interfaces, seed=seed)
