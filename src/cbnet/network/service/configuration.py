"""Configuration of a router from options, environment and a file.

    options         --listen 127.0.0.1:4001         highest precedence
    environment     CBNET_LISTEN=127.0.0.1:4001
    file            listen = "127.0.0.1:4001"       TOML
    default                                         lowest precedence

The keys are those of `Settings`, `security` and `process_settings`, and `listen` and `neighbours`. `clients` is a
table in the file, or the path of a file with such tables, which several routers can share.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from cbnet.errors import InputError
from cbnet.files import Keys, TomlDocument, check_keys, toml, toml_key
from cbnet.network.link.settings import Settings
from cbnet.network.protocol.addresses import DEFAULT_ADDRESS, Address, parse_address
from cbnet.network.security import policy as security
from cbnet.network.security.policy import SecurityPolicy, check_http, read_policy
from cbnet.network.service import process_settings
from cbnet.network.service.process_settings import ProcessSettings, process_settings_from

PREFIX = "CBNET_"
_CLIENT_VARIABLES = ("CBNET_ROUTER", "CBNET_TOKEN")  # allowed in the same environment
_FIELDS = {field.name: field for field in fields(Settings)}
_TYPES: dict[str, type] = {
    "listen": str, "neighbours": dict, "weights": dict, "trees": int, "roots": tuple,
    **dict.fromkeys(("cache_bytes", "session_filters", "session_bytes", "queue_bytes"), int),
    **dict.fromkeys(("handshakes", "handshakes_per_address"), int),
    "answer": float, "cache_age": float,
    **dict.fromkeys(("history_messages", "history_bytes"), int), "history_age": float,
    **dict.fromkeys(("name", "network", "scheme", "commit", "history"), str),
    **security.TYPES,
    **process_settings.TYPES,
    **dict.fromkeys(("heartbeat", "dead", "spacing", "refresh", "lifetime"), float),
    **dict.fromkeys(("retry", "trace", "settle", "overlap", "silence"), float),
}  # fmt: skip
KEYS = (
    "name", "network", "listen", "neighbours", *(name for name in _FIELDS if name not in ("name", "network")),
    *security.TYPES, *process_settings.TYPES,
)  # fmt: skip
_TYPE_NAMES = {
    str: "a string", int: "a whole number", float: "a number", bool: "true or false", dict: "a table",
    tuple: "a list of names",
}  # fmt: skip


class ConfigValue(NamedTuple):
    """A value and its source."""

    value: Any
    source: str


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
        for key, (value, source) in ordered:
            if key == "clients" and isinstance(value, dict):
                for client, table in value.items():
                    yield from _table(f"clients.{toml_key(client)}", table, source)
            elif isinstance(value, dict):
                yield from _table(key, value, source)
            elif value is None:
                yield f"# {key}: not set{'' if key == 'history' else ', so any may connect'}"
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
    document = None if file is None else TomlDocument(file)
    values = {} if document is None else file_values(document, {key: (key,) for key in document.tables})
    if document is not None:
        document.finish()
    return configured(values | _from_environment(environment) | _from_options(options))


def configured(given: Mapping[str, ConfigValue]) -> Configuration:
    """Return the configuration of a router from some values, and defaults for the others."""
    values = {key: ConfigValue(_default(key), "default") for key in KEYS} | {**given}
    if values["name"].value is MISSING:
        raise InputError("the router has no name", hint="set name = ... in the file, or use --name")
    listen, neighbours = parse_address(values["listen"].value), _neighbours(values["neighbours"])
    secured = read_policy({key: values[key].value for key in security.TYPES}, listen, neighbours)
    process = process_settings_from({key: values[key].value for key in process_settings.TYPES})
    if process.http is not None:
        check_http(secured, process.http, values["insecure"].value)
    if values["history"].value and process.journal is None:
        raise InputError("`history` needs a journal", hint='set journal = "FOLDER"')
    return Configuration(_settings(values), listen, neighbours, secured, process, values)


def _default(key: str) -> Any:
    if key == "listen":
        return DEFAULT_ADDRESS
    for defaults in (security.DEFAULTS, process_settings.DEFAULTS):
        if key in defaults:
            return defaults[key]
    return {} if _TYPES[key] is dict else _FIELDS[key].default


# --- sources


def file_values(document: TomlDocument, places: Mapping[str, Keys]) -> dict[str, ConfigValue]:
    """Return the values of a file, by key, and record its mistakes; places: where the file has each key."""
    values = {}
    for key, at in places.items():
        if key not in KEYS:
            document.note_unknown(at, KEYS)
        elif (value := document.build(at, partial(_file_value, document.path, key, document.at(at)))) is not None:
            values[key] = value
    return values


def _file_value(path: Path, key: str, value: Any) -> ConfigValue:
    return ConfigValue(_beside(path, key, _typed(key, value, key)), str(path))


def _beside(path: Path, key: str, value: Any) -> Any:
    """Return a value of a file; paths are relative to that file."""
    is_path = key in (*security.FILES, *process_settings.FILES) or (key == "clients" and isinstance(value, str))
    return str(path.parent / value) if is_path and value else value


def _from_environment(environment: Mapping[str, str]) -> dict[str, ConfigValue]:
    known = {PREFIX + key.upper(): key for key in KEYS}
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
    check_keys(texts, KEYS, " in --set")
    return {key: ConfigValue(_read(key, text, f"--{key}"), "option") for key, text in texts.items()}


def _read(key: str, text: str, source: str) -> Any:
    """Parse the text of a value."""
    kind = _TYPES[key]
    if kind is str:
        return text
    if key == "clients":
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
    if key == "clients" and isinstance(value, dict | str):
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


# --- values


def _settings(values: Mapping[str, ConfigValue]) -> Settings:
    return Settings(**{name: values[name].value for name in _FIELDS})


def _neighbours(neighbours: ConfigValue) -> dict[str, Address]:
    return {name: parse_address(text) for name, text in neighbours.value.items()}
