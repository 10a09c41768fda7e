"""Configuration of a router from options, the environment, a TOML file and defaults, in this order of precedence.

The keys are those of `Settings`, of the security policy and of `ProcessSettings`, and `listen` and `neighbours`.
`clients` and `public_keys` are tables in the file, or paths of files with such tables, which several routers can share.
A mistake in a file has a line number; if several keys cause it, that of the first.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Final, NamedTuple

from cbnet.errors import InputError
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, Address, parse_address
from cbnet.network.security.access import (
    SECURITY,
    SECURITY_FILES,
    SecurityPolicy,
    check_public,
    read_accounts,
    read_policy,
)
from cbnet.network.security.record_signatures import PUBLIC_KEYS, read_public_keys
from cbnet.network.transport.journals.journal_place import JournalPlace, is_database, journal_place, without_passwords
from cbnet.text_positions import Keys
from cbnet.toml_files import TomlDocument, check_keys, toml, toml_key

PREFIX = "CBNET_"
LOG_FORMATS: Final = ("text", "json")
LOG_LEVELS: Final = ("debug", "info", "warning", "error")
_MAX_DRAIN: Final = 3_600.0
_ORIGIN: Final = re.compile(r"https?://[^/\s?#*]+")
_CLIENT_VARIABLES = ("CBNET_ROUTER", "CBNET_TOKEN")  # allowed in the same environment
_SETTINGS: Final = vars(Settings("router"))  # the name has no default
_PROCESS: Final = {
    "http": "", "http_origins": (), "http_connections": 1_000,
    "log": "text", "log_level": "info", "drain": 5.0, "journal": "", "audit": "",
}  # fmt: skip
DEFAULTS: Final[Mapping[str, Any]] = (
    {"name": "", "network": "", "listen": DEFAULT_ADDRESS, "neighbours": {}}
    | _SETTINGS | SECURITY | _PROCESS | {"name": None}
)  # fmt: skip
_FILES: Final = (*SECURITY_FILES, "signing_key", "home_key", "journal", "audit")  # paths
# Tables that may be in a file of their own, with the functions that note the mistakes in them.
_SHARED: Final[Mapping[str, Callable[[TomlDocument, Keys], object]]] = {
    "clients": read_accounts, PUBLIC_KEYS: read_public_keys,
}  # fmt: skip
_TYPES: Final = {key: type(default) for key, default in DEFAULTS.items()} | {
    "name": str, "history": str, "routers": tuple, **dict.fromkeys(_SHARED, dict),
}  # fmt: skip
_TYPE_NAMES = {
    str: "a string", int: "a whole number", float: "a number", bool: "true or false", dict: "a table",
    tuple: "a list of names",
}  # fmt: skip


@dataclass(frozen=True)
class ProcessSettings:
    """Settings of a router's process that do not affect other routers."""

    http: Address | None = None  # of the HTTP server
    log: str = "text"  # format
    log_level: str = "info"  # the lowest
    drain: float = 0.0  # maximum duration of a graceful shutdown, in seconds; 0: stop at once
    journal: JournalPlace | None = None  # of durable subscriptions; without it there can be none
    audit: str = ""  # file to which refusals are appended
    http_origins: tuple[str, ...] = ()  # further origins whose web pages may use it
    http_connections: int = 1_000  # maximum number of concurrent clients, not counting health checks

    def __post_init__(self) -> None:
        for origin in self.http_origins:
            if not _ORIGIN.fullmatch(origin):
                hint = "write it as in https://example.org, without a path"
                raise InputError(f"http_origins: {origin!r} is not an origin", hint=hint)
        if self.http_connections < 1:
            raise InputError(f"invalid http_connections {self.http_connections}", hint="use 1 or more")
        for key, value, known in (("log", self.log, LOG_FORMATS), ("log_level", self.log_level, LOG_LEVELS)):
            if value not in known:
                raise InputError(f"unknown {key} {value!r}", hint="use one of " + ", ".join(known))
        if not 0 <= self.drain <= _MAX_DRAIN:
            raise InputError(f"invalid drain time {self.drain:g} s", hint=f"use 0 to {_MAX_DRAIN:,.0f}")


