"""The equality workload: filters that compare with `=` only, as in most brokers.

As [2002 §5.1], with `=` as the only operator. Not from the papers.
"""

from __future__ import annotations

from typing import Any

from cbnet.language.constraint import Op
from cbnet_lab.workload.forwarding_2002 import Forwarding2002

_ONLY_EQUAL = ((Op.EQ, 100.0),)


def equality(**parameters: Any) -> Forwarding2002:
    """Return the parameters of the mix; D_os and D_oi are fixed."""
    return Forwarding2002(D_os=_ONLY_EQUAL, D_oi=_ONLY_EQUAL, **parameters)
