"""Configuration: what is a router told, and where was each of it said?

    flags           --listen 127.0.0.1:4001         before all others
    environment     CBNET_LISTEN=127.0.0.1:4001     before the file
    file            listen = "127.0.0.1:4001"       TOML
    default                                         if nobody says anything

The keys are those of `Settings`, `security` and `operation`, and where to listen and whom to dial. What is said of
clients stands in the file.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NamedTuple

from cbnet.errors import InputError
from cbnet.files import check_keys, read_toml, toml, toml_key
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, Address, parse_address
from cbnet.network.security import policy as security
from cbnet.network.security.policy import SecurityPolicy, read_policy
from cbnet.network.service import process_settings
from cbnet.network.service.process_settings import ProcessSettings, process_settings_from

PREFIX = "CBNET_"
_OF_CLIENTS = ("CBNET_ROUTER", "CBNET_TOKEN")  # which may stand in the same environment
_FIELDS = {field.name: field for field in fields(Settings)}
_TYPES: dict[str, type] = {
    "listen": str, "neighbours": dict, "weights": dict, "trees": int, "roots": tuple, "is_limited": bool,
    "cache_bytes": int, "answer": float, "cache_age": float,
    **dict.fromkeys(("name", "network", "scheme"), str),
    **security.TYPES,
    **process_settings.TYPES,
    **dict.fromkeys(("heartbeat", "dead", "spacing", "refresh", "lifetime", "retry", "trace", "overlap"), float),
}  # fmt: skip
KEYS = (
    "name", "network", "listen", "neighbours", *(name for name in _FIELDS if name not in ("name", "network")),
    *security.TYPES, *process_settings.TYPES,
)  # fmt: skip
_SAID = {
    str: "a string", int: "a whole number", float: "a number", bool: "true or false", dict: "a table",
    tuple: "a list of names",
}  # fmt: skip


class Value(NamedTuple):
    """A value, and where it was said."""

    value: Any
    source: str


@dataclass(frozen=True)
class Configuration:
    """All that a router is told, checked."""

    settings: Settings
    listen: Address
    neighbours: dict[str, Address]
    security: SecurityPolicy
    process: ProcessSettings
    values: dict[str, Value]

    def lines(self) -> Iterator[str]:
        """Yield the configuration as TOML, each value with where it was said."""
        ordered = sorted(self.values.items(), key=lambda item: isinstance(item[1].value, dict))
        for key, (value, source) in ordered:
            if key == "clients" and value is not None:
                for client, table in value.items():
                    yield from _table(f"clients.{toml_key(client)}", table, source)
            elif isinstance(value, dict):
                yield from _table(key, value, source)
            elif value is None:
                yield f"# {key}: nothing is said, and so all may link"
            else:
                yield f"{key} = {toml(value)}  # {source}"


def _table(name: str, members: Mapping[str, Any], source: str) -> Iterator[str]:
    yield ""
    yield f"[{name}]  # {source}"
    yield from (f"{toml_key(key)} = {toml(value)}" for key, value in members.items())


def configuration(
    file: Path | None, environment: Mapping[str, str], flags: Mapping[str, str | None]
) -> Configuration:  # fmt: skip
    """Return what a router is told by a file, the environment and flags; an `InputError` says what is wrong."""
    values = {key: Value(_default(key), "default") for key in KEYS}
    if file is not None:
        values.update(_from_table(read_toml(file), file))
    values.update(_from_environment(environment))
    values.update(_from_flags(flags))
    return _configured(values)


def configuration_of(table: Mapping[str, Any], file: Path) -> Configuration:
    """Return what a router is told by one table of a file, and by nothing else."""
    return _configured({key: Value(_default(key), "default") for key in KEYS} | _from_table(table, file))


def _configured(values: dict[str, Value]) -> Configuration:
    if values["name"].value is MISSING:
        raise InputError("the router has no name", hint="write name = ... in the file, or --name")
    listen, neighbours = parse_address(values["listen"].value), _neighbours(values["neighbours"])
    protected = read_policy({key: values[key].value for key in security.TYPES}, listen, neighbours)
    operated = process_settings_from({key: values[key].value for key in process_settings.TYPES})
    return Configuration(_settings(values), listen, neighbours, protected, operated, values)


def _default(key: str) -> Any:
    if key == "listen":
        return DEFAULT_ADDRESS
    for others in (security.DEFAULTS, process_settings.DEFAULTS):
        if key in others:
            return others[key]
    return {} if _TYPES[key] is dict else _FIELDS[key].default


# --- where it is said


def _from_table(said: Mapping[str, Any], path: Path) -> dict[str, Value]:
    try:
        check_keys(said, KEYS, "")
        return {key: Value(_beside(path, key, _typed(key, value, key)), str(path)) for key, value in said.items()}
    except InputError as error:
        raise error.at(file=str(path)) from None


def _beside(path: Path, key: str, value: Any) -> Any:
    """Return a value of a file; the files that it names stand beside it."""
    return str(path.parent / value) if key in security.FILES and value else value


def _from_environment(environment: Mapping[str, str]) -> dict[str, Value]:
    known = {PREFIX + key.upper(): key for key in KEYS}
    found: dict[str, Value] = {}
    for variable, text in sorted(environment.items()):
        if variable in known:
            found[known[variable]] = Value(_read(known[variable], text, variable), f"environment {variable}")
        elif variable in _OF_CLIENTS:
            continue
        elif variable.startswith(PREFIX) and (near := get_close_matches(variable, known, n=1, cutoff=0.8)):
            raise InputError(f"the environment has {variable}, which means nothing", hint=f"write {near[0]}")
    return found


def _from_flags(flags: Mapping[str, str | None]) -> dict[str, Value]:
    said = {key: text for key, text in flags.items() if text is not None}
    check_keys(said, KEYS, " in --set")
    return {key: Value(_read(key, text, f"--{key}"), "flag") for key, text in said.items()}


def _read(key: str, text: str, where: str) -> Any:
    """Return the value that a text says, as it would stand in the file."""
    kind = _TYPES[key]
    if kind is str:
        return text
    if key == "clients":
        raise InputError(f"{where}: clients are told of in the file only", hint="write a table [clients.NAME] there")
    if kind is dict:
        return {name: _typed_in(key, each, where) for name, each in _pairs(text, where)}
    if kind is tuple:
        return tuple(name.strip() for name in text.split(",") if name.strip())
    try:
        if kind is bool:
            return {"true": True, "false": False}[text]
        return kind(text)
    except (KeyError, ValueError):
        raise InputError(f"{where}: {text!r} is not {_SAID[kind]}") from None


def _pairs(text: str, where: str) -> Iterator[tuple[str, str]]:
    for pair in filter(None, text.split(",")):
        name, equals, value = pair.partition("=")
        if not equals:
            raise InputError(f"{where}: {pair!r} says no name", hint="write name=value, and commas between several")
        yield name.strip(), value.strip()


def _typed(key: str, value: Any, where: str) -> Any:
    """Return a value of the file if it is of the right type."""
    kind = _TYPES[key]
    if key == "clients" and isinstance(value, dict):
        return value
    if kind is dict and isinstance(value, dict):
        return {name: _typed_in(key, each, f"{where}.{name}") for name, each in value.items()}
    if kind is tuple and isinstance(value, list) and all(type(each) in (str, int) for each in value):
        return tuple(map(str, value))
    if kind is float and type(value) is int:
        return float(value)
    if type(value) is not kind:
        raise InputError(f"{where} must be {_SAID[kind]}, not {value!r}")
    return value


def _typed_in(key: str, value: Any, where: str) -> Any:
    if key == "neighbours":
        return str(parse_address(value)) if isinstance(value, str) else _typed("listen", value, where)
    try:
        return int(value) if type(value) in (int, str) else _typed("trees", value, where)
    except ValueError:
        raise InputError(f"{where}: {value!r} is not a whole number") from None


# --- what it says


def _settings(values: Mapping[str, Value]) -> Settings:
    return Settings(**{name: values[name].value for name in _FIELDS})


def _neighbours(said: Value) -> dict[str, Address]:
    return {name: parse_address(where) for name, where in said.value.items()}
