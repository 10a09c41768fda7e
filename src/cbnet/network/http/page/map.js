// The map: routers, links, clients and rates as SVG, and a trace over it.

import { byId, plural, rate, svg } from "./dom.js";
import { fit, layout, spread } from "./layout.js";

const DOTS = 6; // clients drawn at a router
const BADGE = -0.82; // angle of the number of subscriptions, which clients do not hide

export class NetworkMap {
  constructor(state, onSelect) {
    this.state = state;
    this.onSelect = onSelect;
    this.selected = null;
    this.trace = null;
    this.shape = this.size = "";
    this.points = new Map();
    this.nodes = new Map();
    this.edges = new Map();
    this.graph = byId("graph");
    this.linkLayer = svg("g", { class: "links", "aria-hidden": "true" });
    this.rateLayer = svg("g", { class: "rates", "aria-hidden": "true" }); // above all lines
    this.traceLayer = svg("g", { class: "trace", "aria-hidden": "true" });
    this.nodeLayer = svg("g", { class: "nodes" });
    this.graph.append(arrow(), this.linkLayer, this.rateLayer, this.traceLayer, this.nodeLayer);
    this.graph.addEventListener("keydown", (event) => this.#moveFocus(event));
    new ResizeObserver(() => this.draw()).observe(this.graph);
  }

  /** Draw the present state. */
  draw() {
    const { width, height } = this.graph.getBoundingClientRect();
    if (!this.state.routers.size || !width) return;
    this.#place(width, height);
    for (const [key, link] of this.state.links) this.#drawLink(key, link);
    for (const router of this.state.routers.values()) this.#drawRouter(router);
    this.#drawTrace();
    this.#setTabStop();
  }

  select(name) {
    this.selected = name;
    this.draw();
  }

  showTrace(trace) {
    this.trace = trace;
    this.draw();
  }

  /** Compute positions again if routers or links were added, or the size has changed. */
  #place(width, height) {
    const names = [...this.state.routers.keys()].sort(), keys = [...this.state.links.keys()].sort();
    const shape = JSON.stringify([names, keys]), size = JSON.stringify([width, height]);
    if (shape === this.shape && size === this.size) return;
    const links = keys.map((key) => JSON.parse(key)), area = width * height;
    if (shape !== this.shape) this.points = layout(names, links, this.points);
    [this.shape, this.size] = [shape, size];
    this.graph.setAttribute("viewBox", `0 0 ${width} ${height}`);
    this.radius = Math.max(5, Math.min(24, 0.17 * Math.sqrt(area / names.length)));
    const margin = this.radius + 32;
    this.at = spread(fit(this.points, width, height, margin), links, 2 * this.radius + 14, width, height, margin);
    this.hasRates = area / (links.length || 1) > 6000;
    this.centre = { x: width / 2, y: height / 2 };
  }

