"use strict";
// What every page has: its data, the theme, and pictures that are drawn again when the theme or the width changes.
const page = (() => {
  const data = unpacked(JSON.parse(document.getElementById("data").textContent));
  const root = document.documentElement;
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  const NARROW = 760;
  const plots = new Map(); // element -> how to make its specification; drawn again when the theme or the width changes

  // ---- rows are written as columns, and equal columns once (packing.py) ----
  function unpacked({ columns, rest }) {
    const made = (value) => {
      if (Array.isArray(value)) return value.map(made);
      if (value === null || typeof value !== "object") return value;
      if (value.$columns) return rows(Object.entries(value.$columns).map(([key, number]) => [key, columns[number].map(made)]));
      return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, made(inner)]));
    };
    const rows = (named) => named[0][1].map((_, place) => Object.fromEntries(named.map(([key, values]) => [key, values[place]])));
    return made(rest);
  }

  // ---- theme: the reader's choice of this visit, else the system's ----
  let theme = dark.matches ? "dark" : "light";
  const button = document.getElementById("theme");
  function setTheme(name) {
    theme = name;
    root.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    redraw();
  }
  button.addEventListener("click", () => setTheme(theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));

  // ---- drawing ----
  async function draw(element) {
    const spec = plots.get(element)();
    const options = {
      mode: "vega-lite", renderer: "svg", config: themed(element), tooltip: { theme },
      actions: { export: { svg: true, png: true }, source: false, compiled: false, editor: false },
    };
    const result = await vegaEmbed(element, spec, options);
    named(element);
    element.dataset.drawn = theme;
    return result;
  }
  // Vega names neither its menu nor the groups of its marks for a screen reader.
  function named(element) {
    element.querySelector("summary")?.setAttribute("aria-label", "Save this picture");
    for (const marks of element.querySelectorAll('[role="graphics-symbol"]:not([aria-label])')) {
      marks.setAttribute("aria-label", marks.getAttribute("aria-roledescription"));
    }
  }
  // Whatever scrolls is reached by the keyboard: observed, since tables unfold and widths change.
  const scrolling = new ResizeObserver((seen) => {
    for (const { target } of seen) {
      if (target.scrollWidth > target.clientWidth || target.scrollHeight > target.clientHeight) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });
  // With little room, legends are below each other.
  function themed(element) {
    const config = copy(data.themes[theme]);
    if (room(element) < NARROW) config.legend.layout = { top: { direction: "vertical", anchor: "start", margin: 4 } };
    return config;
  }
  function plot(element, spec) {
    plots.set(element, spec);
    return draw(element);
  }
  async function sections() {
    for (const element of document.querySelectorAll("[data-section]")) {
      await plot(element, () => copy(data.sections[element.dataset.section][element.dataset.figure]));
    }
  }
  function redraw() {
    for (const element of plots.keys()) draw(element);
  }
  let width = window.innerWidth;
  let timer = 0;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    clearTimeout(timer);
    timer = setTimeout(redraw, 200);
  });
  const copy = (value) => JSON.parse(JSON.stringify(value));
  // Figures that stand side by side are as wide as what they show: their row says how much room there is.
  const room = (element) => {
    const outer = element.closest(".figures") || element;
    return Math.max(240, outer.clientWidth || document.querySelector("main").clientWidth - 40);
  };

  // ---- on paper: light, and a figure that is dark on the screen is drawn again; nothing of the findings is folded ----
  let unfolded = [];
  window.addEventListener("beforeprint", () => {
    if (theme === "dark") { setTheme("light"); button.dataset.back = "dark"; }
    unfolded = [...document.querySelectorAll("#findings details:not([open])")];
    for (const details of unfolded) details.open = true;
  });
  window.addEventListener("afterprint", () => {
    if (button.dataset.back) { setTheme(button.dataset.back); delete button.dataset.back; }
    for (const details of unfolded) details.open = false;
  });

  for (const element of document.querySelectorAll(".scroll, .drawing, .plot, pre")) scrolling.observe(element);
  root.dataset.theme = theme;
  button.textContent = theme === "dark" ? "Light" : "Dark";
  return { NARROW, copy, data, draw, plot, plots, room, root, sections };
})();
