"""Messages and bytes per second of an account."""

import pytest

from cbnet.network.link.link import Link
from cbnet.network.protocol.frames import Hello
from cbnet.network.router.router import ANY_NUMBER
from cbnet.network.security.rights import ALL_RIGHTS, Rights
from cbnet.network.transport.fair_scheduler import ClientRates


def link(id, rights, name="ticker"):
    hello = Hello(low=1, high=1, role="client", name=name, network="n", incarnation=0, link=0, scheme="")
    return Link(id, hello=hello, rights=rights)


def receive(rates, over, messages, now, bytes=0):
    over.traffic.messages_received += messages
    over.traffic.received += bytes
    return rates.pause(over, now)


def test_without_rates_nothing_is_limited():
    rates, one = ClientRates(), link(1, ALL_RIGHTS)
    assert rates.allowed(one, 0.0) == ANY_NUMBER
    assert receive(rates, one, 10**9, 0.0, 10**9) == 0.0


def test_a_second_is_in_reserve_and_then_the_rate_holds():
    rates, one = ClientRates(), link(1, Rights(messages_per_second=100))
    assert rates.allowed(one, 0.0) == 100
    assert receive(rates, one, 100, 0.0) == pytest.approx(0.01)  # until there is one again
    assert rates.allowed(one, 0.0) == 0
    assert rates.allowed(one, 0.2501) == 25
    assert receive(rates, one, 25, 0.2501) > 0
    assert rates.allowed(one, 60.0) == 100  # no more than a second


def test_links_of_an_account_share_its_rate_and_accounts_do_not():
    rights = Rights(messages_per_second=100)
    rates, one, two, other = ClientRates(), link(1, rights), link(2, rights), link(3, rights, "other")
    rates.allowed(one, 0.0)
    receive(rates, one, 60, 0.0)
    assert rates.allowed(two, 0.0) == 40
    assert rates.allowed(other, 0.0) == 100


def test_connecting_again_does_not_renew_the_reserve():
    rates, one = ClientRates(), link(1, Rights(messages_per_second=100))
    receive(rates, one, 100, 0.0)
    assert rates.allowed(link(2, one.rights), 0.0) == 0


def test_bytes_may_be_read_in_advance_and_are_waited_for():
    rates, one = ClientRates(), link(1, Rights(bytes_per_second=1_000))
    assert receive(rates, one, 1, 0.0, 900) == 0.0
    assert receive(rates, one, 1, 0.0, 5_100) == pytest.approx(5.0)  # 1,000 in reserve, 6,000 read
    assert receive(rates, one, 0, 5.0) == 0.0


def test_new_rates_count_from_the_moment_they_apply():
    rates, one = ClientRates(), link(1, ALL_RIGHTS)
    receive(rates, one, 10**6, 0.0)
    one.rights = Rights(messages_per_second=10)
    rates.begin(one)
    assert rates.pause(one, 0.0) == 0.0
    assert rates.allowed(one, 0.0) == 10
