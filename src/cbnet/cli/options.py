"""Options that several commands share, and the option names of earlier versions."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection
from dataclasses import fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, get_type_hints

import typer

from cbnet.cli.console import print_note, printable
from cbnet.errors import InputError


def option(
    names: str, metavar: str, help: str, *, shown: str | bool = True, panel: str | None = None, **more: Any
) -> Any:
    """Return an option with a value; names: separated by blanks. shown: its default in the help, or whether to show it.

    more: the other arguments of `typer.Option`.
    """
    return typer.Option(
        *names.split(), metavar=metavar or None, help=help, show_default=shown, rich_help_panel=panel, **more
    )


def flag(names: str, help: str, *, shown: str | bool = True, panel: str | None = None) -> Any:
    """Return an option without a value."""
    return option(names, "", help, shown=shown, panel=panel)


def argument(metavar: str, help: str = "", *, shown: bool = True) -> Any:
    """Return an operand; shown: whether to show its default in the help."""
    return typer.Argument(metavar=metavar or None, help=help or None, show_default=shown)


Json = Annotated[bool, flag("--json -j", "Print JSON Lines, errors included.")]
Confirm = Annotated[
    list[str] | None,
    option("--confirm", "NAME", "Name of what is changed, as a confirmation; repeatable.", shown="asked for"),
]
Rules = Annotated[Path, option("--rules -r", "FILE", "Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt).")]
Dialect = Annotated[
    str, option("--dialect -d", "NAME", "Language of the rules: cbnet, eventbridge, cloudevents, cesql or selector.")
]
Scheme = Annotated[
    str | None,
    option(
        "--scheme", "NAME",
        "multitree: trees shared by all sources; pif: a tree for each source, for small networks.", shown="multitree",
    ),
]  # fmt: skip
Trees = Annotated[
    int | None, option("--trees", "K", "Number of trees of the scheme multitree.", shown="1", min=1, max=64)
]
Commit = Annotated[
    str | None,
    option(
        "--commit", "UNIT", "What takes one of several trees: publisher (its messages stay in order) or message.",
        shown="publisher",
    ),
]  # fmt: skip
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

_LIMITS = {  # of a durable subscription: metavar and help
    "--max-messages": ("N", "Maximum number of messages kept; 0: no limit."),
    "--max-bytes": ("N", "Maximum number of bytes kept; 0: no limit."),
    "--max-age": ("S", "Maximum age of a message kept, in seconds; 0: no limit."),
    "--max-deliveries": ("N", "Maximum number of deliveries of a message; 0: no limit."),
}


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Replace each parameter of a command that is a dataclass by an option for each of its fields.

    The fields are annotated as the parameters of commands are; the command gets an instance.
    """
    own = signature(command, eval_str=True).parameters.values()
    groups: dict[str, Any] = {each.name: each.annotation for each in own if is_dataclass(each.annotation)}

    @wraps(command)
    def run(**arguments: Any) -> None:
        for name, group in groups.items():
            arguments[name] = group(**{each.name: arguments.pop(each.name) for each in fields(group)})
        command(**arguments)

    parameters: list[Parameter] = []
    for each in own:
        parameters += _parameters(groups[each.name]) if each.name in groups else [each]
    ordered = [each.replace(kind=Parameter.KEYWORD_ONLY) for each in parameters]
    run.__signature__ = Signature(ordered)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in ordered}
    return run


def _parameters(group: Any) -> list[Parameter]:
    hints = get_type_hints(group, include_extras=True)
    return [
        Parameter(each.name, Parameter.KEYWORD_ONLY, default=each.default, annotation=hints[each.name])
        for each in fields(group)
    ]


def output_option(help: str, metavar: str = "FOLDER", shown: bool = False) -> Any:
    """Return the option `--output`."""
    return option("--output -o", metavar, help, shown=shown)


def timeout_option(help: str) -> Any:
    """Return the option `--timeout`."""
    return option("--timeout", "S", help, min=0.001)


def count_option(help: str) -> Any:
    """Return the option `--count`."""
    return option("--count -n", "N", help, min=1)


def limit_option(name: str, *, default: str, panel: str | None = None) -> Any:
    """Return the option of a limit of a durable subscription; default: its meaning if it is left out."""
    metavar, help = _LIMITS[name]
    return option(name, metavar, help, shown=default, panel=panel, min=0)


def dead_letter_option(default: str, panel: str | None = None) -> Any:
    """Return the option of the durable subscription for messages that are delivered too often."""
    help = "Durable subscription for the messages that exceed --max-deliveries; else they are lost."
    return option("--dead-letter", "NAME", help, shown=default, panel=panel)


def confirm(name: str, effect: str, confirmed: Collection[str] | None) -> None:
    """Raise an `InputError` unless the user confirms a change by the name of what it changes; ask if no option does."""
    if not confirmed:
        print_note(f"{printable(effect)}\ntype the name {printable(name)} to confirm:")
        confirmed = [sys.stdin.readline().rstrip("\r\n")]
    if name not in confirmed:
        raise InputError(f"not confirmed, so {name!r} was not changed", hint=f"confirm with --confirm {quote(name)}")


def text_or_file(option: str, value: str) -> bytes:
    """Return the bytes of an option's value: `@FILE` is the content of a file, `@@TEXT` is `@TEXT`."""
    if not value.startswith("@") or value.startswith("@@"):
        return value.removeprefix("@").encode("utf-8", "surrogateescape")
    try:
        return Path(value[1:]).read_bytes()
    except OSError as error:
        hint = f"write {option} @{value} for a text that starts with @"
        raise InputError(f"cannot read: {error.strerror}", hint=hint, file=value[1:]) from None
