"""Seeds: with which number does randomness begin? The option of all commands that draw."""

from __future__ import annotations

from typing import Any

import typer

from cbnet.errors import InputError


def seed_option(help: str) -> Any:
    """Return the option `--seed`, which takes whole numbers from 0 on."""
    return typer.Option("--seed", help=help, callback=_checked)


def _checked(seed: int) -> int:
    if seed < 0:
        raise InputError(f"--seed must be an integer of at least 0, not {seed}")
    return seed
