// The view "Predicates": check, explain and covers, computed by the router while one types.

import { post } from "./api.js";
import { failures } from "./composer.js";
import { byId, el, problem, replace } from "./dom.js";

const PAUSE = 300; // ms without a key before it is computed
const PLACES = ["check", "explain", "covers"];
const DIALECTS = {
  cbnet: ["cbnet", 'price < 500 and dest = "MXP" or #upgradeable', "price < 400"],
  eventbridge: ["EventBridge", '{"detail": {"state": ["running"], "cpu": [{"numeric": [">", 80]}]}}', '{"detail": {"state": ["running"]}}'],
  cloudevents: ["CloudEvents filters", '[{"prefix": {"type": "com.example."}}]', '[{"exact": {"type": "com.example.paid"}}]'],
  cesql: ["CESQL", "type LIKE 'com.example.%' AND subject = 'shop'", "type = 'com.example.paid'"],
  selector: ["JMS selector", "price BETWEEN 100 AND 500 AND dest IN ('MXP', 'LIN')", "price = 200 AND dest = 'LIN'"],
};
const MESSAGES = {
  cbnet: '{"price": 700, "dest": "MXP"}',
  eventbridge: '{"detail": {"state": "running", "cpu": 50}}',
  cloudevents: '{"specversion": "1.0", "id": "1", "source": "/shop", "type": "org.example.paid"}',
  cesql: '{"specversion": "1.0", "id": "1", "source": "/shop", "type": "com.example.paid"}',
  selector: '{"price": 700, "dest": "MXP"}',
};

export class Playground {
  constructor() {
    for (const [select, area, example] of [["dialect", "predicate", 1], ["other-dialect", "other", 2]]) {
      byId(select).append(...Object.entries(DIALECTS).map(([value, [name]]) => el("option", { value }, name)));
      byId(select).addEventListener("change", () => this.#choose(byId(select).value, area, example));
    }
    for (const [area, stale] of [["predicate", PLACES], ["try", ["explain"]], ["other", ["covers"]]]) {
      byId(area).addEventListener("input", () => this.#later(stale));
    }
  }

  /** Compute, when the view is shown for the first time. */
  show() {
    if (!byId("check").childNodes.length) this.#compute();
  }

  /** Show the example of a dialect, unless the text is not an example. */
  #choose(dialect, area, example) {
    const examples = Object.values(DIALECTS).map((each) => each[example]);
    if (examples.includes(byId(area).value.trim())) byId(area).value = DIALECTS[dialect][example];
    if (area === "predicate" && Object.values(MESSAGES).includes(byId("try").value.trim())) byId("try").value = MESSAGES[dialect];
    if (area === "predicate" && Object.values(DIALECTS).some((each) => each[2] === byId("other").value.trim())) {
      byId("other-dialect").value = dialect;
      byId("other").value = DIALECTS[dialect][2];
    }
    PLACES.forEach(clear);
    this.#compute();
  }

  /** Remove the answers to the text before, and compute when the typing pauses. */
  #later(stale) {
    this.running?.abort();
    stale.forEach(clear);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#compute(), PAUSE);
  }

  async #compute() {
    clearTimeout(this.timer);
    this.running?.abort();
    const { signal } = (this.running = new AbortController());
    const predicate = byId("predicate").value, dialect = byId("dialect").value;
    const isValid = await answer("check", () => post("check", { predicate, dialect }, signal), checked);
    if (!isValid) { // the others would have the same mistake
      if (!signal.aborted) for (const id of PLACES) byId(id).style.minHeight = "";
      return;
    }
    await answer("explain", () => post("explain", { predicate, dialect, message: JSON.parse(byId("try").value) }, signal), explained);
    const sides = { wide: predicate, dialect, narrow: byId("other").value, narrow_dialect: byId("other-dialect").value };
    await answer("covers", () => post("covers", sides, signal), compared);
  }
}

/** Remove an answer; its space stays, so that the page does not jump while one types. */
function clear(id) {
  const place = byId(id);
  place.style.minHeight = `${place.offsetHeight}px`;
  replace(place);
}

/** Show an answer or an error; return whether it is an answer. */
async function answer(id, ask, show) {
  const place = byId(id);
  try {
    replace(place, ...show(await ask()));
    place.style.minHeight = "";
    return true;
  } catch (error) {
    if (error.name === "AbortError") return false;
    place.style.minHeight = "";
    replace(place, problem(error instanceof SyntaxError ? new Error(`The message is not JSON: ${error.message}`) : error));
    return false;
  }
}

function checked({ predicate, reduced, size, reduced_size, satisfiable, example }) {
  const lines = [["as cbnet", predicate]];
  if (reduced !== predicate) lines.push([`reduced, ${reduced_size} of ${size} constraints`, reduced || "false"]);
  if (example) lines.push(["an example", JSON.stringify(example)]);
  const pairs = lines.flatMap(([name, value]) => [el("dt", {}, name), el("dd", {}, el("code", {}, value))]);
  const warning = satisfiable ? [] : [el("div", { class: "card warn" }, el("p", {}, "No message can match it."))];
  return [el("dl", { class: "forms" }, ...pairs), ...warning];
}

function explained(reason) {
  if (reason.matches) return [el("div", { class: "card good" }, el("p", {}, "Yes, by ", el("code", {}, reason.filter), "."))];
  return [el("div", { class: "card bad" }, el("p", {}, "No. The closest:"), failures(reason))];
}

function compared({ covers, counterexample, exhausted }) {
  if (covers) return [el("div", { class: "card good" }, el("p", {}, "Yes: every message that matches this one matches the predicate above."))];
  if (counterexample) {
    return [el("div", { class: "card bad" }, el("p", {}, "No. A counter-example, which matches only this one: ", el("code", { class: "counterexample" }, JSON.stringify(counterexample))))];
  }
  const text = exhausted
    ? "No single filter covers it, but several do together: there is no counter-example."
    : "It could not be proved; no counter-example was found before the search limit.";
  return [el("div", { class: "card warn" }, el("p", {}, text))];
}
