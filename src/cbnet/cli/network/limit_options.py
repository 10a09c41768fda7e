"""Options for the limits of a durable subscription."""

from __future__ import annotations

from typing import Any, Final

import typer

_HELP: Final = {
    "--max-messages": ("N", "Maximum number of messages kept; 0: no limit."),
    "--max-bytes": ("N", "Maximum number of bytes kept; 0: no limit."),
    "--max-age": ("S", "Maximum age of a message kept, in seconds; 0: no limit."),
}


def limit_option(name: str, *, default: str, panel: str | None = None) -> Any:
    """Return the option of a limit; default: its meaning if it is left out."""
    metavar, help = _HELP[name]
    return typer.Option(name, metavar=metavar, min=0, help=help, show_default=default, rich_help_panel=panel)
