"""The web page of a network in a real browser, served by routers in processes."""

import json
from contextlib import closing

import pytest
from playwright.sync_api import expect
from support.chromium import TIMEOUT
from support.http_servers import running_http
from support.waiting import wait_until

from cbnet import connect
from cbnet.network import ProcessNetwork
from cbnet.network.security.access import Access, Account, SecurityPolicy
from cbnet.network.security.rights import ALL_RIGHTS, Rights
from cbnet.network.security.tokens import new_token
from cbnet.topology import topology

HOSTILE = '<img src=x onerror="alert(1)">'  # the name of a client
PHONE = 360  # pixels
REFUSED = "Failed to load resource: the server responded with a status of 400 (Bad Request)"  # Chromium's own note


@pytest.fixture(scope="module")
def network():
    """A ring of six routers; two subscribers beside each other, two hops from the router of the page."""
    with ProcessNetwork.of(topology("ring:6"), http=True) as processes:
        processes.wait()
        with (
            connect(str(processes.addresses["2"]), name="billing") as near,
            connect(str(processes.addresses["3"]), name=HOSTILE) as far,
        ):
            near.subscribe("price < 500", wait=True)
            far.subscribe("price < 500 and #urgent", wait=True)
            yield processes


@pytest.fixture
def visit(network, browser):  # the browser has an event loop, so that waiting for the network comes first
    """Open the page of the first router; what it prints to the console is an error."""
    problems, contexts = [], []

    def visit(width=1280):
        context = browser.new_context(viewport={"width": width, "height": 900}, color_scheme="light")
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(TIMEOUT)
        page.on("console", lambda message: problems.append(f"console: {message.text}"))
        page.on("pageerror", lambda error: problems.append(f"error: {error}"))
        page.on("dialog", lambda dialog: problems.append(f"dialog: {dialog.message}"))
        page.goto(f"http://{network.http_addresses['0']}/")
        page.wait_for_selector(".router")
        return page

    yield visit
    for context in contexts:
        context.close()
    assert [each for each in problems if REFUSED not in each] == []


def router(page, name):
    return page.locator(f".router[data-router='{name}']")


def test_the_map_shows_routers_links_clients_and_who_wants_what(visit):
    page = visit()
    expect(page.locator(".router.up")).to_have_count(6)
    expect(page.locator(".link.up")).to_have_count(6)
    expect(page.locator("#summary")).to_have_text("cbnet: 6 routers · 2 clients · 2 subscriptions · 0 messages/s")
    expect(page.locator("#connection")).to_have_text("live")
    expect(router(page, "2")).to_have_attribute(
        "aria-label", "router 2, 1 client, 1 subscription, 0 messages per second"
    )
    expect(router(page, "2").locator(".clients circle")).to_have_count(1)
    router(page, "3").click()
    expect(page.locator(".wants li")).to_have_text([f"{HOSTILE}price < 500 and #urgent"])


def test_rates_appear_on_the_links_that_messages_pass(visit, network):
    page = visit()
    with connect(str(network.addresses["1"])) as publisher:

        def is_busy():
            publisher.publish_many([{"price": 1}] * 10)
            return page.locator(".link.busy").count()

        wait_until(is_busy)
    (title,) = page.locator(".link.busy title").all_text_contents()
    assert title.startswith("1 – 2: ")
    assert title.endswith("messages/s to 2, 0 to 1")


def test_a_trace_highlights_the_path_and_why_not_names_the_failing_constraint(visit):
    page = visit()
    page.get_by_role("tab", name="Message").click()
    page.get_by_label("Message, as JSON").fill(json.dumps({"price": 300}))
    page.get_by_role("button", name="Trace, deliver nothing").click()
    expect(page.locator("#trace .card")).to_have_text("It would be delivered at 1 router: 2.")
    sent = page.locator(".trace .sent")
    expect(sent).to_have_count(2)
    assert {line.get_attribute("data-link") for line in sent.all()} == {"0 → 1", "1 → 2"}
    expect(page.locator(".router.delivered")).to_have_attribute("data-router", "2")
    expect(page.locator(".router.off-trace")).to_have_count(3)
    subscriber = page.get_by_label("Subscriber")
    subscriber.select_option(label=f"3: {HOSTILE}, price < 500 and #urgent")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#why-answer .failure")).to_have_text("#urgent fails: the tag is missing")
    subscriber.select_option(label="2: billing, price < 500")
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#why-answer .card")).to_contain_text("Yes: billing at router 2 gets it.")
    page.get_by_role("button", name="Clear").click()
    expect(sent).to_have_count(0)


