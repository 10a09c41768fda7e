// The view "Message": publish or trace a message, ask why a subscriber does not get it, and receive messages.

import { events, get, post } from "./api.js";
import { byId, el, plural, problem, replace } from "./dom.js";
import { byName } from "./network_view.js";

const OWN = "own"; // the option of the select for a predicate of one's own
const MAX_RECEIVED = 50;

export class Composer {
  constructor(state, onTrace) {
    this.state = state;
    this.onTrace = onTrace;
    this.lists = new Map(); // by router: {basis, subscriptions}
    this.subscribers = []; // {router, subscriber, id, predicate, is_whole}, by the value of their option
    this.choice = ""; // the chosen one of them as JSON, or OWN
    this.isLoading = false;
    this.#fill();
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      this.#send(false);
    });
    byId("dry").addEventListener("click", () => this.#send(true));
    byId("ask").addEventListener("click", () => this.#explain());
    for (const id of ["message", "subscriber", "own-router", "own-predicate"]) {
      byId(id).addEventListener("input", () => this.#newQuestion());
    }
    byId("subscriber").addEventListener("change", () => {
      const { value } = byId("subscriber");
      this.choice = value === OWN ? OWN : JSON.stringify(this.subscribers[value]);
      this.#chosen();
    });
    byId("listener").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.listening) this.listening.abort();
      else this.#listen(byId("listen-predicate").value);
    });
  }

  /** Request the subscriptions at those routers where they may have changed. */
  async update() {
    const routers = this.state.answering.sort(byName);
    const changed = routers.filter(({ name, info }) => this.lists.get(name)?.basis !== basisOf(info));
    const isSame = changed.length === 0 && routers.length === this.lists.size;
    if (isSame || this.isLoading || byId("view-message").hidden) return;
    this.isLoading = true;
    const lists = await Promise.all(changed.map(listAt));
    this.isLoading = false;
    const known = new Map([...this.lists, ...lists]);
    this.lists = new Map(routers.map(({ name }) => [name, known.get(name)]));
    this.#fill();
    this.update(); // it may have changed meanwhile
  }

  #fill() {
    const routers = [...this.lists.keys()];
    this.subscribers = routers.flatMap((router) => this.lists.get(router).subscriptions.map((each) => ({ router, ...each })));
    const options = this.subscribers.map(({ router, subscriber, predicate }, index) =>
      el("option", { value: index }, `${router}: ${subscriber}, ${predicate}`));
    byId("subscriber").replaceChildren(...options, el("option", { value: OWN }, "a predicate of my own …"));
    const index = this.subscribers.findIndex((each) => JSON.stringify(each) === this.choice);
    if (index >= 0 || this.choice === OWN) byId("subscriber").value = index >= 0 ? index : OWN;
    const at = byId("own-router").value;
    byId("own-router").replaceChildren(...routers.map((name) => el("option", { value: name }, name)));
    if (routers.includes(at)) byId("own-router").value = at;
    this.#chosen();
  }

  #chosen() {
    byId("own").hidden = byId("subscriber").value !== OWN;
  }

  #message() {
    let message;
    try {
      message = JSON.parse(byId("message").value);
    } catch (error) {
      throw new Error(`The message is not JSON: ${error.message}`);
    }
    if (message === null || typeof message !== "object" || Array.isArray(message)) throw new Error("The message is not a JSON object.");
    return message;
  }

  async #send(dry) {
    const place = byId("trace");
    replace(place);
    try {
      const message = this.#message(), payload = byId("payload").value;
      let traced;
      try {
        traced = await post("trace", { message, payload, dry });
      } catch (error) {
        if (error.status !== 403 || dry) throw error;
        await post("publish", { message, payload }); // without the right to watch
        replace(place, el("div", { class: "card good" }, el("p", {}, "Published."), el("p", { class: "muted" }, `No trace: ${error.message}`)));
        return;
      }
      this.onTrace({ ...traced, message, dry });
      replace(place, ...traceReport(traced, dry));
    } catch (error) {
      this.onTrace(null);
      replace(place, problem(error));
    }
  }

  /** Remove the answer to the question before, or ignore it when it comes. */
  #newQuestion() {
    replace(byId("why-answer"));
    return (this.question = Symbol());
  }

  async #explain() {
    const place = byId("why-answer"), question = this.#newQuestion();
    try {
      const message = this.#message();
      const chosen = this.#subscriber();
      if (!chosen.is_whole) throw new Error("Its predicate is too long to be explained here.");
      const [reason, traced] = await Promise.all([
        post("explain", { message, predicate: chosen.predicate }),
        post("trace", { message, of: chosen.predicate, at: chosen.router }),
      ]);
      if (question === this.question) replace(place, verdict(chosen, reason, traced));
    } catch (error) {
      if (question === this.question) replace(place, problem(error));
    }
  }

  #subscriber() {
    const value = byId("subscriber").value;
    if (value === OWN || !value) {
      return { router: byId("own-router").value, subscriber: "a subscriber", predicate: byId("own-predicate").value, is_whole: true };
    }
    return this.subscribers[value];
  }

  // --- receive

  async #listen(predicate) {
    const button = byId("listener").querySelector("button"), note = byId("listen-note");
    this.listening = new AbortController();
    button.textContent = "Stop";
    try {
      for await (const { name, data } of events(`subscribe?predicate=${encodeURIComponent(predicate)}`, this.listening.signal)) {
        if (name === "subscribed") note.textContent = `Subscribed at router ${data.router}.`;
        else if (name === "lost" || name === "missed") note.textContent = data.text;
        else if (name === "message") this.#received(data);
      }
      note.textContent = "The router ended the subscription.";
    } catch (error) {
      note.textContent = error.name === "AbortError" ? "Unsubscribed." : [error.message, error.hint].filter(Boolean).join(" ");
    }
    this.listening = null;
    button.textContent = "Subscribe";
  }

  #received({ message, payload, source }) {
    const list = byId("received");
    list.prepend(el("li", {}, el("code", {}, JSON.stringify(message)), el("span", { class: "muted" }, [payload, `from ${source}`].filter(Boolean).join(", "))));
    while (list.children.length > MAX_RECEIVED) list.lastChild.remove();
  }
}