class ConfigValue(NamedTuple):
    """A value and its source."""

    value: Any
    source: str

    @property
    def shown(self) -> Any:
        """The value without passwords."""
        return without_passwords(self.value) if isinstance(self.value, str) else self.value


@dataclass(frozen=True)
class Configuration:
    """The validated configuration of a router."""

    settings: Settings
    listen: Address
    neighbours: dict[str, Address]
    security: SecurityPolicy
    process: ProcessSettings
    values: dict[str, ConfigValue]

    def lines(self) -> Iterator[str]:
        """Yield the configuration as TOML, each value with its source."""
        ordered = sorted(self.values.items(), key=lambda item: isinstance(item[1].value, dict))
        for key, each in ordered:
            value, source = each.shown, each.source
            if key == "clients" and isinstance(value, dict):
                for client, table in value.items():
                    yield from _table(f"clients.{toml_key(client)}", table, source)
            elif isinstance(value, dict):
                yield from _table(key, value, source)
            elif value is None:
                yield f"# {key}: not set{', so any may connect' if key in ('clients', 'routers') else ''}"
            else:
                yield f"{key} = {toml(value)}  # {source}"


def _table(name: str, members: Mapping[str, Any], source: str) -> Iterator[str]:
    yield ""
    yield f"[{name}]  # {source}"
    yield from (f"{toml_key(key)} = {toml(value)}" for key, value in members.items())


def configuration(
    file: Path | None, environment: Mapping[str, str], options: Mapping[str, str | None]
) -> Configuration:  # fmt: skip
    """Read the configuration of a router from a file, the environment and options."""
    if file is None:
        return configured(_from_environment(environment) | _from_options(options))
    document = TomlDocument(file)
    places: dict[str, Keys] = {key: (key,) for key in document.tables}
    values = file_values(document, places)
    document.finish()
    return configured_from(document, places, values | _from_environment(environment) | _from_options(options))


def configured_from(
    document: TomlDocument, places: Mapping[str, Keys], given: Mapping[str, ConfigValue]
) -> Configuration:
    """Return the configuration of a router from some values; places: where the file has its keys."""
    try:
        return configured(given)
    except InputError as error:
        own = (key for key in places if error.file is None and given[key].source == str(document.path))
        cause = next((key for key in own if not _fails_without(key, given, error)), None)
        if cause is not None:
            error.at(file=str(document.path), line=document.line(places[cause]))
        raise


def _fails_without(key: str, given: Mapping[str, ConfigValue], error: InputError) -> bool:
    """Return whether the mistake is there without the value of a key."""
    other = ConfigValue("router", "default") if key == "name" else _default(key)
    try:
        configured({**given, key: other})
    except InputError as again:
        return again.problem == error.problem
    return False


def configured(given: Mapping[str, ConfigValue]) -> Configuration:
    """Return the configuration of a router from some values, and defaults for the others."""
    values = {key: _default(key) for key in DEFAULTS} | {**given}
    value = {key: each.value for key, each in values.items()}
    if value["name"] is None:
        raise InputError("the router has no name", hint="set name = ... in the file, or use --name")
    listen = parse_address(value["listen"])
    neighbours = {name: parse_address(text) for name, text in value["neighbours"].items()}
    secured = read_policy(value, listen, neighbours)
    process = _process_settings(value)
    if process.http is not None:
        check_public(secured, process.http, value, is_http=True)
    if value["history"] and process.journal is None:
        raise InputError("`history` needs a journal", hint='set journal = "FOLDER"')
    settings = Settings(**{name: value[name] for name in _SETTINGS})
    return Configuration(settings, listen, neighbours, secured, process, values)


def _process_settings(value: Mapping[str, Any]) -> ProcessSettings:
    paths = {
        "http": parse_address(value["http"]) if value["http"] else None,
        "journal": journal_place(value["journal"]) if value["journal"] else None,
    }
    return ProcessSettings(**{key: value[key] for key in _PROCESS} | paths)


