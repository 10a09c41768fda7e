// Elements. Text from the network only ever becomes a text node or an attribute value.

const SVG = "http://www.w3.org/2000/svg";

function build(element, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

/** Return a new HTML element. */
export const el = (tag, attributes = {}, ...children) => build(document.createElement(tag), attributes, children);

/** Return a new SVG element. */
export const svg = (tag, attributes = {}, ...children) =>
  build(document.createElementNS(SVG, tag), attributes, children);

export const byId = (id) => document.getElementById(id);

/** Replace the children of an element; the focus stays where it was, by `data-key`. */
export function replace(parent, ...children) {
  const focused = parent.contains(document.activeElement) ? document.activeElement.dataset.key : undefined;
  parent.replaceChildren(...children.filter(Boolean));
  if (focused === undefined) return;
  const again = [...parent.querySelectorAll("[data-key]")].find((each) => each.dataset.key === focused);
  (again ?? parent).focus({ preventScroll: true });
}

export const plural = (count, noun, more = `${noun}s`) => `${count.toLocaleString("en")} ${count === 1 ? noun : more}`;

/** Return a rate in few characters. */
export function rate(perSecond) {
  if (perSecond === null || perSecond === undefined) return "–";
  if (perSecond >= 10000) return `${Math.round(perSecond / 1000).toLocaleString("en")}k`;
  return perSecond >= 10 || Number.isInteger(perSecond) ? Math.round(perSecond).toLocaleString("en") : perSecond.toFixed(1);
}

/** Return a card with the error of a request. */
export const problem = (error) =>
  el("div", { class: "card bad" }, el("p", {}, error.message), error.hint ? el("p", { class: "muted" }, error.hint) : null);
