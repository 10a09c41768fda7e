"""The plans of the benchmarks: their parameters, which are the options of their commands.

The docstring of a plan is the help of its command. This module imports no benchmark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from cbnet.cli.options import argument, option
from cbnet.errors import InputError
from cbnet_lab.bench.plan_options import (
    ONE_EACH,
    Routing,
    interface_count,
    interface_counts,
    names,
    numbers,
    routings,
    seconds,
    seed,
)

Report = Callable[[str], None]  # shows the current step of a run

_BEST_ROUND = "Rounds; the best one counts."
_MIX = "Workload: 2002, 2001, equality, or w1 to w5 of ranges."


def _engines(_option: str, names: Sequence[str]) -> tuple[str, ...]:
    from cbnet.matching.engines.registry import ENGINES

    for name in names:
        if name not in ENGINES:  # only those that support all filters
            raise InputError(f"unknown engine {name!r}", hint=f"use one of {', '.join(ENGINES)}")
    return tuple(dict.fromkeys(names or ENGINES))


def _spark_settings(_option: str, texts: Sequence[str]) -> dict[str, str]:
    from cbnet.cli.pipeline.spark_options import settings

    return settings(texts)


@dataclass(frozen=True)
class ForwardingPlan:
    """Match generated messages against a generated table with every engine, and compare the engines.

    Example: cbnet bench forwarding --filters 100000 --interfaces 500
    """

    filters: int = option(10_000, "F", "Filters in the table.")
    interfaces: int | None = option(
        ONE_EACH, "I", "Interfaces that share the filters; F for one per filter.", parse=interface_count
    )
    messages: int = option(5_000, "M", "Messages to match.")
    mix: str = option("2002", "NAME", _MIX)
    names: int | None = option(None, "A", "Attribute names.", shown="as in the paper")
    settings: tuple[str, ...] = option(
        (), "NAME=VALUE", "Parameter of the workload by its name in the paper, such as f_h=100; repeatable.",
        name="--set", shown=False,
    )  # fmt: skip
    conditions: float = option(0.0, "S", "Share of filters with a condition.", least=0, most=1)
    seed: int = seed()
    engine: tuple[str, ...] = option(
        (), "NAME", "Engine to measure; repeatable.", raw=tuple[str, ...], parse=_engines, shown="all"
    )
    rounds: int = option(10, "R", "Rounds of selectivity of the counting engine.", least=0)
    short_circuit: bool = option(
        True, "", "Whether the counting engine skips filters of matched interfaces.",
        name="--short-circuit/--no-short-circuit",
    )  # fmt: skip
    seconds: float = seconds()


@dataclass(frozen=True)
class EventsPlan:
    """Match generated webhooks, read from JSON, against generated EventBridge patterns, and check a sample.

    Example: cbnet bench events --rules 1000
    """

    rules: int = option(10_000, "N", "EventBridge patterns.", least=1)
    events: int = option(20_000, "N", "Nested events.", least=1)
    sample: int = option(100, "N", "Events to check.", least=1)
    seconds: float = seconds()
    seed: int = seed()


@dataclass(frozen=True)
class FilesPlan:
    """Match a generated Parquet file with `cbnet match`, and with DuckDB on as many rules as it finishes in a minute.

    Example: cbnet bench files --rows 1000000
    """

    rows: int = option(10_000_000, "N", "Rows of the file.", least=1)
    rules: int = option(10_000, "N", "Rules.", least=1)
    sample: int = option(200, "N", "Rows to check.", least=1)
    seconds: float = seconds(60.0, "Time limit of a DuckDB query, in seconds.")
    seed: int = seed()


@dataclass(frozen=True)
class UpdatesPlan:
    """Add and remove filters at a fixed rate while another thread matches, and check sampled states.

    Half of the updates add a filter. Of the removals, half remove filters the table was built with, and half filters
    added since.
    """

    filters: int = option(1_000_000, "F", "Filters in the table.", least=1000)
    rate: int = option(10_000, "R", "Updates per second.", least=1)
    seconds: float = option(60.0, "S", "Duration, in seconds.", least=1)
    seed: int = seed()


@dataclass(frozen=True)
class TagsPlan:
    """Match tagged messages against tables of descriptors: exact, Bloom filters, and the general engine.

    Tags are drawn from 100,000 by Zipf's law: 1 to 6 per descriptor, 4 to 15 per message.

    Example: cbnet bench tags --descriptors 100000 --interfaces 100
    """

    descriptors: tuple[int, ...] = option(
        "10000,100000,1000000", "F,...", "Descriptors in the table; one run per number.", parse=numbers
    )
    interfaces: tuple[int | None, ...] = option(
        "F,100", "I,...", "Interfaces that share the descriptors; F for one per descriptor.", parse=interface_counts
    )
    messages: int = option(1_000, "M", "Messages to match.")
    seed: int = seed()
    seconds: float = seconds()


@dataclass(frozen=True)
class MinimalPlan:
    """Find the tag sets that contain no other set, on one core, and check a sample of the answer.

    Example: cbnet bench minimal --sets 1000000
    """

    sets: int = option(10_000_000, "N", "Sets of 1 to 10 tags, 3.2 on average.")
    tags: int = option(1_000_000, "T", "Distinct tags, Zipf-distributed.")
    sample: int = option(128, "N", "Sets to check.", least=1)
    seed: int = seed()


@dataclass(frozen=True)
class RouterPlan:
    """Measure one router process under load, and brokers beside it; check every delivery.

    Two other processes publish and receive messages that are encoded in advance. All servers take turns.

    Example: cbnet bench router --cases fanout-1,fanout-10 --servers cbnet,nats --filters 10000
    """

    cases: tuple[str, ...] = option(
        "fanout-1,fanout-10,fanout-100,payload-10k,publishers-20,probe,tls,transit", "NAME,...", "Cases to measure.",
        parse=names,
    )  # fmt: skip
    servers: tuple[str, ...] | None = option(
        None, "NAME,...", "Servers to compare: cbnet, nats, redis, mosquitto.", parse=names, shown="all installed"
    )
    filters: tuple[int, ...] = option(
        "1,10000", "N,...", "Numbers of content filters that a router holds.", parse=numbers
    )
    seconds: float = option(0.5, "S", "Duration of a round of one server.", least=0.01)
    messages: int | None = option(None, "M", "Messages in a round, instead of --seconds.", least=1, shown=False)
    rounds: int = option(3, "N", _BEST_ROUND, least=1)
    seed: int = seed("Seed of the messages and filters.")


@dataclass(frozen=True)
class DurablePlan:
    """Measure acknowledged publishing with one router and three, and JetStream beside them; check the stored messages.

    Example: cbnet bench durable --subscriptions 1,10,100,1000 --window 500
    """

    subscriptions: tuple[int, ...] = option(
        "1,100", "N,...", "Numbers of durable subscriptions that match all messages, at one router.", parse=numbers
    )
    messages: int = option(20_000, "M", "Messages of each round, many in flight.", least=1)
    window: int = option(500, "W", "Maximum number of messages without an answer.", least=1, most=1_000)
    payload_bytes: int = option(100, "B", "Payload of each message, in bytes.", least=8)
    rounds: int = option(3, "N", _BEST_ROUND, least=1)
    probes: int = option(200, "N", "Messages of each round that are sent one at a time.", least=1)


@dataclass(frozen=True)
class AnnouncementsPlan:
    """Subscribe at every router at once, wait for all confirmations, and check deliveries.

    The cost of flooding the same filters is computed beside it.

    Example: cbnet bench announcements --topology powerlaw:20 --filters 1000 --population tags
    """

    topology: str = option("powerlaw:20", "GRAPH", "Graph file, or a generator such as powerlaw:200.",
                           name="--topology -t")  # fmt: skip
    filters: int = option(1_000, "F", "Filters of the client of each router.", least=1)
    population: tuple[str, ...] = option(
        "random,covered,tags", "NAME,...", "random, covered (30 % by others) or tags; one run each.", parse=names
    )
    trees: tuple[Routing, ...] = option(
        "1", "K,...", "Numbers of routing trees, or pif for one per source; in turn.", parse=routings
    )
    messages: int = option(300, "M", "Messages to publish afterwards.", least=1)
    seed: int = seed("Seed of the graph, the filters and the messages.")


@dataclass(frozen=True)
class NetworkBenchPlan:
    """Run routers and clients as processes, publish messages, and check every delivery.

    The first run is at full speed, the second at a fixed rate. --fail replaces both.

    Example: cbnet bench network --topology powerlaw:20 --subscribers 100 --messages 100000
    """

    graphs: tuple[str, ...] = option(
        (), "GRAPH", "Graph file, or a generator such as powerlaw:20; repeatable.", name="--topology -t",
        shown="tree:1 and tree:2",
    )  # fmt: skip
    messages: int = option(20_000, "M", "Messages to publish.", least=1)
    subscribers: int = option(100, "N", "Receiving clients.", least=1)
    mix: str = option("2002", "NAME", _MIX)
    filters: int = option(10, "F", "Filters per subscriber.", least=1)
    payload: int = option(100, "B", "Payload size of a message.", name="--payload-bytes", least=16)
    rate: float | None = option(
        None, "R", "Messages per second of the second run.", least=1, shown="half of full speed"
    )
    window: int = option(1_000, "W", "Maximum deliveries in flight at full speed.", least=1)
    processes: int = option(2, "P", "Processes that share the subscribers.", least=1)
    routing: Routing = option(
        "1", "K", "Number of routing trees, or pif for one per source.", name="--trees", parse=Routing.of
    )
    seed: int = seed("Seed of the graph and the workload.")
    fail: str | None = option(
        None, "KIND",
        "Failure to cause under load: link, silent-link, router, routers (in turn), or random (kills).", shown=False,
    )  # fmt: skip
    seconds: float = option(60.0, "S", "Duration of --fail random.", least=10)


@dataclass(frozen=True)
class SparkPlan:
    """Match flights and stock quotes on Spark with one and two cores, and without Spark.

    Example: cbnet bench spark --flights flights.csv.gz --quotes stockquotes.txt.gz
    """

    flights: str | None = option(None, "FILE", "Flights, in the format of the preset.")
    quotes: str | None = option(None, "FILE", "Stock quotes, in the format of the preset.")
    records: int = option(1_000_000, "N", "Records, repeated from the files.", least=1)
    filters: int = option(1_000_000, "F", "Filters drawn from the records.", least=1000)
    folder: str | None = option(None, "FOLDER", "Folder to keep the inputs in, for later runs.", shown=False)
    seed: int = seed()
    conf: Mapping[str, str] = option(
        (), "KEY=VALUE", "Spark setting; repeatable.", raw=tuple[str, ...], parse=_spark_settings, shown=False
    )


@dataclass(frozen=True)
class ComparePlan:
    """Run a benchmark of this checkout and of another one in turn, and compare their figures.

    The spread of a checkout against itself shows the noise.

    Example: cbnet bench compare ../before -- router --servers cbnet --messages 100000
    """

    checkout: str = argument(
        ..., "CHECKOUT", "Another checkout with its own .venv, or an interpreter that has cbnet.", shown=False
    )
    command: tuple[str, ...] = argument(..., "BENCHMARK", "Benchmark and its options, after --.", shown=False)
    rounds: int = option(3, "N", "Rounds; both checkouts run once in each.", least=2)
    figures: tuple[str, ...] | None = option(
        None, "NAME,...", "JSON members to compare.", parse=names, shown="all that differ between runs"
    )
