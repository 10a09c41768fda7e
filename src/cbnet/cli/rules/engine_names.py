"""Checks of engine names in options."""

from __future__ import annotations

from collections.abc import Iterable

from cbnet.errors import InputError


def checked_engine(name: str) -> str:
    """Return the name of any engine, checked before a long build."""
    from cbnet.matching.engines.registry import engine

    engine(name)
    return name


def checked_engines(names: Iterable[str] | None) -> list[str]:
    """Return the engines of these names, each once, or all; only engines that support all filters."""
    from cbnet.matching.engines.registry import ENGINES

    chosen = list(dict.fromkeys(names or ENGINES))
    for name in chosen:
        if name not in ENGINES:
            raise InputError(f"unknown engine {name!r}", hint="use one of " + ", ".join(ENGINES))
    return chosen
