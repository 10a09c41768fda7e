// Draws the charts in the colours of the page, redraws them when the colour scheme changes, and filters tables.
"use strict";

const dark = matchMedia("(prefers-color-scheme: dark)");

function colours() {
  const style = getComputedStyle(document.documentElement);
  const [text, soft, line] = ["--text", "--soft", "--line"].map((name) => style.getPropertyValue(name).trim());
  const axis = { labelColor: soft, titleColor: text, gridColor: line, domainColor: soft, tickColor: soft, titleFontWeight: 500 };
  return {
    background: "transparent",
    font: "system-ui, sans-serif",
    view: { stroke: null },
    axis: { ...axis, labelFontSize: 12, titleFontSize: 12.5 },
    legend: { labelColor: text, titleColor: text, labelFontSize: 12, symbolStrokeWidth: 2 },
    text: { color: soft },
  };
}

async function draw(element) {
  element.spec ??= JSON.parse(element.querySelector("script").textContent);
  element.view?.finalize();
  const narrow = element.clientWidth < 420;
  const config = colours();
  config.legend.columns = narrow ? 1 : 3;
  const spec = structuredClone(element.spec);
  if (narrow) spec.height = 240;
  const actions = { export: true, source: false, compiled: false, editor: false };
  try {
    const embedded = await vegaEmbed(element, spec, { config, actions, renderer: "svg", tooltip: { theme: dark.matches ? "dark" : "light" } });
    element.view = embedded.view;
    element.dataset.drawn = "yes";
  } catch (error) {
    element.dataset.drawn = "no";
    element.classList.add("failed");
    element.textContent = `This chart cannot be drawn: ${error.message}`;
    console.error(error);
  }
}

async function drawAll() {
  for (const element of document.querySelectorAll(".vega")) await draw(element);
  document.documentElement.dataset.drawn = "yes";
}

function filterRows(group) {
  const table = group.nextElementSibling.querySelector("table");
  group.addEventListener("click", (event) => {
    const button = event.target.closest("button");
    if (!button) return;
    for (const each of group.children) each.setAttribute("aria-pressed", String(each === button));
    for (const row of table.tBodies[0].rows) {
      row.hidden = button.dataset.kind !== "" && row.dataset.kind !== button.dataset.kind;
    }
  });
}

document.querySelectorAll(".filter").forEach(filterRows);
if (document.querySelector(".vega")) {
  dark.addEventListener("change", drawAll);
  drawAll();
}
