"""Rights of a client: access rights are predicates too. `docs/how-to/secure-the-network.md` lists them.

    publish     every published message must match it, with each of its values if an attribute has several
    subscribe   it must cover the predicate of every subscription, so that nothing else can ever be delivered
    offer       it must cover the predicate of every offer
    request     every request, as a message, must match it

`constraints`, `text` and `links` bound the matching time that one client can cause: each value of a message is compared
with each constraint at most once, in at most one pass over its text; and of several attributes with several values so
many combinations as `search_credit` allows are examined.

`Denied` names the missing right and, for a predicate, a correction. `covers` is sound but not complete: a predicate
that is not proved to stay within the rights is denied. Its cost grows with the filters of both sides, so rights have
few (`RIGHTS_LIMITS`).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from functools import lru_cache
from itertools import product
from math import prod
from typing import Any, Final

from cbnet._kernels.frame_matching import RightMatcher
from cbnet.errors import InputError, UndecidedError
from cbnet.language.computed import computed
from cbnet.language.condition import Presence
from cbnet.language.filter import Filter
from cbnet.language.message import Message
from cbnet.language.predicate import Limits, Predicate
from cbnet.language.relations.covering import covers, satisfiable
from cbnet.language.relations.witness import search_counterexample
from cbnet.language.syntax.parser import parse
from cbnet.language.values import RESERVED_NAME, Value, format_name, format_value, sort_key
from cbnet.matching import Table
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.reasons import ReasonCode, Refusal
from cbnet.toml_files import check_keys

RIGHTS_LIMITS: Final = Limits(length=4_096, filters=16, constraints=64)  # of one right
_MAX_COMPARED = 1_000  # filters of a predicate: as many as a subscription may have
_SEARCH_BUDGET = 64  # values that the search for a counterexample may try
_MAX_EXPLAINED = 1_000  # characters of a predicate: explaining a longer one costs more than refusing it
_MAX_COMBINATIONS = 256  # of the values of a message with several, per attribute of a right
_MAX_QUOTED = 140  # characters of a predicate in a message


class Denied(Refusal):
    """A peer is not allowed to do something."""

    code = ReasonCode.DENIED


@dataclass(frozen=True)
class Rights:
    """The rights of one client; None: unlimited."""

    publish: Predicate | None = None
    subscribe: Predicate | None = None
    offer: Predicate | None = None
    request: Predicate | None = None
    watch: bool = True
    manage: bool = True
    constraints: int | None = None
    text: int | None = None
    links: int | None = None
    filters: int | None = None
    weight: int | None = None
    messages_per_second: int | None = None
    bytes_per_second: int | None = None
    durable: bool = True
    durable_subscriptions: int | None = None
    durable_messages: int | None = None
    durable_bytes: int | None = None
    durable_age: int | None = None

    def check_publish(self, message: Message) -> None:
        """Raise `Denied` unless the client may publish a message."""
        self._check_text(message)
        self._check_message("publish", self.publish, message)
        if self.publish is not None:
            _check_every_value(self.publish, message)

    def publish_matcher(self) -> RightMatcher | None:
        """Return a matcher that makes the checks of `check_publish` on flat messages in frames; None: no checks."""
        if self.publish is None and self.text is None:
            return None
        return RightMatcher(None if self.publish is None else _table(self.publish)._compiled.index, self.text)

    def check_request(self, request: Message) -> None:
        """Raise `Denied` unless the client may send a request."""
        self._check_text(request)
        self._check_message("request", self.request, request)

    @property
    def limits_subscriptions(self) -> bool:
        """Whether there are predicates to which the client may not subscribe."""
        return self.subscribe is not None and Filter() not in self.subscribe.filters

    def check_subscribe(self, predicate: Predicate) -> None:
        """Raise `Denied` unless the client may subscribe to a predicate."""
        _check_predicate("subscribe to", self.subscribe, predicate)

    def check_offer(self, predicate: Predicate) -> None:
        """Raise `Denied` unless the client may offer a predicate."""
        _check_predicate("offer", self.offer, predicate)

    def check_count(self, right: str, count: int, where: str) -> None:
        """Raise `Denied` if the client would have more constraints, filters, links or subscriptions than it may."""
        limit = getattr(self, right)
        if limit is not None and count > limit:
            hint = f"ask the operator to raise `{right}`"
            raise Denied(f"too many {right} {where}; your limit is {limit:,}", hint=hint)

    def check_durable(self) -> None:
        """Raise `Denied` unless the client may have durable subscriptions."""
        if not self.durable:
            raise Denied("you may not have durable subscriptions", hint="ask the operator for `durable = true`")

    def _check_message(self, may: str, right: Predicate | None, message: Message) -> None:
        if right is not None and not _is_within(right, message):
            raise _denial(may, right, message)

    def _check_text(self, message: Message) -> None:
        if self.text is not None and (length := text_length(message)) > self.text:
            raise Denied(
                f"a message with {length:,} characters of text; your limit is {self.text:,}",
                hint="put data that is not matched into the payload",
            )

    def check_watch(self) -> None:
        """Raise `Denied` unless the client may observe the network: its traces, statuses and subscriptions."""
        if not self.watch:
            raise Denied("you may not observe the network", hint="ask the operator for `watch = true`")

    def check_manage(self, what: str) -> None:
        """Raise `Denied` unless the client may change what belongs to others."""
        if not self.manage:
            raise Denied(f"you may not {what}", hint="ask the operator for `manage = true`")


RIGHTS: Final = tuple(field.name for field in fields(Rights))
ALL_RIGHTS: Final = Rights()
_PREDICATES: Final = ("publish", "subscribe", "offer", "request")
_OTHERS: Final[Mapping[str, bool | int]] = {
    "watch": False,
    "manage": False,
    "constraints": 4_000,
    "text": 4_096,
    "links": 16,
    "durable": True,
    "durable_subscriptions": 256,
    "durable_messages": 1_000_000,
    "durable_bytes": 1 << 30,
}  # defaults in a configuration file
_QUOTAS: Final = (
    "filters",
    "weight",
    "messages_per_second",
    "bytes_per_second",
    "durable_age",
)  # None if not set
_TYPE_TEXTS: Final = {bool: "true or false", int: "a whole number"}


def text_length(message: Message) -> int:
    """Return the number of characters in the names, strings and tags of a message; a name counts once per value."""
    values: Iterable[tuple[str, object]] = message.attributes.items()
    if any(type(value) in (dict, list) for _, value in values):
        values = ((name, leaf.value) for name, leaves in message.leaves.items() for leaf in leaves)
    tags = message.repeated_tags if isinstance(message, Content) else message.tags
    length = sum(map(len, tags))
    for name, value in values:
        length += len(name) + (len(value) if type(value) is str else 0)
    return length


def read_rights(table: Mapping[str, Any], where: str) -> Rights:
    """Return the rights in a table of a configuration file; a right that is missing is not granted."""
    check_keys(table, RIGHTS, f" in {where}")
    values: dict[str, Any] = {}
    for right in _PREDICATES:
        text = table.get(right, "false")
        if not isinstance(text, str):
            raise InputError(
                f"{right} in {where} must be a predicate, not {text!r}", hint='write it as a string: "x = 1"'
            )
        try:
            values[right] = parse(text, RIGHTS_LIMITS)
        except InputError as error:
            raise InputError(f"{right} in {where}: {error.summary}") from None
    for right, default in _OTHERS.items():
        values[right] = value = table.get(right, default)
        if type(value) is not type(default) or value < 0:
            raise InputError(f"{right} in {where} must be {_TYPE_TEXTS[type(default)]}, not {value!r}")
    for quota in _QUOTAS:
        value = table.get(quota)
        if value is not None and (type(value) is not int or value < 1):
            raise InputError(f"{quota} in {where} must be a whole number above 0, not {value!r}")
        values[quota] = value
    return Rights(**values)


# --- denials


@lru_cache(maxsize=1_000)
def _table(right: Predicate) -> Table[int]:
    """Return a compiled right: every message of a client is matched with it."""
    return Table.build({0: right})


def _is_within(right: Predicate, message: Message) -> bool:
    """Return whether a message matches a right."""
    if not _tests_items(right):
        return bool(_table(right).match(message.members if isinstance(message, Content) else message))
    try:
        return right.matches(message)  # within the limit of `Content`: a table has none
    except UndecidedError:
        short = f"a message with too many values to decide whether it matches `{_short(right)}`"
        raise Denied(short, hint="publish shorter arrays") from None


@lru_cache(maxsize=1_000)
def _tests_items(right: Predicate) -> bool:
    """Return whether a right names attributes that are computed from arrays."""
    return any(computed(name) is not None for filter in right.filters for name in filter.used_names)


def _check_every_value(right: Predicate, message: Message) -> None:
    """Raise `Denied` if some values of a message match a right and others do not: subscribers may match any."""
    if not any(isinstance(value, dict | list) for value in message.attributes.values()):
        return
    values = {name: found for name in _names(right) if (found := _distinct(message.values(name)))}
    if prod(map(len, values.values())) > _MAX_COMBINATIONS:
        raise Denied(f"a message with too many values of the attributes in `{_short(right)}`", hint="publish several")
    tags = {RESERVED_NAME: sorted(message.tags)}
    for chosen in product(*values.values()):
        single = dict(zip(values, chosen, strict=True))
        if not _table(right).match(single | tags):
            shown = ", ".join(f"{format_name(name)} = {format_value(value)}" for name, value in single.items())
            raise Denied(f"you may only publish `{_short(right)}`: {_short(shown)} does not match it")


@lru_cache(maxsize=1_000)
def _names(right: Predicate) -> tuple[str, ...]:
    """Return the attributes that a right names."""
    tests = (condition.test for filter in right.filters for condition in filter.conditions)
    named = {test.name for test in tests if isinstance(test, Presence)}
    return tuple(sorted(named.union(*(filter.names for filter in right.filters))))


def _distinct(values: Iterable[Value]) -> list[Value]:
    return list({sort_key(value): value for value in values}.values())


def _denial(may: str, right: Predicate, message: Message) -> Denied:
    if not right.filters:
        return Denied(f"you may not {may} anything")
    closest = min((_failing(filter, message) for filter in right.filters), key=_size)
    return Denied(f"you may only {may} `{_short(right)}`: this message does not match `{_short(closest)}`")


def _failing(filter: Filter, message: Message) -> Filter:
    """Return the part of a filter that a message does not match; all of it if only the whole fails."""
    constraints = [each for each in filter.constraints if not Filter([each]).matches(message)]
    conditions = [each for each in filter.conditions if not Filter(conditions=[each]).matches(message)]
    tags = filter.tags - message.tags
    return Filter(constraints, tags, conditions) if constraints or conditions or tags else filter


def _size(filter: Filter) -> int:
    return len(filter.constraints) + len(filter.tags) + len(filter.conditions)


def _check_predicate(may: str, right: Predicate | None, predicate: Predicate) -> None:
    if right is None:
        return
    only = f"you may only {may} `{_short(right)}`"
    if len(predicate) > _MAX_COMPARED:
        raise Denied(f"{only}; a predicate of {len(predicate):,} filters is too large to compare with it")
    if covers(right, predicate):
        return
    if not right.filters:
        raise Denied(f"you may not {may} anything")
    if len(str(predicate)) > _MAX_EXPLAINED:
        raise Denied(f"{only}; this predicate is not proved to stay within it")
    filter = next(each for each in predicate.filters if not covers(right, each))
    raise Denied(f"{only}: {_excess(right, filter)}", hint=_correction(right, predicate))


def _excess(right: Predicate, filter: Filter) -> str:
    """Describe the messages that a filter matches beyond a right, if an example is found."""
    search = search_counterexample(right, filter, _SEARCH_BUDGET)
    if search.message is None:
        return f"`{_short(filter)}` is not proved to stay within it"
    return f"`{_short(filter)}` also matches other messages, such as {_short(search.message)}"


def _correction(right: Predicate, predicate: Predicate) -> str:
    """Return a hint on how to restrict a predicate to a right."""
    corrected = within(right, predicate)
    if not corrected.filters:
        return "no values match both"
    text = str(corrected)
    if len(text) <= _MAX_QUOTED:
        return f"write `{text}`"
    return f"add `{_short(right)}` to each of its filters"


def within(right: Predicate, predicate: Predicate) -> Predicate:
    """Return the conjunction of a predicate and a right, without redundant constraints.

    One value of each attribute must match both, which is what `covers` can prove: of a message with several values,
    one may match the predicate and another the right.
    """
    kept: dict[Filter, None] = {}
    for filter in predicate.filters:
        if covers(right, filter):
            kept[filter] = None
        else:
            both = (_both(wide, filter) for wide in right.filters)
            kept.update(dict.fromkeys(filter for filter in both if satisfiable(filter)))
        if len(kept) > RIGHTS_LIMITS.filters:  # nobody reads more
            break
    return Predicate(kept)


def _both(wide: Filter, filter: Filter) -> Filter:
    """Return the conjunction of two filters, without constraints of `wide` that `filter` implies."""
    missing = [each for each in wide.constraints if not covers(Filter([each]), filter)]
    return Filter([*missing, *filter.constraints], wide.tags | filter.tags, wide.conditions + filter.conditions)


def _short(value: object) -> str:
    text = str(value)
    return text if len(text) <= _MAX_QUOTED else text[: _MAX_QUOTED - 1] + "…"
