"""Results of handlers become items or log lines; answers to requests become replies or errors."""

import asyncio
import logging

import pytest

from cbnet import InputError, Message
from cbnet.network import Item, NoReply, Timeout
from cbnet.network.client.async_pull import AsyncOffer, OfferAnswers, pull_frame, reply_of
from cbnet.network.protocol.fields import MAX_PAYLOAD_BYTES
from cbnet.network.protocol.frames import Answer, HolderRequest, ItemField, PullFailure, PullReply, StepField
from cbnet.network.protocol.request_codec import as_request, request_to_bytes
from cbnet.network.protocol.wire import encode

ASKED = HolderRequest(7, 1, request_to_bytes(as_request('s = "A" and #t')))


def answered(handler):
    """Return the frames that answer a request, and the number of requests the offer has answered."""

    async def story():
        sent = []
        answers = OfferAnswers(sent.append)
        offer = None if handler is None else AsyncOffer(None, 1, "true", handler)
        answers.start(ASKED, offer)
        while not sent:
            await asyncio.sleep(0)
        await answers.close()
        return sent, 0 if offer is None else offer.answered

    return asyncio.run(story())


async def later(_):
    await asyncio.sleep(0)
    return Item({"s": "A", "x": 1, "#": ["t", "u"]}, b"p", keep=1.5)


@pytest.mark.parametrize(
    ("handler", "item"),
    [
        (lambda _: b"p", ItemField({"s": "A"}, ["t"], b"p", None)),
        (lambda request: Item(request), ItemField({"s": "A"}, ["t"], b"", None)),
        (lambda _: Item(Message({"s": "A"}, ["t"]), b"p", 0), ItemField({"s": "A"}, ["t"], b"p", 0)),
        (later, ItemField({"s": "A", "x": 1}, ["t", "u"], b"p", 1_500)),
        (lambda _: None, None),
        (None, None),  # the offer was just withdrawn
    ],
)
def test_item_is_sent_as_the_handler_returned_it(handler, item):
    assert answered(handler) == ([encode(Answer(7, item))], int(item is not None))


@pytest.mark.parametrize(
    ("handler", "problem"),
    [
        (lambda _: 1 / 0, "ZeroDivisionError"),
        (lambda _: "text", "return an Item, bytes or None"),
        (lambda _: Item({"s": b"A"}), "a bytes object is not a value"),
        (lambda _: b"x" * (MAX_PAYLOAD_BYTES + 1), "bytes of a payload"),
        (lambda r: Item(Message({**r.attributes, "x": "x" * (1 << 20)}, r.tags)), "bytes of a message"),
        (lambda _: Item({"s": "A"}), "the item does not match the request"),
        (lambda r: Item(r, keep=-1), "invalid keep time -1 s"),
        (lambda r: Item(r, keep=float("nan")), "invalid keep time nan s"),
    ],
)
def test_invalid_item_is_logged_and_counts_as_none(handler, problem, caplog):
    with caplog.at_level(logging.ERROR, logger="cbnet.network"):
        assert answered(handler) == ([encode(Answer(7, None))], 0)
    assert problem in caplog.text


def test_handler_receives_the_request_as_a_message():
    asked = []
    answered(asked.append)
    assert asked == [Message({"s": "A"}, ["t"])]


@pytest.mark.parametrize(
    ("changes", "problem"),
    [({"max_holders": 0}, "from 1 to 64"), ({"max_holders": 65}, "from 1 to 64"), ({"timeout": 0}, "up to 3,600"),
     ({"timeout": 1e9}, "up to 3,600"), ({"timeout": float("nan")}, "up to 3,600"), ({"request": "a < 1"}, "only")],
)  # fmt: skip
def test_invalid_request_is_an_input_error(changes, problem):
    arguments = {"request": "a = 1", "timeout": 5.0, "max_holders": 8, **changes}
    with pytest.raises(InputError, match=problem):
        pull_frame(1, **arguments, fresh=False, trace=False)


def test_reply_has_its_tags_under_the_reserved_key():
    reply = reply_of(
        PullReply(
            number=1,
            attributes={"a": 1},
            tags=["t"],
            payload=b"p",
            holder="h",
            cache="c",
            age=1_500,
            asked=2,
            steps=[StepField("c", "what")],
        ),
        5.0,
    )
    assert reply == ({"a": 1, "#": ["t"]}, b"p", "h", "c", 1.5, 2, [StepField("c", "what")])
    assert reply_of(
        PullReply(
            number=1, attributes={"a": 1}, tags=[], payload=b"", holder="h", cache="", age=0, asked=1, steps=None
        ),
        5.0,
    ).message == {"a": 1}


@pytest.mark.parametrize(
    ("tried", "asked", "text"),
    [
        (0, 0, "no reply: no client offers it"),
        (2, 0, "no reply: it is offered, but no holder could be asked"),
        (1, 1, "no reply: the holder asked does not have it"),
        (2, 3, "no reply: none of the 3 holders asked has it"),
    ],
)
def test_no_reply_gives_the_reason(tried, asked, text):
    with pytest.raises(NoReply) as raised:
        reply_of(PullFailure(1, False, tried, asked, None), 5.0)
    assert (str(raised.value), raised.value.tried, raised.value.asked, raised.value.steps) == (text, tried, asked, [])


def test_late_reply_is_a_timeout():
    with pytest.raises(Timeout, match=r"no reply within 0\.5 s"):
        reply_of(PullFailure(1, True, 0, 0, None), 0.5)