/** Return what changes with the subscriptions at a router. */
const basisOf = ({ subscriptions, own_filters, initial, clients }) => JSON.stringify([subscriptions, own_filters, initial, clients]);

/** Return a router's name and its subscriptions; none if it has gone meanwhile. */
async function listAt({ name, info }) {
  const isEmpty = !info.subscriptions && !info.initial;
  const { subscriptions } = isEmpty ? { subscriptions: [] } : await get(`subscriptions?router=${encodeURIComponent(name)}`).catch(() => ({ subscriptions: [] }));
  return [name, { basis: basisOf(info), subscriptions }];
}

/** Return the path of a message, router by router. */
function traceReport({ hops, missing }, dry) {
  const delivered = hops.filter((hop) => hop.delivered.length);
  const text = delivered.length
    ? `${dry ? "It would be delivered" : "Delivered"} at ${plural(delivered.length, "router")}: ${delivered.map((hop) => hop.router).sort((a, b) => byName({ name: a }, { name: b })).join(", ")}.`
    : "No reachable subscription matches it.";
  const lost = missing.length ? [el("p", { class: "muted" }, `No report from ${missing.join(", ")}: the path from there is unknown.`)] : [];
  const steps = [...hops].sort((a, b) => a.hops - b.hops).map((hop) => el("li", {}, ...step(hop, dry)));
  return [
    el("div", { class: `card ${delivered.length ? "good" : "warn"}` }, el("p", {}, text), ...lost),
    el("details", { open: steps.length <= 8 }, el("summary", {}, `Path over ${plural(hops.length, "router")}`), el("ol", { class: "steps" }, ...steps)),
  ];
}

function step(hop, dry) {
  const name = hop.network ? `${hop.network}/${hop.router}` : hop.router;
  const lines = [["", `router ${name}`, hop.came_from ? `from ${hop.came_from}` : "published here"]];
  if (hop.dropped) lines.push(["no", "dropped", hop.dropped]);
  for (const text of hop.delivered) lines.push(["yes", dry ? "would be delivered to" : "delivered to", text]);
  for (const branch of hop.branches.filter((each) => each.is_sent)) lines.push(["to", `to ${branch.neighbour}`, branch.why.join("; ")]);
  for (const passed of hop.passed_to) lines.push(["to", `to network ${passed.neighbour}`, passed.why.join("; ")]);
  for (const text of hop.passed_over ?? []) lines.push(["no", "not to", text]);
  for (const text of hop.missed) lines.push(["no", "not to", text]);
  for (const branch of hop.branches.filter((each) => !each.is_sent && each.neighbour !== hop.came_from)) {
    lines.push(["no", `not to ${branch.neighbour}`, branch.why.length ? branch.why.join("; ") : "no subscriptions there"]);
  }
  return lines.map(([kind, what, why]) => el("p", { class: kind || "here" }, el("strong", {}, what), " ", el("span", { class: kind ? "reason" : "muted" }, why)));
}

/** Return whether a subscriber gets a message, and which constraints fail. */
function verdict({ router, subscriber, predicate }, reason, { hops, missing }) {
  const who = `${subscriber} at router ${router}`;
  const arrives = hops.some((hop) => hop.router === router && !hop.dropped && !hop.network);
  if (reason.matches && arrives) {
    return el("div", { class: "card good" }, el("p", {}, `Yes: ${who} gets it.`), el("p", {}, "It matches ", el("code", {}, reason.filter), "."));
  }
  if (reason.matches) {
    const last = [...hops].sort((a, b) => b.hops - a.hops).slice(0, 1);
    const unknown = missing.length ? el("p", { class: "muted" }, `No report from ${missing.join(", ")}.`) : null;
    return el("div", { class: "card bad" },
      el("p", {}, `No: it matches, but it does not reach router ${router}.`), unknown, el("div", { class: "steps" }, ...last.flatMap((hop) => step(hop, true))));
  }
  return el("div", { class: "card bad" },
    el("p", {}, `No: ${who} does not get it. It wants `, el("code", {}, predicate), "."), failures(reason));
}

/** Return the closest filters with the constraints that fail. */
export function failures({ closest }) {
  if (!closest.length) return el("p", {}, "The predicate matches nothing.");
  const single = closest.length === 1;
  const items = closest.slice(0, 3).map(({ filter, failures: failed }) =>
    el("li", {}, single ? null : el("code", {}, filter), el("ul", {}, ...failed.map((text) => el("li", { class: "failure" }, text)))));
  return el("ul", { class: "closest" }, ...items);
}
