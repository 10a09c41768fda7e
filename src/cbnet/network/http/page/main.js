// The page of a router: the state of the network by server-sent events, and the three views beside the map.

import { events, token } from "./api.js";
import { Composer } from "./composer.js";
import { byId, plural, rate } from "./dom.js";
import { NetworkMap } from "./map.js";
import { NetworkState } from "./network_state.js";
import { NetworkView } from "./network_view.js";
import { Playground } from "./playground.js";

const state = new NetworkState();
const map = new NetworkMap(state, select);
const view = new NetworkView(state, select);
const composer = new Composer(state, showTrace);
const playground = new Playground();
const TABS = ["network", "message", "predicates"];

function select(name) {
  map.select(name);
  view.select(name);
  if (name !== null) show("network");
}

function showTrace(trace) {
  map.showTrace(trace);
  byId("trace-note").hidden = trace === null;
  if (trace) byId("trace-text").textContent = `${trace.dry ? "Trace of" : "Published"} ${JSON.stringify(trace.message)}`;
}

byId("trace-clear").addEventListener("click", () => showTrace(null));

// --- tabs

function show(name) {
  for (const each of TABS) {
    const tab = byId(`tab-${each}`), isShown = each === name;
    tab.setAttribute("aria-selected", isShown);
    tab.tabIndex = isShown ? 0 : -1;
    byId(`view-${each}`).hidden = !isShown;
  }
  if (name === "message") composer.update();
  if (name === "predicates") playground.show();
}

for (const [number, name] of TABS.entries()) {
  byId(`tab-${name}`).addEventListener("click", () => show(name));
  byId(`tab-${name}`).addEventListener("keydown", (event) => {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    const next = TABS[(number + step + TABS.length) % TABS.length];
    show(next);
    byId(`tab-${next}`).focus();
  });
}

// --- the state of the network

function connection(kind, text) {
  const pill = byId("connection");
  pill.dataset.state = kind;
  byId("graph").classList.toggle("stale", kind !== "live");
  if (pill.textContent !== text) pill.textContent = text;
}

function update(report) {
  const news = state.update(report);
  byId("empty").hidden = true;
  if (news.length) byId("news").textContent = news.slice(0, 5).join(" ");
  const up = state.answering.length, gone = state.routers.size - up;
  const parts = [
    plural(up, "router") + (gone ? ` (${gone} gone)` : ""), plural(state.total("clients"), "client"),
    plural(state.total("subscriptions"), "subscription"), `${rate(state.total("in_per_s"))} messages/s`,
  ];
  byId("summary").textContent = `${report.network}: ${parts.join(" · ")}`;
  document.title = `${report.network} · cbnet`;
  map.draw();
  view.draw();
  composer.update();
}

let watching = new AbortController();

async function watch() {
  let wait = 500;
  while (true) {
    watching = new AbortController();
    try {
      for await (const { name, data } of events("watch", watching.signal)) {
        connection("live", "live");
        byId("token-note").textContent = "";
        wait = 500;
        if (name === "network") update(data);
      }
    } catch (error) {
      if (error.status === 401 || error.status === 403) askToken(error);
    }
    const isDenied = byId("connection").dataset.state === "denied"; // then only another token helps
    if (!isDenied) connection("lost", "reconnecting");
    await pause(isDenied ? null : (wait = Math.min(2 * wait, 8000)));
  }
}

let wake = () => {};

/** Wait, at most until a token is entered; null: until then. */
const pause = (ms) => new Promise((resolve) => {
  const timer = ms === null ? null : setTimeout(resolve, ms);
  wake = () => {
    clearTimeout(timer);
    resolve();
  };
});

// --- token

function askToken(error) {
  const isUnknown = error.status === 401;
  connection("denied", isUnknown ? "token needed" : "not allowed");
  byId("summary").textContent = "";
  byId("token-note").textContent = isUnknown && !token.get() ? "This router needs a token." : error.message;
  byId("empty").textContent = isUnknown
    ? "Enter a token to see the network."
    : "This token may not see the network. It can still publish, receive and use predicates.";
  byId("empty").hidden = state.routers.size > 0;
  toggleToken(true);
}

function toggleToken(isOpen) {
  byId("token-form").hidden = !isOpen;
  byId("token-toggle").setAttribute("aria-expanded", isOpen);
}

function useToken(value) {
  token.set(value);
  byId("token").value = "";
  connection("connecting", "connecting");
  toggleToken(false);
  watching.abort();
  wake();
}

byId("token-toggle").addEventListener("click", () => {
  toggleToken(byId("token-form").hidden);
  if (!byId("token-form").hidden) byId("token").focus();
});
byId("token-form").addEventListener("submit", (event) => {
  event.preventDefault();
  useToken(byId("token").value.trim());
});
byId("token-forget").addEventListener("click", () => useToken(""));

watch();
