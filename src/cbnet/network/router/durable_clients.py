"""Handlers of client frames about durable subscriptions and acknowledged publishing.

A client draws a new publisher number each time it starts. A home knows a limited number of publishers, whatever their
accounts; so a router lets the clients of one account use only a share of them in the time for which a home knows them.
"""

from __future__ import annotations

from collections import OrderedDict
from functools import partial
from typing import Any, Final, TypeAlias

from cbnet.errors import InputError
from cbnet.language.predicate import Predicate
from cbnet.network.announce.confirmations import SUBSCRIPTION, Confirmations
from cbnet.network.durable.durable_router import DurableRouter
from cbnet.network.durable.home_log.journal import BackedUp
from cbnet.network.durable.publisher_windows import MAX_PUBLISHERS, PUBLISHER_AGE
from cbnet.network.durable.subscriptions.durable_subscription import DurableSubscription
from cbnet.network.link.context import RouterContext
from cbnet.network.link.link import Link
from cbnet.network.logs import audit, audit_change
from cbnet.network.protocol import frames
from cbnet.network.protocol.content import Content
from cbnet.network.protocol.durable_frames import MAX_UNSETTLED
from cbnet.network.protocol.predicate_texts import filters_of, predicate_of
from cbnet.network.protocol.reasons import refused
from cbnet.network.protocol.wire import Data
from cbnet.network.router.filter_quotas import FilterQuotas
from cbnet.network.security.rights import ALL_RIGHTS, Denied

Operation: TypeAlias = (
    frames.DurableRemove | frames.DurableLimit | frames.DurablePeek | frames.DurableMove | frames.DurablePurge
)  # on a durable subscription, perhaps of another account


