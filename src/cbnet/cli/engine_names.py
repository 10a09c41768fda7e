"""Engine names: which engines can a command be given?"""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.errors import InputError


def checked_engines(names: Iterable[str] | None) -> list[str]:
    """Return the engines of these names, each once; all if none is named. Asked before a long build."""
    from cbnet.matching.engines import ENGINES

    chosen = list(dict.fromkeys(names or ENGINES))
    for name in chosen:
        if name not in ENGINES:
            raise InputError(f"unknown engine {name!r}", hint="use one of " + ", ".join(ENGINES))
    return chosen