def test_only_the_subscriptions_of_routers_that_have_changed_are_requested(visit, network):
    page = visit()
    requests = []
    page.on("request", lambda request: requests.append(request.url.rpartition("/")[2]))
    page.get_by_role("tab", name="Message").click()
    options = page.locator("#subscriber option")
    expect(options).to_have_count(3)
    assert sorted(requests) == ["subscriptions?router=2", "subscriptions?router=3"]
    requests.clear()
    with connect(str(network.addresses["5"]), name="late") as late:
        late.subscribe("price < 9", wait=True)
        expect(options).to_have_count(4)
        assert requests == ["subscriptions?router=5"]
    expect(options).to_have_count(3)
    page.wait_for_timeout(2_500)  # two more states of the network
    assert requests == ["subscriptions?router=5"]


def test_an_answer_that_does_not_reach_a_router_names_the_last_hop(visit):
    page = visit()
    hop = {"router": "1", "network": "", "came_from": "0", "hops": 1, "dropped": "", "delivered": [], "missed": [],
           "passed_to": [], "branches": [{"neighbour": "2", "is_sent": False, "routers": 1, "why": ["the link is down"]}]}  # fmt: skip
    page.route("**/trace", lambda route: route.fulfill(json={"hops": [hop], "missing": []}))
    page.get_by_role("tab", name="Message").click()
    page.get_by_label("Message, as JSON").fill(json.dumps({"price": 300}))
    page.get_by_label("Subscriber").select_option(label="2: billing, price < 500")
    page.get_by_role("button", name="Explain").click()
    card = page.locator("#why-answer .card")
    expect(card).to_contain_text("No: it matches, but it does not reach router 2.")
    expect(card.locator(".no")).to_have_text("not to 2 the link is down")


def test_a_stream_without_bytes_is_ended(visit):
    page = visit()
    page.clock.install()
    page.evaluate(
        """async () => {
          const { events } = await import("/page/api.js");
          const silent = (signal) => new ReadableStream({
            start: (stream) => signal.addEventListener("abort", () => stream.error(signal.reason)) });
          window.fetch = async (_, { signal }) => new Response(silent(signal));
          window.ended = events("watch", new AbortController().signal).next().catch((error) => error.message);
        }"""
    )
    page.clock.fast_forward(39_000)
    assert page.evaluate("Promise.race([window.ended, Promise.resolve('open')])") == "open"
    page.clock.fast_forward(2_000)
    assert page.evaluate("window.ended") == "The router has sent nothing for 40 s."


def test_a_report_of_missed_messages_is_shown(visit):
    page = visit()
    event = 'event: missed\ndata: {"messages": 2, "text": "2 missed"}\n\n'
    page.route("**/subscribe?*", lambda route: route.fulfill(body=event, content_type="text/event-stream"))
    page.evaluate(
        """() => {
          window.notes = [];
          const note = (changes) => notes.push(...changes.map(({ addedNodes }) => addedNodes[0].textContent));
          new MutationObserver(note).observe(document.getElementById("listen-note"), { childList: true });
        }"""
    )
    page.get_by_role("tab", name="Message").click()
    page.get_by_role("button", name="Subscribe").click()
    expect(page.locator("#listen-note")).to_have_text("The router ended the subscription.")
    assert page.evaluate("notes") == ["2 missed", "The router ended the subscription."]


