"""Workload mixes that commands select by name, at any size."""

from __future__ import annotations

from collections.abc import Callable

from cbnet.errors import InputError
from cbnet_lab.workload.equality import equality
from cbnet_lab.workload.forwarding_2001 import Forwarding2001
from cbnet_lab.workload.forwarding_2002 import Forwarding2002
from cbnet_lab.workload.scenario import WorkloadParameters


def _2001(*, M: int, F: int, I: int | None, seed: int) -> Forwarding2001:  # noqa: E741, N803
    return Forwarding2001(N=M, F=F, I=I, seed=seed)


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
