"""Link records that must be signed: what a router refuses, and what it believes without asking the owner."""

import logging

from msgspec.structs import replace
from support.link_networks import LinkRouter
from support.memory_networks import sent
from support.signing_routers import seed_of, signatures

from cbnet.network.link.settings import Settings
from cbnet.network.linkstate.records import RecordVersion
from cbnet.network.protocol.frames import LinkField, LinkRecord, RecordEntry, RecordRequest, RecordSummary
from cbnet.network.security.access import Access
from cbnet.network.security.record_signatures import RecordSignatures
from cbnet.network.simulation.memory_network import MemoryNetwork

NAMES = "abcdx"
TO_B = {"b": LinkField(1, [7])}


def three(*, first=0):
    """Return a router a that requires signatures, with the neighbours b, c and d, over the links 1, 2 and 3."""
    router = LinkRouter("a", access=Access(signatures=signatures("a", NAMES, first=first)))
    for link, name in enumerate("bcd", 1):
        router.greet(link, name)
    router.wait(0.2)
    return router


def record(owner, sequence=5, *, signer=None, neighbours=TO_B, incarnation=1, age=0):
    signer = signatures(owner) if signer is None else signer
    return signer.sign(LinkRecord(owner, incarnation, sequence, 1, age, neighbours))


def forwarded(actions):
    return [action.link for action in actions if isinstance(getattr(action, "frame", None), LinkRecord)]


def test_the_own_record_is_signed():
    (own,) = sent(three().greet(4, "x"), LinkRecord)[:1]
    assert own.owner == "a"
    assert signatures("b", NAMES).problem(own) == ""


def test_a_record_with_the_signature_of_its_owner_is_stored_and_forwarded_unchanged():
    router = three()
    assert forwarded(router.say(1, record("x"))) == [2, 3]
    assert router.database.record("x", router.context.now).signature == record("x").signature


def test_a_record_that_has_grown_older_is_still_accepted():
    assert forwarded(three().say(1, replace(record("x"), age=50_000))) == [2, 3]


def test_other_records_are_neither_stored_nor_forwarded_and_are_counted_and_logged(caplog):
    forged = {
        "it is not signed": replace(record("x"), signature=b""),
        "the signature is not that of its owner": record("x", signer=RecordSignatures("cbnet", seed_of("c"))),
        "public_keys has no key of 'y'": record("y"),
    }
    for number, (reason, frame) in enumerate(forged.items(), 1):
        router = three()
        caplog.clear()
        assert forwarded(router.say(2, frame)) == []
        assert {*router.database.routers()} == {"a"}
        assert router.context.counters["records_refused"] == 1, number
        (line,) = [line for line in caplog.records if line.levelno == logging.WARNING]
        assert line.getMessage() == "record refused"
        assert line.members == {"kind": "links", "owner": frame.owner, "neighbour": "c", "reason": reason}


def test_a_record_that_was_signed_before_is_refused_with_any_other_content():
    for change in (
        {"sequence": 6},
        {"incarnation": 2},
        {"changes": 2},
        {"neighbours": {}},
        {"path": ["g"]},
        {"owner": "d"},
    ):
        assert forwarded(three().say(1, replace(record("x"), **change))) == [], change


def test_a_signed_record_of_a_neighbour_is_accepted_from_others():
    router = three()
    router.say(2, record("c"))
    router.say(1, record("c", 6, neighbours={}))
    assert router.database.version("c") == RecordVersion(6, 1)


def test_a_refused_record_is_no_longer_awaited():
    router = three()
    router.say(1, RecordSummary("links", [RecordEntry("x", 1, 5)]))
    assert not router.records.is_synchronised
    for link in (2, 3):
        router.say(link, RecordSummary("links", []))
    router.say(1, replace(record("x"), signature=b""))
    assert router.records.is_synchronised


def test_records_of_routers_without_a_key_are_not_requested():
    assert sent(three().say(1, RecordSummary("links", [RecordEntry("y", 1, 5)])), RecordRequest) == []


def test_a_claim_about_the_own_record_is_requested_and_supersedes_nothing():
    router = three()
    before, claim = router.own.version, [RecordEntry("a", 5, 10**15)]
    done = router.say(1, RecordSummary("links", claim)) + router.say(1, RecordRequest("links", claim))
    assert sent(done, RecordRequest) == [RecordRequest("links", claim)]
    assert router.own.version == before
    router.wait(10, answering=(1, 2, 3))
    assert len(router.records._requests) == 0


def test_a_record_of_an_earlier_incarnation_is_outbid():
    router = three()
    before = router.own.version.sequence
    earlier = record("a", before + 70, incarnation=5)
    router.say(1, RecordSummary("links", [RecordEntry("a", 5, before + 70)]))
    (own,) = {each.sequence for each in sent(router.say(1, earlier), LinkRecord)}
    assert own == before + 71


def test_a_router_that_restarts_outbids_its_earlier_records_before_it_has_heard_of_them():
    earlier, later = three(first=1_000_000), three(first=2_000_000)  # 1,000 s apart
    earlier.wait(60)
    assert later.database.version("a").is_newer(earlier.database.version("a"))


def test_a_request_without_entries_is_answered_with_a_summary():
    router = three()
    router.say(1, record("x"))
    (summary,) = sent(router.say(2, RecordRequest("links", [])), RecordSummary)
    assert {entry.owner for entry in summary.entries} == {"a", "x"}


# --- a whole network


def seconds_apart(access):
    """Return for how many of 20 seconds some router does not reach c while the router m forges its record."""
    memory = MemoryNetwork(seed=1)
    for name in "abcm":
        memory.add(Settings(name), access=access(name))
    for cable in ("ab", "bc", "am", "bm"):
        memory.add_cable(*cable)
    memory.run(5)

    def forge():
        sequence = memory.router("a").database.version("c").sequence + 1
        forged = LinkRecord("c", 5, sequence, sequence, 0, {})
        for end in memory.hosts["m"].ends.values():
            memory.send(end, forged)

    memory.every(0.1, forge)
    apart = 0
    for _ in range(20):
        memory.run(1)
        apart += any("c" not in memory.router(name).version.names for name in "abm")
    return apart


def test_forged_link_records_separate_routers_without_keys_and_none_with_them():
    assert seconds_apart(lambda _: Access()) > 5
    assert seconds_apart(lambda name: Access(signatures=signatures(name, "abcm"))) == 0
