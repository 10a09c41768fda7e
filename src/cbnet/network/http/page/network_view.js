// The view "Network": a table of all routers, or one router with its clients, subscriptions and neighbours.

import { get } from "./api.js";
import { byId, el, plural, problem, rate, replace } from "./dom.js";

const STATES = { up: "", silent: "no answer", gone: "gone" };

export class NetworkView {
  constructor(state, onSelect) {
    this.state = state;
    this.onSelect = onSelect;
    this.selected = null;
    this.listed = null; // the subscriptions at the selected router, or an error
    this.basis = ""; // for which they were requested
    this.shown = "";
    this.place = byId("view-network");
  }

  select(name) {
    this.selected = name;
    this.listed = null;
    this.basis = "";
    this.draw();
  }

  /** Draw the present state, if it differs from what is shown. */
  draw() {
    const router = this.state.routers.get(this.selected);
    const shown = JSON.stringify([this.selected, router ?? [...this.state.routers.values()], this.listed, this.listed?.message]);
    if (router) this.#request(router);
    if (shown === this.shown) return;
    this.shown = shown;
    replace(this.place, ...(router ? this.#router(router) : this.#table()));
  }

  /** Request the subscriptions at the selected router when their number, or that of their filters, has changed. */
  async #request({ name, state, info }) {
    const basis = JSON.stringify([name, state, info?.subscriptions, info?.own_filters, info?.clients]);
    if (state !== "up" || basis === this.basis) return;
    this.basis = basis;
    const listed = await get(`subscriptions?router=${encodeURIComponent(name)}`).catch((error) => error);
    if (this.basis !== basis) return;
    this.listed = listed;
    this.draw();
  }

  #table() {
    const head = ["router", "clients", "subscriptions", "in/s", "out/s"];
    const rows = [...this.state.routers.values()].sort(byName).map((router) => this.#row(router));
    return [
      el("h2", {}, "Routers"),
      el("table", {},
        el("caption", { class: "hidden" }, "Routers of the network"),
        el("thead", {}, el("tr", {}, ...head.map((text) => el("th", { scope: "col" }, text)))),
        el("tbody", {}, ...rows)),
      el("p", { class: "muted" }, "Select a router here or on the map to see who wants what."),
    ];
  }

  #row({ name, state, info }) {
    const cells = state === "up"
      ? [info.clients.toLocaleString("en"), info.subscriptions.toLocaleString("en"), rate(info.in_per_s), rate(info.out_per_s)]
      : [STATES[state], "", "", ""];
    const label = name === this.state.own ? `${name} (this page)` : name;
    return el("tr", { class: state },
      el("th", { scope: "row" }, el("button", { type: "button", class: "link", "data-key": name, onclick: () => this.onSelect(name) }, label)),
      ...cells.map((text) => el("td", {}, text)));
  }

  #router({ name, state, info }) {
    const head = [
      el("div", { class: "row title-row" },
        el("h2", {}, `Router ${name}`),
        state === "up" ? null : el("span", { class: "pill", "data-state": state }, STATES[state]),
        el("button", { type: "button", class: "quiet", "data-key": "back", onclick: () => this.onSelect(null) }, "All routers")),
    ];
    if (state === "gone") return [...head, el("p", {}, "No router has it as a neighbour any more. It comes back to the map when it returns.")];
    if (state === "silent" || !info) return [...head, el("p", {}, "Its neighbours have a link to it, but it does not answer.")];
    return [...head, facts(info), ...this.#wants(info), ...clients(info), ...this.#neighbours(info)];
  }

  #wants(info) {
    const title = el("h3", {}, "Who wants what");
    if (this.listed instanceof Error) return [title, problem(this.listed)];
    if (this.listed === null) return [title, el("p", { class: "muted" }, info.subscriptions ? "loading …" : "No subscriptions here.")];
    const { subscriptions, total } = this.listed;
    if (!subscriptions.length) return [title, el("p", { class: "muted" }, "No subscriptions here.")];
    const items = subscriptions.map(({ subscriber, predicate }) =>
      el("li", {}, el("span", { class: "who" }, subscriber), el("code", {}, predicate)));
    const more = total > subscriptions.length ? [el("p", { class: "muted" }, `and ${plural(total - subscriptions.length, "more", "more")}`)] : [];
    return [title, el("ul", { class: "wants" }, ...items), ...more];
  }

  #neighbours(info) {
    const head = ["neighbour", "in/s", "out/s", "filters", "queued"];
    const rows = info.neighbours.map((link) =>
      el("tr", {},
        el("th", { scope: "row" }, el("button", { type: "button", class: "link", "data-key": `to ${link.name}`, onclick: () => this.onSelect(link.name) }, link.name)),
        ...[rate(link.in_per_s), rate(link.out_per_s), link.filters.toLocaleString("en"), bytes(link.waiting)].map((text) => el("td", {}, text))));
    return [
      el("h3", {}, "Neighbours"),
      el("table", {},
        el("caption", { class: "hidden" }, "Neighbours; filters: those announced by the neighbour"),
        el("thead", {}, el("tr", {}, ...head.map((text) => el("th", { scope: "col" }, text)))), el("tbody", {}, ...rows)),
    ];
  }
}

function facts(info) {
  const dropped = Object.values(info.dropped ?? {}).reduce((sum, count) => sum + count, 0);
  const pairs = [
    ["messages in", `${rate(info.in_per_s)}/s`], ["messages out", `${rate(info.out_per_s)}/s`],
    ["published here", info.published.toLocaleString("en")], ["delivered here", info.delivered.toLocaleString("en")],
    ["filters known", info.filters.toLocaleString("en")], ["dropped", dropped.toLocaleString("en")],
  ];
  return el("dl", { class: "facts" }, ...pairs.map(([name, value]) => el("div", {}, el("dt", {}, name), el("dd", {}, value))));
}

function clients(info) {
  if (!info.clients) return [];
  const items = info.listed_clients.map((link) =>
    el("li", {}, el("span", { class: "who" }, link.name),
      el("span", { class: "muted" }, `${rate(link.in_per_s)}/s in, ${rate(link.out_per_s)}/s out${link.dropped ? `, ${plural(link.dropped, "message")} dropped` : ""}`)));
  const more = info.clients - info.listed_clients.length;
  return [
    el("h3", {}, plural(info.clients, "client")),
    el("ul", { class: "clients" }, ...items, more > 0 ? el("li", { class: "muted" }, `and ${more.toLocaleString("en")} more`) : null),
  ];
}

function bytes(count) {
  if (count < 1000) return `${count} B`;
  return count < 1e6 ? `${Math.round(count / 1000)} kB` : `${Math.round(count / 1e6)} MB`;
}

export const byName = (a, b) => a.name.localeCompare(b.name, "en", { numeric: true });
