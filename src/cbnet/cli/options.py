"""Options of commands: their declaration, and those that several commands share.

An option is declared once, as the default of a parameter of a command, or of a field of a dataclass that it takes:

    @dataclass(frozen=True)
    class Stages:
        start: list[str] | None = option(None, "STAGE", "Run this stage and all that depend on it.", name="--from")

    def run(config: Path = CONFIG, *, stages: Stages, json: bool = JSON) -> None: ...
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from pathlib import Path
from shlex import quote
from typing import Annotated, Any, Final, get_origin, get_type_hints

import typer

from cbnet.cli.console import print_note, printable
from cbnet.errors import InputError

_DECLARATION: Final = "option"  # key of the metadata of a field


@dataclass(frozen=True)
class _Declaration:
    """An option of a command, or an operand."""

    default: Any  # as it is written on a command line; `...`: required
    name: str | None  # several are separated by blanks; empty: an operand; None: from the name of the parameter
    raw: Any  # type on the command line; None: a text if it is parsed, else the type of the parameter
    parse: Callable[[str, Any], Any] | None  # called with the name of the option and its raw value
    settings: dict[str, Any]  # other arguments of `typer.Option`

    def names(self, parameter: str) -> list[str]:
        """Return the names of the option."""
        return [f"--{parameter.replace('_', '-')}"] if self.name is None else self.name.split()

    def parameter(self, name: str, hint: Any) -> Parameter:
        """Return the parameter for Typer."""
        kind = self.raw or (hint if self.parse is None else str)
        default = Parameter.empty if self.default is ... else self.default
        if get_origin(kind) is tuple:  # several values
            kind, default = (list[str], default) if self.default is ... else (list[str] | None, None)
        about = (typer.Argument if self.name == "" else typer.Option)(*self.names(name), **self.settings)
        return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, about])

    def value(self, name: str, hint: Any, given: Any) -> Any:
        """Return the value of the parameter for what is given on the command line."""
        if self.parse is not None:
            return self.parse(self.names(name)[0], given)
        return tuple(given) if get_origin(hint) is tuple else given


def option(
    default: Any, metavar: str, help: str, *, name: str | None = None, shown: str | bool = True,
    panel: str | None = None, least: float | None = None, most: float | None = None, raw: Any = None,
    parse: Callable[[str, Any], Any] | None = None, **more: Any,
) -> Any:  # fmt: skip
    """Return the declaration of an option.

    shown: its default in the help, or whether to show it. more: other arguments of `typer.Option`. For the rest see
    `_Declaration`.
    """
    limits = {key: limit for key, limit in (("min", least), ("max", most)) if limit is not None}
    settings = {"metavar": metavar or None, "help": help or None, "show_default": shown, "rich_help_panel": panel}
    metadata = {_DECLARATION: _Declaration(default, name, raw, parse, settings | limits | more)}
    if default is ...:
        return field(metadata=metadata)
    if parse is None or default is None:
        return field(default=default, metadata=metadata)
    return field(default_factory=lambda: parse(name or "", default), metadata=metadata)


def flag(help: str, *, default: bool | None = False, **more: Any) -> Any:
    """Return the declaration of an option without a value."""
    return option(default, "", help, **more)


def argument(default: Any, metavar: str, help: str = "", **more: Any) -> Any:
    """Return the declaration of an operand."""
    return option(default, metavar, help, name="", **more)


def with_options(command: Callable[..., None]) -> Callable[..., None]:
    """Return a command for Typer, with the options that its parameters and the fields of their dataclasses declare."""
    own: list[str] = []
    plans: dict[str, Any] = {}
    options: dict[str, tuple[_Declaration, Any]] = {}  # with the types of their values
    for each in signature(command, eval_str=True).parameters.values():
        if is_dataclass(each.annotation):
            plans[each.name], hints = each.annotation, get_type_hints(each.annotation)
            options |= {of.name: (of.metadata[_DECLARATION], hints[of.name]) for of in fields(each.annotation)}
        else:
            own.append(each.name)
            options[each.name] = (each.default.metadata[_DECLARATION], each.annotation)

    @wraps(command)
    def run(**given: Any) -> None:
        values: dict[str, Any] = dict.fromkeys(own)
        for name, value in given.items():
            if value is not None and value != []:
                declaration, hint = options[name]
                values[name] = declaration.value(name, hint, value)
        for name, plan in plans.items():
            values[name] = plan(**{of.name: values.pop(of.name) for of in fields(plan) if of.name in values})
        command(**values)

    parameters = [declaration.parameter(name, hint) for name, (declaration, hint) in options.items()]
    run.__signature__ = Signature(parameters)  # type: ignore[attr-defined]
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


STRICT = flag("Refuse rules that do not fit the columns, in place of a warning.")
JSON = flag("Print JSON Lines, errors included.", name="--json -j")
CONFIRM = option(
    None, "NAME", "Name of what is changed, as a confirmation; repeatable.", name="--confirm", shown="asked for"
)
RULES = option(..., "FILE", "Rule file (.toml, .jsonl, .parquet) or compiled table (.cbt).", name="--rules -r")
DIALECT = option(
    "cbnet", "NAME", "Language of the rules: cbnet, eventbridge, cloudevents, cesql or selector.", name="--dialect -d"
)
SCHEME = option(
    None, "NAME", "multitree: trees shared by all sources; pif: a tree for each source, for small networks.",
    shown="multitree",
)  # fmt: skip
TREES = option(None, "K", "Number of trees of the scheme multitree.", shown="1", least=1, most=64)
COMMIT = option(
    None, "UNIT", "What chooses one of several trees: each publisher (its messages stay in order) or each message.",
    shown="publisher",
)  # fmt: skip
GRAPH = "Graph file, or a generator such as powerlaw:200."

_LIMITS = {  # of a durable subscription: metavar and help
    "--max-messages": ("N", "Maximum number of messages kept; 0: no limit."),
    "--max-bytes": ("N", "Maximum number of bytes kept; 0: no limit."),
    "--max-age": ("S", "Maximum age of a message kept, in seconds; 0: no limit."),
    "--max-deliveries": ("N", "Maximum number of deliveries of a message; 0: no limit."),
}


def output_option(default: Any, help: str, metavar: str = "FOLDER", *, shown: bool = False) -> Any:
    """Return the option `--output`."""
    return option(default, metavar, help, name="--output -o", shown=shown)


def timeout_option(default: float, help: str) -> Any:
    """Return the option `--timeout`."""
    return option(default, "S", help, least=0.001)


def count_option(default: int | None, help: str) -> Any:
    """Return the option `--count`."""
    return option(default, "N", help, name="--count -n", least=1)


def limit_option(name: str, *, default: str, panel: str | None = None) -> Any:
    """Return the option of a limit of a durable subscription; default: its meaning if it is left out."""
    return option(None, *_LIMITS[name], name=name, shown=default, panel=panel, least=0)


def dead_letter_option(default: str, panel: str | None = None) -> Any:
    """Return the option of the durable subscription for messages that are delivered too often."""
    help = "Durable subscription for the messages that exceed --max-deliveries; else they are lost."
    return option(None, "NAME", help, shown=default, panel=panel)


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


def key_values(option: str, texts: Sequence[str] | None) -> dict[str, str]:
    """Return the pairs of a repeated KEY=VALUE option."""
    pairs = {}
    for text in texts or ():
        key, equals, value = text.partition("=")
        if not equals or not key:
            raise InputError(f"{option}: {text!r} is not KEY=VALUE", hint=f"write {option} key=value")
        pairs[key.strip()] = value
    return pairs