  #drawLink(key, link) {
    let edge = this.edges.get(key);
    if (!edge) {
      edge = { group: svg("g"), line: svg("line"), label: svg("text"), plate: svg("rect", { rx: 7 }), title: svg("title") };
      edge.group.append(edge.title, edge.line);
      this.linkLayer.append(edge.group);
      this.rateLayer.append(edge.plate, edge.label);
      this.edges.set(key, edge);
    }
    const [from, to] = [this.at.get(link.a), this.at.get(link.b)];
    const sum = [...link.rates.values()].reduce((total, each) => total + (each ?? 0), 0);
    set(edge.line, { x1: from.x, y1: from.y, x2: to.x, y2: to.y, "stroke-width": 1.5 + Math.min(5, Math.log10(1 + sum) * 1.4) });
    edge.group.setAttribute("class", `link ${link.state} ${sum ? "busy" : ""}`);
    edge.title.textContent = linkTitle(link);
    const text = sum && this.hasRates ? `${rate(sum)}/s` : "";
    edge.label.textContent = text;
    set(edge.label, { x: (from.x + to.x) / 2, y: (from.y + to.y) / 2 + 4 });
    const width = text.length * 6.6 + 12;
    set(edge.plate, { x: (from.x + to.x) / 2 - width / 2, y: (from.y + to.y) / 2 - 9, width, height: 18 });
    edge.plate.setAttribute("visibility", text ? "visible" : "hidden");
  }

  #drawRouter(router) {
    const { name, state, info } = router;
    let node = this.nodes.get(name);
    if (!node) {
      node = {
        group: svg("g", { role: "button", tabindex: "-1", "data-router": name }),
        circle: svg("circle", { class: "body" }), ring: svg("circle", { class: "ring" }), label: svg("text", { class: "name" }),
        clients: svg("g", { class: "clients" }), badge: svg("g", { class: "badge" }),
      };
      node.group.append(node.clients, node.ring, node.circle, node.label, node.badge);
      node.group.addEventListener("click", () => this.onSelect(name));
      this.nodeLayer.append(node.group);
      this.nodes.set(name, node);
    }
    const { x, y } = this.at.get(name), r = this.radius;
    const isSelected = this.selected === name;
    node.group.setAttribute("transform", `translate(${x} ${y})`);
    node.group.setAttribute("class", `router ${state} ${this.#traceState(name)} ${name === this.state.own ? "own" : ""} ${isSelected ? "selected" : ""}`);
    set(node.group, { "aria-label": routerTitle(router, name === this.state.own), "aria-pressed": isSelected });
    node.circle.setAttribute("r", r);
    node.ring.setAttribute("r", r + 4);
    const isInside = r >= 11 && name.length * 6 < 2 * r;
    node.label.textContent = isInside || r >= 11 || isSelected ? shortName(name) : "";
    node.label.setAttribute("y", isInside ? 5 : r + 15);
    this.#drawClients(node.clients, { x, y }, state === "up" && r >= 11 ? info.clients : 0);
    const wants = state === "up" ? info.subscriptions : 0;
    node.badge.replaceChildren(...(wants && r >= 15 ? badge(wants, 1.05 * r * Math.cos(BADGE), 1.05 * r * Math.sin(BADGE)) : []));
  }

  /** Draw the clients of a router as dots, away from the centre. */
  #drawClients(group, { x, y }, count) {
    const shown = Math.min(count, DOTS);
    const step = 9.5 / (this.radius + 9), half = ((shown - 1) / 2) * step + 0.6;
    let away = Math.atan2(y - this.centre.y, x - this.centre.x || 1e-6);
    const aside = Math.atan2(Math.sin(away - BADGE), Math.cos(away - BADGE));
    if (Math.abs(aside) < half) away = BADGE + (aside < 0 ? -half : half);
    const dots = Array.from({ length: shown }, (_, number) => {
      const angle = away + (number - (shown - 1) / 2) * step;
      return svg("circle", { r: 3.2, cx: (this.radius + 9) * Math.cos(angle), cy: (this.radius + 9) * Math.sin(angle) });
    });
    const more = count > DOTS ? [svg("text", { x: (this.radius + 22) * Math.cos(away), y: (this.radius + 22) * Math.sin(away) + 4 }, `+${count - DOTS}`)] : [];
    group.replaceChildren(...dots, ...more);
  }

  #traceState(name) {
    if (!this.trace) return "";
    const hop = this.trace.hops.find((each) => each.router === name && !each.network);
    return hop ? (hop.delivered.length ? "on-trace delivered" : "on-trace") : "off-trace";
  }

  #drawTrace() {
    this.graph.classList.toggle("traced", Boolean(this.trace));
    const parts = [];
    for (const hop of this.trace?.hops ?? []) {
      if (hop.network) continue;
      for (const branch of hop.branches) {
        const [from, to] = [this.at.get(hop.router), this.at.get(branch.neighbour)];
        if (!from || !to) continue;
        if (branch.is_sent) parts.push(path(from, to, this.radius, [hop.router, branch.neighbour]));
        else if (branch.neighbour !== hop.came_from) parts.push(stop(from, to, this.radius));
      }
    }
    const drawn = parts.map((part) => part.outerHTML).join();
    if (drawn === this.drawnTrace) return; // else it would be animated again
    this.drawnTrace = drawn;
    this.traceLayer.replaceChildren(...parts);
  }

  // --- keyboard: one stop for Tab, arrow keys to the nearest router in their direction

  #setTabStop() {
    const stopAt = this.nodes.has(this.focused) ? this.focused : (this.selected ?? this.state.own);
    for (const [name, { group }] of this.nodes) group.setAttribute("tabindex", name === stopAt ? "0" : "-1");
  }

  #moveFocus(event) {
    const name = event.target.closest("[data-router]")?.dataset.router;
    if (name === undefined) return;
    if (event.key === "Enter" || event.key === " ") {
      event.preventDefault();
      this.onSelect(name);
    } else if (event.key === "Escape") {
      this.onSelect(null);
    } else if (event.key.startsWith("Arrow")) {
      event.preventDefault();
      const next = this.#nearest(name, event.key);
      if (next === undefined) return;
      this.focused = next;
      this.#setTabStop();
      this.nodes.get(next).group.focus();
    }
  }

  #nearest(name, key) {
    const here = this.at.get(name);
    const [ux, uy] = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[key];
    const ahead = [...this.at].map(([other, { x, y }]) => {
      const along = (x - here.x) * ux + (y - here.y) * uy, aside = Math.abs((x - here.x) * uy) + Math.abs((y - here.y) * ux);
      return { other, along, cost: along + 2 * aside };
    });
    return ahead.filter(({ other, along }) => other !== name && along > 1).sort((a, b) => a.cost - b.cost)[0]?.other;
  }
}

