"""`cbnet router`: run one router, configured by options, the environment and a file."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

from cbnet.cli.console import print_json, print_note
from cbnet.cli.options import COMMIT, JSON, SCHEME, TREES, flag, option
from cbnet.errors import InputError

if TYPE_CHECKING:
    from cbnet.network.protocol.addresses import Address
    from cbnet.network.service.configuration import Configuration


_PAGE_ADDRESS = "127.0.0.1:9090"


def router(
    config: Path | None = option(None, "FILE", "Configuration file (TOML).", name="--config -c"),
    name: str | None = option(None, "NAME", "Name of the router."),
    listen: str | None = option(None, "ADDRESS", "Address to listen on.", shown="127.0.0.1:4001"),
    neighbour: list[str] | None = option(None, "NAME=ADDRESS", "Neighbour to dial; repeatable."),
    scheme: str | None = SCHEME,
    trees: int | None = TREES,
    commit: str | None = COMMIT,
    journal: str | None = option(
        None,
        "PLACE",
        "Folder, or address of a PostgreSQL database, for durable subscriptions and the history.",
        shown="no journal",
    ),
    history: str | None = option(
        None,
        "PREDICATE",
        "Keep the messages that match for subscriptions that begin in the past; needs --journal.",
        shown="no history",
    ),
    http: str | None = option(
        None,
        "ADDRESS",
        "Address for HTTP clients, the web page, health and metrics, such as 127.0.0.1:9090.",
        shown="no HTTP server",
    ),
    page: bool = flag(f"Print the URL of the web page; without another --http, on {_PAGE_ADDRESS}."),
    log: str | None = option(None, "FORMAT", "Log format: text or json.", shown="text"),
    set: list[str] | None = option(None, "KEY=VALUE", "Set any other key of the configuration file; repeatable."),
    print_: bool = flag("Print the whole configuration with the source of each value, and exit.", name="--print"),
    check: bool = flag("Check the configuration and exit."),
    json: bool = JSON,
) -> None:
    """Run a router until Ctrl-C or SIGTERM. SIGHUP and `cbnet reload` have it read its --config FILE again.

    Example: cbnet router --name a --listen 127.0.0.1:4001 --neighbour b=127.0.0.1:4002
    """
    from cbnet.network.service.configuration import configuration

    options = {
        "name": name,
        "listen": listen,
        "scheme": scheme,
        "trees": None if trees is None else str(trees),
        "commit": commit,
        "journal": journal,
        "history": history,
        "http": http,
        "log": log,
        "neighbours": ",".join(neighbour) if neighbour else None,
        **dict(_pair(each) for each in set or ()),
    }
    environment = dict(os.environ)
    plan = configuration(config, environment, options)
    if page and plan.process.http is None:
        options["http"] = _PAGE_ADDRESS
        plan = configuration(config, environment, options)
    if print_ and json:
        print_json({key: {"value": each.shown, "source": each.source} for key, each in plan.values.items()})
    elif print_:
        print("\n".join(plan.lines()))
    elif check and json:
        print_json({"name": plan.settings.name, "ok": True})
    elif check:
        print(f"the configuration of {plan.settings.name} is valid")
    else:
        _run(plan, config, lambda: configuration(config, environment, options), as_json=json, page=page)


def _pair(text: str) -> tuple[str, str]:
    key, equals, value = text.partition("=")
    if not equals:
        raise InputError(f"--set {text!r} has no value", hint="write key=value")
    return key.strip(), value.strip()


def _run(
    plan: Configuration, file: Path | None, read: Callable[[], Configuration], *, as_json: bool, page: bool
) -> None:  # fmt: skip
    from cbnet.network.logs import configure, open_audit_log, use_audit_log
    from cbnet.network.service.router_process import serve
    from cbnet.network.transport.event_loop import run_router

    name = plan.settings.name

    def on_start(address: Address, http: Address | None) -> None:
        url = None
        if page and http is not None:
            is_encrypted = plan.security.tls is not None and not http.is_loopback
            url = f"{'https' if is_encrypted else 'http'}://{http}/"
        if as_json:
            print_json({"router": name, "address": str(address), **({"page": url} if url else {})})
        else:
            print(f"router {name} listens on {address}" + (f"; page {url}" if url else ""))
        sys.stdout.flush()

    def read_again() -> list[Configuration]:
        try:
            return [read()]
        except InputError as error:  # what is not in a file has not changed
            raise error if error.file else error.at(file=str(file)) from None

    process = plan.process
    configure(process.log, process.log_level, name)
    use_audit_log(open_audit_log(process.audit, name))
    run_router(serve(plan, on_start=on_start, read=None if file is None else read_again))
    if process.log == "text":  # with json the log has an event for it
        print_note(f"router {name} has stopped")
