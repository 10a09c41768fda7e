"""Review of a journal that is new, or older than the network knows: what it lacks is created again, and reported.

Messages of the former journal cannot be brought back. Subscriptions that it had, as the newest record of the home in
the network says, store messages again, each with a loss of an unknown number of messages, which reaches its clients as
an event. So does each subscription that the present journal has from before. An operator sees both in the log and in
the health of the router, until the losses are acknowledged.

A message may arrive before the record. The receipt for its repetition would count the subscriptions created again, too,
which lack it, so the repetition is refused.
"""

from __future__ import annotations

import logging
from functools import partial

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.language.syntax.byte_form import filter_from_bytes
from cbnet.network.durable.durable_registry import DurableRegistry
from cbnet.network.durable.home import Home
from cbnet.network.durable.home_log.journal_queue import JournalQueue
from cbnet.network.durable.records.foreign_records import ForeignRecord
from cbnet.network.durable.records.home_records import HomeRecords
from cbnet.network.link.context import RouterContext
from cbnet.network.logs import log
from cbnet.network.protocol.durable_frames import DurableLimits, HomeRecord
from cbnet.network.protocol.fields import DurableName

_MAX_LOGGED = 20  # names in a log line


class JournalReview:
    """The subscriptions of one home whose messages are lost with a journal."""

    def __init__(
        self, context: RouterContext, home: Home, records: HomeRecords, registry: DurableRegistry, queue: JournalQueue
    ) -> None:
        self._context = context
        self._home = home
        self._records = records
        self._registry = registry
        self._queue = queue
        self._problems: dict[DurableName, str] = {}  # of the subscriptions that have lost messages

    @property
    def problems(self) -> list[str]:
        """Each problem that was found, with the subscriptions whose clients have not acknowledged their losses."""
        self._problems = {key: problem for key, problem in self._problems.items() if self._has_losses(key)}
        by_problem: dict[str, list[str]] = {}
        for (_, name), problem in self._problems.items():
            by_problem.setdefault(problem, []).append(name)
        return [f"{problem}: {_listed(sorted(names))}" for problem, names in by_problem.items()]

    def check(self) -> None:
        """Review the versions of the home's record that its journal does not know."""
        for foreign in self._records.foreign.take():
            self._review(foreign)
            self._queue.after(partial(self._records.reviewed, foreign))

    def _review(self, foreign: ForeignRecord) -> None:
        record, name = foreign.record, self._context.home
        is_older = record.journal == self._records.foreign.journal
        if is_older:
            problem = f"the journal of {name} is older than other routers know: messages stored since then are lost"
        else:
            problem = f"the journal of {name} is not the one that other routers know: messages of that one are lost"
        created: list[str] = []
        lacking: list[str] = []
        recovered = [each for each in self._registry.all(None) if each.id in self._registry.recovered]
        affected = {each.owner: None for each in recovered if is_older}
        for key, (predicate, limits) in _definitions(record).items():
            present = self._registry.find(*key)
            if present is None:
                if not predicate or not self._create(key, predicate, limits):
                    lacking.append(key[1])
                    continue
                created.append(key[1])
            elif present.id in self._registry.recovered and not is_older:
                if self._has_losses(key):
                    self._problems[key] = problem
                continue  # a journal that was restored from a backup has its losses
            affected[key] = None
        if created:
            self._home.settle()
        for key in affected:
            self._registry.existing(*key).losses.add(0, problem)
            self._problems[key] = problem
        log(
            logging.ERROR, "journal replaced", neighbour=foreign.neighbour, reason=problem, created=_listed(created),
            not_created=_listed(lacking), hint="subscribers get an event `lost`",
        )  # fmt: skip

    def _has_losses(self, key: DurableName) -> bool:
        """Return whether a subscription exists, and has losses that no client has acknowledged."""
        subscription = self._registry.find(*key)
        return subscription is not None and not subscription.losses.are_acknowledged

    def _create(self, key: DurableName, predicate: str, limits: DurableLimits) -> bool:
        try:
            self._registry.create(*key, predicate, limits)
        except InputError as error:
            self._context.warn("durable subscription not created again", name=key[1], reason=error.summary)
            return False
        return True


def _definitions(record: HomeRecord) -> dict[DurableName, tuple[str, DurableLimits]]:
    """Return the predicate, empty if it is unknown, and the limits of each subscription of a record."""
    definitions: dict[DurableName, tuple[str, DurableLimits]] = {}
    for name, definition in zip(record.names, record.definitions, strict=False):
        known = [index for index in definition.filters if index < len(record.filters)]
        predicate = Predicate(filter_from_bytes(record.filters[index]) for index in known)
        definitions[tuple(name)] = str(predicate) if known else "", definition.limits  # type: ignore[index]
    return definitions


def _listed(names: list[str]) -> str:
    more = f" and {len(names) - _MAX_LOGGED:,} more" if len(names) > _MAX_LOGGED else ""
    return ", ".join(names[:_MAX_LOGGED]) + more