def _default(key: str) -> ConfigValue:
    return ConfigValue(DEFAULTS[key], "default")


# --- sources


def file_values(document: TomlDocument, places: Mapping[str, Keys]) -> dict[str, ConfigValue]:
    """Return the values of a file, by key, and record its mistakes; places: where the file has each key."""
    values = {}
    for key, at in places.items():
        if key not in DEFAULTS:
            document.note_unknown(at, [*DEFAULTS])
        elif (value := document.build(at, partial(_file_value, document.path, key, document.at(at)))) is not None:
            values[key] = value
            if key in _SHARED and isinstance(value.value, dict):
                _SHARED[key](document, at)
    return values


def _file_value(path: Path, key: str, value: Any) -> ConfigValue:
    return ConfigValue(_beside(path, key, _typed(key, value, key)), str(path))


def _beside(path: Path, key: str, value: Any) -> Any:
    """Return a value of a file; paths are relative to that file."""
    is_path = key in _FILES or (key in _SHARED and isinstance(value, str))
    return str(path.parent / value) if is_path and value and not is_database(value) else value


def _from_environment(environment: Mapping[str, str]) -> dict[str, ConfigValue]:
    known = {PREFIX + key.upper(): key for key in DEFAULTS}
    values: dict[str, ConfigValue] = {}
    for variable, text in sorted(environment.items()):
        if not text:
            continue  # as if it were not set: a template without a value must not remove a history
        if variable in known:
            values[known[variable]] = ConfigValue(_read(known[variable], text, variable), f"environment {variable}")
        elif variable in _CLIENT_VARIABLES:
            continue
        elif variable.startswith(PREFIX) and (near := get_close_matches(variable, known, n=1, cutoff=0.8)):
            raise InputError(f"unknown environment variable {variable}", hint=f"did you mean {near[0]}?")
    return values


def _from_options(options: Mapping[str, str | None]) -> dict[str, ConfigValue]:
    texts = {key: text for key, text in options.items() if text is not None}
    check_keys(texts, DEFAULTS, " in --set")
    return {key: ConfigValue(_read(key, text, f"--{key}"), "option") for key, text in texts.items()}


def _read(key: str, text: str, source: str) -> Any:
    """Parse the text of a value."""
    kind = _TYPES[key]
    if kind is str:
        return text
    if key in _SHARED:
        return text  # the path of a file
    if kind is dict:
        return {name: _typed_in(key, each, source) for name, each in _pairs(text, source)}
    if kind is tuple:
        return tuple(name.strip() for name in text.split(",") if name.strip())
    try:
        if kind is bool:
            return {"true": True, "false": False}[text]
        return kind(text)
    except (KeyError, ValueError):
        raise InputError(f"{source}: {text!r} is not {_TYPE_NAMES[kind]}") from None


def _pairs(text: str, source: str) -> Iterator[tuple[str, str]]:
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{source}: {pair!r} has no name", hint="write name=value, separated by commas")
        yield name.strip(), value.strip()


def _typed(key: str, value: Any, where: str) -> Any:
    """Return a value of the file; raise an `InputError` if its type is wrong."""
    kind = _TYPES[key]
    if key in _SHARED and isinstance(value, dict | str):
        return value
    if kind is dict and isinstance(value, dict):
        return {name: _typed_in(key, each, f"{where}.{name}") for name, each in value.items()}
    if kind is tuple and isinstance(value, list) and all(type(each) in (str, int) for each in value):
        return tuple(map(str, value))
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{where} must be {_TYPE_NAMES[kind]}, not {value!r}")
    return value


def _typed_in(key: str, value: Any, where: str) -> Any:
    if key == "neighbours":
        return str(parse_address(value)) if isinstance(value, str) else _typed("listen", value, where)
    try:
        return int(value) if type(value) in (int, str) else _typed("trees", value, where)
    except ValueError:
        raise InputError(f"{where}: {value!r} is not a whole number") from None