def test_a_published_message_is_received_in_the_page(visit):
    page = visit()
    page.get_by_role("tab", name="Message").click()
    page.locator("#listen-predicate").fill("kind = 7")
    page.get_by_role("button", name="Subscribe").click()
    expect(page.locator("#listen-note")).to_have_text("Subscribed at router 0.")
    page.get_by_label("Message, as JSON").fill('{"kind": 7}')
    page.get_by_role("button", name="Publish").click()
    expect(page.locator("#received li")).to_have_text(['{"kind":7}from 0'])


def test_the_playground_checks_explains_and_shows_a_counter_example(visit):
    page = visit()
    page.get_by_role("tab", name="Predicates").click()
    page.locator("#predicate").fill("x > 3")
    page.locator("#other").fill("x > 2")
    expect(page.locator(".counterexample")).to_have_text('{"x":3}')
    page.locator("#try").fill('{"x": 1}')
    expect(page.locator("#explain .failure")).to_have_text("x > 3 fails: x is 1")
    page.locator("#predicate").fill("x >")
    expect(page.locator("#check .card")).to_contain_text("column 4")
    assert page.locator("#explain > *, #covers > *").count() == 0


def test_the_playground_shows_no_answer_to_a_text_before(visit):
    page = visit()
    page.get_by_role("tab", name="Predicates").click()
    expect(page.locator("#covers .card")).to_be_visible()
    page.clock.install(time=0)
    page.clock.pause_at(3_600_000)  # a key is pressed, and the time after which it is computed does not come
    for area, answers in (("#try", "#explain > *"), ("#other", "#covers > *"), ("#predicate", "#check > *")):
        assert page.locator(answers).count() > 0
        page.locator(area).press("End")
        page.locator(area).type(" ")
        assert page.locator(answers).count() == 0
    page.clock.run_for(1_000)
    for answers in ("#check dl", "#explain .card", "#covers .card"):
        expect(page.locator(answers)).to_be_visible()


def test_an_answer_to_another_question_is_not_shown(visit):
    page = visit()
    held = []
    page.route("**/explain", lambda route: held.append(route) or len(held) == 1 or route.continue_())
    page.get_by_role("tab", name="Message").click()
    page.get_by_label("Subscriber").select_option(label="2: billing, price < 500")
    with page.expect_request("**/explain"), page.expect_response("**/trace"):
        page.get_by_role("button", name="Explain").click()
    page.get_by_label("Message, as JSON").fill('{"price": 900}')
    with page.expect_response("**/explain"):
        held[0].continue_()
    page.evaluate("() => new Promise((drawn) => requestAnimationFrame(() => requestAnimationFrame(drawn)))")
    assert page.locator("#why-answer > *").count() == 0
    page.get_by_role("button", name="Explain").click()
    expect(page.locator("#why-answer .failure")).to_have_text("price < 500 fails: price is 900")


def test_every_dialect_has_an_example_that_works(visit):
    page = visit()
    page.get_by_role("tab", name="Predicates").click()
    expect(page.locator("#covers .card")).to_be_visible()
    for dialect in ("eventbridge", "cloudevents", "cesql", "selector"):
        before = page.locator("#predicate").input_value()
        page.locator("#dialect").select_option(dialect)
        expect(page.locator("#predicate")).not_to_have_value(before)
        with page.expect_response("**/covers") as answer:
            page.locator("#predicate").press("End")
            page.locator("#predicate").type(" ")
        assert answer.value.status == 200


def test_the_keyboard_reaches_routers_and_tabs(visit):
    page = visit()
    router(page, "0").focus()
    page.keyboard.press("ArrowRight")
    name = page.evaluate("document.activeElement.dataset.router")
    assert name not in (None, "0")
    page.keyboard.press("Enter")
    expect(page.locator("#view-network h2")).to_have_text(f"Router {name}")
    expect(router(page, name)).to_have_attribute("aria-pressed", "true")
    page.get_by_role("tab", name="Network").focus()
    page.keyboard.press("ArrowRight")
    expect(page.get_by_role("tab", name="Message")).to_be_focused()
    expect(page.locator("#view-message")).to_be_visible()
    unnamed = page.evaluate(
        "[...document.querySelectorAll('input, select, textarea')].filter((each) => !each.labels.length).map((each) => each.id)"
    )
    assert unnamed == []