class DurableClientHandler:
    """Handles the frames of one router's clients about durable subscriptions."""

    def __init__(
        self,
        context: RouterContext,
        durable: DurableRouter,
        confirmations: Confirmations,
        quotas: FilterQuotas,
    ) -> None:
        self._context = context
        self._confirmations = confirmations
        self._durable = durable
        self._quotas = quotas
        self._publishers = AccountPublishers(context)

    def subscribe(self, client: Link, frame: frames.DurableSubscribe) -> None:
        """Attach a client to a durable subscription, new or existing."""
        client.rights.check_durable()
        self._durable.check_home(client.account, frame.name)
        if self._durable.park(client.id, frame):
            return
        registry = self._durable.registry
        present = registry.find(client.account, frame.name)
        filters = filters_of(frame.predicate) if frame.predicate else []
        if present is None:
            self._quotas.check(client, self._quotas.subscriptions, filters)
        wanted = predicate_of(frame.predicate or ("false" if present is None else present.saved.predicate))
        client.rights.check_subscribe(wanted)
        if present is None and filters and frame.start is not None:
            self._check_history(client, wanted)
        registry.subscribe(client.id, frame, client.account)

    def replay(self, client: Link, frame: frames.Replay) -> None:
        """Start a replay subscription."""
        if self._durable.park(client.id, frame):
            return
        followers = self._durable.followers
        wanted = predicate_of(frame.predicate)
        filters = filters_of(frame.predicate)
        replaced = followers.load_of(client.id, frame.id)
        self._quotas.check(client, self._quotas.subscriptions, filters, replaced)
        if client.rights.subscribe is not None:
            client.rights.check_subscribe(wanted)
        self._check_history(client, wanted)
        followers.subscribe(client, frame)
        if frame.wait:
            self._confirmations.wait(client.id, frame.id, SUBSCRIPTION, followers.history.filters, frame.wait)
        else:
            self._context.outbox.send(client.id, frames.Subscribed(frame.id, False, 1, []))

    def review(self, client: Link) -> None:
        """Detach a client whose rights have changed from subscriptions it may no longer have; messages stay on disk."""
        for frame, id, predicate in self._durable.attached(client.id):
            try:
                if frame == frames.frame_number(frames.DurableSubscribe):
                    client.rights.check_durable()
                client.rights.check_subscribe(predicate_of(predicate))
            except Denied as error:
                self._durable.detach(client.id, id)
                audit("keep durable subscriptions", error.summary, client=client.account, address=client.address)
                self._context.outbox.send(client.id, refused(frame, id, error))

    def publish(self, client: Link, frame: frames.DurablePublish) -> None:
        """Publish a message whose publisher waits until it is stored."""
        if not frame.floor <= frame.sequence < frame.floor + MAX_UNSETTLED:
            raise InputError(f"message {frame.sequence} is not one of the {MAX_UNSETTLED:,} from {frame.floor} on")
        content = Content(frame)
        if client.rights is not ALL_RIGHTS:
            client.rights.check_publish(content)
            self._publishers.check(client.account, frame.publisher)
        self._durable.publish(client, frame)

    def publish_run(self, client: Link, data: Data, start: int, end: int, most: int) -> int:
        """Publish the messages in bytes that can be stored without an object for each; return where they end."""
        run = self._durable.runs.read(client.id, data, start, end, most)
        if run is None:
            return start
        if client.rights is not ALL_RIGHTS:
            try:
                self._publishers.check(client.account, run.publisher)
            except Denied:
                return start  # each message is refused
        if not self._durable.runs.publish(client, self._durable.held, run):
            return start
        client.traffic.messages_received += len(run.contents)
        return run.end

    def query(self, client: Link, frame: frames.DurableQuery) -> None:
        """Report the durable subscriptions: all if the client may watch or manage, else those of its account."""
        self._context.outbox.send(client.id, self._durable.report(client, frame))

    def remove(self, client: Link, frame: frames.DurableRemove) -> None:
        """Remove a durable subscription."""
        subscription = self._existing(client, frame)
        messages = self._durable.registry.remove(subscription)
        self._audit(client, frame, "remove", messages=messages)
        self._answer(client, frames.DurableRemoved(frame.number, messages))

    def limit(self, client: Link, frame: frames.DurableLimit) -> None:
        """Change limits of a durable subscription."""
        subscription = self._existing(client, frame)
        limits = self._durable.registry.limit(subscription, frame)
        self._audit(client, frame, "limit", limits=str(limits))
        self._answer(client, frames.DurableLimited(frame.number, limits))

    def peek(self, client: Link, frame: frames.DurablePeek) -> None:
        """Send a client messages of a durable subscription."""
        source = self._readable(client, frame)
        self._durable.registry.messages.peek(client.id, frame, source)
        self._audit(client, frame, "peek", first=frame.first)

    def move(self, client: Link, frame: frames.DurableMove) -> None:
        """Move messages to another durable subscription."""
        source, registry = self._readable(client, frame), self._durable.registry
        registry.messages.move(client.id, frame, source, registry.existing(source.saved.account, frame.to))
        self._audit(client, frame, "move", to=frame.to)

    def purge(self, client: Link, frame: frames.DurablePurge) -> None:
        """Remove messages of a durable subscription."""
        source = self._existing(client, frame)
        self._durable.registry.messages.purge(client.id, frame, source)
        self._audit(client, frame, "purge")

    def _readable(self, client: Link, frame: frames.DurablePeek | frames.DurableMove) -> DurableSubscription:
        """Return a durable subscription whose messages a client may read."""
        source = self._existing(client, frame)
        if source.saved.account == client.account:
            client.rights.check_subscribe(predicate_of(source.saved.predicate))
        return source

    def _audit(self, client: Link, frame: Operation, operation: str, **members: Any) -> None:
        """Record what a client does with a subscription of another account."""
        if frame.account not in (None, client.account):
            whose = {"account": frame.account, "name": frame.name}
            audit_change(operation, client=client.name, address=client.address, **whose, **members)

    def forget(self, client: Link, frame: frames.ForgetHome) -> None:
        """Remove the record of a home that will not return."""
        client.rights.check_manage("make routers forget a home")
        self._durable.forget(frame.home)
        audit_change("forget", client=client.name, address=client.address, home=frame.home)
        self._answer(client, frames.DurableRemoved(frame.number))

    def back_up(self, client: Link, frame: frames.JournalBackup) -> None:
        """Make a backup of the journal."""
        client.rights.check_manage("back up the journal")
        self._durable.back_up(frame.name, partial(self._backed_up, client, frame))

    def _backed_up(self, client: Link, frame: frames.JournalBackup, event: BackedUp) -> None:
        answer: frames.Frame
        if event.problem:
            answer = refused(frames.frame_number(frames.JournalBackup), frame.number, InputError(event.problem))
        else:
            audit_change("backup", client=client.name, address=client.address, file=event.file)
            answer = frames.JournalBackedUp(frame.number, event.file, event.bytes)
        if client.is_open:
            self._context.outbox.send(client.id, answer)

    def _existing(self, client: Link, frame: Operation) -> DurableSubscription:
        """Return a subscription of this router that a client may change."""
        account = client.account if frame.account is None else frame.account
        if account != client.account:
            client.rights.check_manage("change durable subscriptions of other accounts")
        self._durable.check_home(account, frame.name)
        return self._durable.registry.existing(account, frame.name)

    def _answer(self, client: Link, frame: frames.Frame) -> None:
        """Answer a client once all changes are on disk."""
        self._durable.after(partial(self._context.outbox.send, client.id, frame))

    def _check_history(self, client: Link, wanted: Predicate) -> None:
        """Raise an `InputError` unless the predicate of the history, which may be secret, covers the wanted one."""
        self._durable.followers.history.check_contains(wanted, is_shown=client.rights.watch)


MAX_ACCOUNT_PUBLISHERS: Final = MAX_PUBLISHERS // 10


class AccountPublishers:
    """The publishers that the clients of one router use."""

    def __init__(self, context: RouterContext) -> None:
        self._context = context
        self._used: dict[str, OrderedDict[int, float]] = {}  # by account: time of the last message; oldest first

    def check(self, account: str, publisher: int) -> None:
        """Record a message of a publisher; raise `Denied` if its account has too many others."""
        now, used = self._context.now, self._used.setdefault(account, OrderedDict())
        while used and now - next(iter(used.values())) >= PUBLISHER_AGE:
            used.popitem(last=False)
        if publisher not in used and len(used) >= MAX_ACCOUNT_PUBLISHERS:
            raise Denied(
                f"your clients are too many durable publishers: {len(used):,} in {PUBLISHER_AGE:,.0f} s",
                hint="publish several messages over one client",
            )
        used[publisher] = now
        used.move_to_end(publisher)
