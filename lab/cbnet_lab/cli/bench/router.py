"""`cbnet bench router`: processor time per message of one router process, beside topic brokers."""

from __future__ import annotations

import signal
from contextlib import closing
from typing import Annotated

import typer

from cbnet.cli.console import print_json, print_note, step_progress
from cbnet.cli.options import Json, seed_option
from cbnet.errors import CbnetError, InputError
from cbnet_lab.cli.bench.output.numbers import parse_numbers


def router(
    cases: Annotated[
        str, typer.Option("--cases", metavar="NAME,...", help="Cases to measure.")
    ] = "fanout-1,fanout-10,fanout-100,payload-10k,publishers-20,probe,tls,transit",
    servers: Annotated[
        str | None,
        typer.Option(
            "--servers",
            metavar="NAME,...",
            help="Servers to compare: cbnet, nats, redis, mosquitto.",
            show_default="all that are installed",
        ),
    ] = None,
    filters: Annotated[
        str, typer.Option("--filters", metavar="N,...", help="Numbers of content filters that a router holds.")
    ] = "1,10000",
    seconds: Annotated[
        float, typer.Option("--seconds", metavar="S", min=0.01, help="Duration of a round of one server.")
    ] = 0.5,
    messages: Annotated[
        int | None,
        typer.Option(
            "--messages", metavar="M", min=1, help="Messages in a round, instead of --seconds.", show_default=False
        ),
    ] = None,
    rounds: Annotated[int, typer.Option("--rounds", metavar="N", min=1, help="Rounds; the best one counts.")] = 3,
    seed: Annotated[int, seed_option("Seed of the messages and filters.")] = 0,
    json: Json = False,
) -> None:
    """Measure one router process under load, and brokers beside it; check every delivery.

    Two other processes publish and receive messages that are encoded in advance. All servers take turns.

    Example: cbnet bench router --cases fanout-1,fanout-10 --servers cbnet,nats --filters 10000
    """
    from cbnet_lab.bench.router.cases import parse_cases
    from cbnet_lab.bench.router.comparison import RouterPlan, compare
    from cbnet_lab.bench.router.load import Until
    from cbnet_lab.cli.bench.output.router import print_comparison

    plan = RouterPlan(
        parse_cases(cases),
        _installed(servers),
        parse_numbers("--filters", filters),
        Until(messages, seconds),
        rounds,
        seed,
    )
    signal.signal(signal.SIGTERM, _interrupt)  # so that no server is left behind
    results = []
    with step_progress() as report, closing(compare(plan, report)) as measured:
        for result in measured:
            results.append(result)
            if json:
                print_json(result.members())
    if not json:
        print_comparison(plan, results)
    wrong = [f"{each.case.name}, {each.server}: {each.problem}" for each in results if each.problem is not None]
    if wrong:
        raise CbnetError(f"wrong deliveries: {'; '.join(wrong)}")


def _interrupt(_number: int, _frame: object) -> None:
    raise KeyboardInterrupt


def _installed(servers: str | None) -> list[str]:
    """Return the names of the servers to measure."""
    from cbnet_lab.bench.router.servers import SERVERS

    if servers is None:
        for kind in SERVERS.values():
            if not kind.is_installed:
                print_note(f"{kind.name} is not installed, so it is not measured: apt-get install {kind.program}")
        return [kind.name for kind in SERVERS.values() if kind.is_installed]
    names = [name.strip() for name in servers.split(",")]
    for name in names:
        if name not in SERVERS:
            raise InputError(f"unknown server {name!r}", hint=f"use some of {', '.join(SERVERS)}")
        if not SERVERS[name].is_installed:
            raise InputError(f"{name} is not installed", hint=f"apt-get install {SERVERS[name].program}")
    return names