def test_nothing_overflows_or_overlaps_on_a_phone_light_or_dark(visit):
    page = visit(PHONE)
    page.get_by_role("tab", name="Message").click()
    page.get_by_role("button", name="Trace, deliver nothing").click()
    assert page.get_by_role("button", name="Clear").bounding_box()["height"] < 40  # one line
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.emulate_media(color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    for name in ("Network", "Message", "Predicates"):
        page.get_by_role("tab", name=name).click()
        assert page.evaluate("document.documentElement.scrollWidth") == PHONE
    boxes = [page.locator(f".router[data-router='{name}'] .body").bounding_box() for name in "012345"]
    for number, box in enumerate(boxes):
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE
        for other in boxes[:number]:
            apart_x, apart_y = abs(box["x"] - other["x"]), abs(box["y"] - other["y"])
            assert max(apart_x, apart_y) > box["width"]


def test_a_token_is_entered_once_for_a_tab(browser):
    token = new_token("viewer")
    policy = SecurityPolicy(Access({"viewer": Account(ALL_RIGHTS, token.hash)}))
    with running_http(policy) as server, closing(browser.new_context()) as context:
        page = context.new_page()
        page.goto(server.url)
        expect(page.locator("#connection")).to_have_text("token needed")
        expect(page.locator("#empty")).to_have_text("Enter a token to see the network.")
        page.locator("#token").fill(token.token)
        page.get_by_role("button", name="Use").click()
        expect(page.locator("#connection")).to_have_text("live")
        page.reload()
        expect(page.locator("#connection")).to_have_text("live")
        page.get_by_role("button", name="Token").click()
        page.get_by_role("button", name="Forget").click()
        expect(page.locator("#connection")).to_have_text("token needed")


def test_two_links_of_an_account_have_their_own_predicates_and_requests_end(browser):
    token = new_token("viewer")
    policy = SecurityPolicy(Access({"viewer": Account(Rights(), token.hash)}))
    with (
        running_http(policy) as server,
        connect(server.address, token=token.token) as one,
        connect(server.address, token=token.token) as other,
        closing(browser.new_context()) as context,
    ):
        one.subscribe("x > 1", wait=True)
        other.subscribe("x > 2", wait=True)
        page = context.new_page()
        page.goto(server.url)
        page.locator("#token").fill(token.token)
        page.get_by_role("button", name="Use").click()
        requests = []
        page.on("request", lambda request: requests.append(request.url))
        page.get_by_role("tab", name="Message").click()
        page.get_by_label("Message, as JSON").fill('{"x": 2}')
        for label, answer in (
            ("a: viewer, x > 2", "x > 2 fails: x is 2"),
            ("a: viewer, x > 1", "Yes: viewer at router a"),
        ):
            page.get_by_label("Subscriber").select_option(label=label)
            page.get_by_role("button", name="Explain").click()
            expect(page.locator("#why-answer")).to_contain_text(answer)
        expect(page.locator("#summary")).to_contain_text("2 clients")
        page.wait_for_timeout(2_500)  # two more states of the network
        assert len([url for url in requests if "/subscriptions" in url]) == 1


def test_a_killed_router_turns_grey_and_comes_back(visit, network):  # the last one: others need all routers
    page = visit()
    expect(page.locator(".router.up")).to_have_count(6)
    requests = []
    page.on("request", lambda request: requests.append(request.url))
    network.kill("4")
    expect(page.locator(".router.gone")).to_have_attribute("data-router", "4")
    expect(page.locator(".link.gone")).to_have_count(2)
    expect(page.locator("#news")).to_have_text("Router 4 is gone.")
    expect(page.locator("#summary")).to_contain_text("5 routers (1 gone)")
    network.start("4")
    expect(page.locator(".router.up")).to_have_count(6)
    expect(page.locator(".link.up")).to_have_count(6)
    assert requests == []  # all of it came by the stream