function set(element, attributes) {
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
}

const shortName = (name) => (name.length > 12 ? `${name.slice(0, 11)}…` : name);

function badge(count, x, y) {
  const text = count > 999 ? "999+" : String(count), width = 10 + 6 * text.length;
  return [
    svg("rect", { x: x - width / 2, y: y - 8, width, height: 16, rx: 8 }),
    svg("text", { x, y: y + 4 }, text),
  ];
}

function arrow() {
  const marker = svg("marker", { id: "arrow", viewBox: "0 0 10 10", refX: 8, refY: 5, markerWidth: 4.2, markerHeight: 4.2, orient: "auto" });
  marker.append(svg("path", { d: "M0 1 9 5 0 9z" }));
  return svg("defs", {}, marker);
}

function path(from, to, radius, ends) {
  const long = Math.hypot(to.x - from.x, to.y - from.y) || 1, ux = (to.x - from.x) / long, uy = (to.y - from.y) / long;
  return svg("line", {
    class: "sent", "marker-end": "url(#arrow)", "data-link": ends.join(" → "), pathLength: 1,
    x1: from.x + ux * radius, y1: from.y + uy * radius, x2: to.x - ux * (radius + 3), y2: to.y - uy * (radius + 3),
  });
}

/** Return a cross where a message was not forwarded. */
function stop(from, to, radius) {
  const long = Math.hypot(to.x - from.x, to.y - from.y) || 1, part = Math.min(0.45, (radius + 12) / long), size = 4.5;
  const x = from.x + (to.x - from.x) * part, y = from.y + (to.y - from.y) * part;
  return svg("path", { class: "stopped", d: `M${x - size} ${y - size}l${2 * size} ${2 * size}m0 ${-2 * size}l${-2 * size} ${2 * size}` });
}

function linkTitle({ a, b, state, rates, length }) {
  if (state === "gone") return `${a} – ${b}: gone`;
  const far = length > 1 ? `; length ${length}` : "";
  return `${a} – ${b}: ${rate(rates.get(a))} messages/s to ${b}, ${rate(rates.get(b))} to ${a}${far}`;
}

function routerTitle({ name, state, info }, isOwn) {
  if (state === "gone") return `router ${name}, gone`;
  if (state === "silent") return `router ${name}, does not answer`;
  const parts = [plural(info.clients, "client"), plural(info.subscriptions, "subscription"), `${rate(info.in_per_s)} messages per second`];
  return `router ${name}${isOwn ? ", of this page" : ""}, ${parts.join(", ")}`;
}
