"""Options that several commands share, and the option names of earlier versions."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import typer

from cbnet.errors import InputError

Json = Annotated[bool, typer.Option("--json", "-j", help="Print JSON Lines, errors included.")]
Rules = Annotated[
    Path,
    typer.Option(
        "--rules",
        "-r",
        metavar="FILE",
        help="Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt).",
        show_default=False,
    ),
]
Dialect = Annotated[
    str,
    typer.Option(
        "--dialect",
        "-d",
        metavar="NAME",
        help="Language of the rules: cbnet, eventbridge, cloudevents, cesql or selector.",
    ),
]
Largest = Annotated[bool, typer.Option("--largest", help="Use the largest component of a disconnected graph.")]
Scheme = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        metavar="NAME",
        help="multitree: trees shared by all sources; pif: a tree for each source, for small networks.",
        show_default="multitree",
    ),
]
Trees = Annotated[
    int | None,
    typer.Option(
        "--trees", metavar="K", min=1, max=64, help="Number of trees of the scheme multitree.", show_default="1"
    ),
]
Commit = Annotated[
    str | None,
    typer.Option(
        "--commit",
        metavar="UNIT",
        help="What takes one of several trees: publisher (its messages stay in order) or message.",
        show_default="publisher",
    ),
]
RULES_BY_NODE: Any = typer.Option(
    "--rules",
    "-r",
    metavar="FILE",
    help="Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt); each rule is named by a node.",
    show_default=False,
)
GRAPH = "Graph file, or a generator such as powerlaw:200."

# Names of version 0.1, and what replaces them.
MOVED_COMMANDS = {
    name: f"lab {name}" for name in ("topology", "trees", "fib", "alpha", "simulate", "reproduce", "report")
}
RENAMED_OPTIONS = {  # an option, or the only command in which it is another one and that option
    "--out": "--output",
    "--table": "--rules",
    "--predicates": "--rules",
    "--network-name": "--network",
    "--tls-authority": "--authority",
    "--loaded": "--initial",
    "cbnet match --messages": "MESSAGES",
    "cbnet spark match --messages": "MESSAGES",
    "cbnet spark stream --messages": "MESSAGES",
    "cbnet spark match --key": "--select",
    "cbnet spark stream --key": "--select",
    "cbnet lab fib --router": "--node",
    "cbnet lab alpha --most": "--max-predicates",
    "cbnet bench network --predicates": "--mix",
    "cbnet bench network --payload": "--payload-bytes",
}


def output_option(help: str, metavar: str = "FOLDER", show_default: bool | str = False) -> Any:
    """Return the option `--output`."""
    return typer.Option("--output", "-o", metavar=metavar, help=help, show_default=show_default)


def topology_option(help: str = GRAPH, show_default: bool | str = False) -> Any:
    """Return the option `--topology`."""
    return typer.Option("--topology", "-t", metavar="GRAPH", help=help, show_default=show_default)


def seed_option(help: str = "Seed of the random generator.") -> Any:
    """Return the option `--seed`, a whole number of at least 0."""
    return typer.Option("--seed", metavar="N", help=help, callback=_checked_seed)


def _checked_seed(seed: int) -> int:
    if seed < 0:
        raise InputError(f"--seed must be an integer of at least 0, not {seed}")
    return seed


def text_or_file(option: str, value: str) -> bytes:
    """Return the bytes of an option's value: `@FILE` is the content of a file, `@@TEXT` is `@TEXT`."""
    if not value.startswith("@") or value.startswith("@@"):
        return value.removeprefix("@").encode("utf-8", "surrogateescape")
    try:
        return Path(value[1:]).read_bytes()
    except OSError as error:
        hint = f"write {option} @{value} for a text that starts with @"
        raise InputError(f"cannot read: {error.strerror}", hint=hint, file=value[1:]) from None
