"use strict";
// Shows what the server says: the list of runs, or one run. It computes nothing: words and intervals come as they are.
(() => {
  const SVG = "http://www.w3.org/2000/svg";
  const root = document.documentElement;
  const by = (id) => document.getElementById(id);
  const token = new URLSearchParams(location.search).get("token");
  let source = null;
  let run = null; // the id of the run that is shown, null for the list
  let latest = null; // what the server said last of it
  let held = false; // an earlier moment is shown
  let playing = 0;

  // ---- light and dark ----
  const dark = window.matchMedia("(prefers-color-scheme: dark)");
  function setTheme(name) {
    root.dataset.theme = name;
    by("theme").textContent = name === "dark" ? "Light" : "Dark";
  }
  by("theme").addEventListener("click", () => setTheme(root.dataset.theme === "dark" ? "light" : "dark"));
  dark.addEventListener("change", (event) => setTheme(event.matches ? "dark" : "light"));
  setTheme(dark.matches ? "dark" : "light");

  // ---- small helpers ----
  function address(path, asked) {
    const words = new URLSearchParams({ ...asked, ...(token ? { token } : {}) });
    return `${path}?${words}`;
  }
  function made(tag, text, kind) {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    if (kind) element.className = kind;
    return element;
  }
  function drawn(tag, attributes) {
    const element = document.createElementNS(SVG, tag);
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  }
  function shown(id, text) {
    const element = by(id);
    if (element.textContent !== text) element.textContent = text;
    element.hidden = !text;
  }

  // ---- the list ----
  function showList({ runs }) {
    const rows = runs.map((one) => {
      const line = made("tr");
      const link = made("a", one.name);
      link.href = `#${one.id}`;
      const name = made("td");
      name.append(link, made("small", one.folder));
      const state = made("td", one.state, "state");
      const words = made("td");
      words.append(made("strong", one.sentence), made("small", one.progress));
      line.append(name, state, words);
      return line;
    });
    const focused = document.activeElement?.hash;
    document.querySelector(".runs tbody").replaceChildren(...rows);
    if (focused) document.querySelector(`.runs a[href="${focused}"]`)?.focus();
    by("none").hidden = runs.length > 0;
  }

  // ---- one run ----
  function showRun(view) {
    if (view.gone) return shown("progress", "This run is not here any more.");
    document.title = `${view.name} · patternbench watch`;
    shown("title", view.name);
    shown("question", view.question);
    shown("progress", view.progress);
    shown("caveat", view.caveat);
    showDecision(view);
    showRound(view);
    showRemarks(view.remarks);
    const lanes = view.lanes.map(([name, count]) => `${name || "here"} ${count}`).join(", ");
    shown("lanes", lanes && `Rounds of each lane: ${lanes}`);
    shown("folder", view.folder);
    const moment = by("moment");
    by("replay").hidden = view.counts.ended < 1 && !held;
    if (!held) {
      moment.max = Math.max(1, view.counts.ended);
      moment.value = moment.max;
      by("after").textContent = moment.value;
    }
  }
  let decided = null;
  function showDecision(view) {
    // Without a choice, the sentences alone. The markup is the report's own, and holds no script that could run here.
    const key = view.decision || JSON.stringify(view.sentences);
    if (key === decided) return;
    decided = key;
    const place = by("decision");
    if (view.decision) {
      place.innerHTML = view.decision;
      return;
    }
    const box = made("div", "", "answer open");
    box.append(...view.sentences.map((sentence) => made("p", sentence)));
    place.replaceChildren(box);
  }
  function showRound(view) {
    const round = view.round;
    by("round").hidden = !round && view.running.length === 0;
    if (!round) {
      shown("round-title", "Round");
      shown("round-name", view.running.length ? `Running: ${view.running.join("; ")}` : "");
      by("measures").replaceChildren();
      return;
    }
    shown("round-title", round.live ? `Now: ${round.when}` : `Last round: ${round.when}`);
    shown("round-name", round.note ? `${round.title}. ${round.note}` : round.title);
    by("measures").replaceChildren(...round.measures.map((one) => measure(one, round)));
  }
  const WIDTH = 300, HEIGHT = 46;
  function measure(one, round) {
    const end = round.seconds.at(-1) || 1;
    const top = Math.max(...one.values.map((value) => value ?? 0), 0) || 1;
    const box = made("div", "", "measure");
    const words = made("dl");
    words.append(made("dt", one.name), made("dd", one.text));
    const picture = drawn("svg", { viewBox: `0 0 ${WIDTH} ${HEIGHT}`, preserveAspectRatio: "none", role: "img" });
    picture.setAttribute("aria-label", `${one.name} over ${end.toFixed(0)} s: now ${one.text}`);
    for (const band of round.bands) {
      const from = Math.min(1, band.began / end) * WIDTH;
      const to = Math.min(1, (band.ended ?? end) / end) * WIDTH;
      const rect = drawn("rect", { class: "band", x: from, y: 0, width: Math.max(0, to - from), height: HEIGHT });
      rect.append(drawn("title", {}));
      rect.firstChild.textContent = `fault: ${band.name}`;
      picture.append(rect);
    }
    let path = "";
    one.values.forEach((value, place) => {
      if (value === null) return;
      const x = (round.seconds[place] / end) * WIDTH, y = HEIGHT - 2 - (value / top) * (HEIGHT - 4);
      path += `${path && one.values[place - 1] !== null ? "L" : "M"}${x.toFixed(1)} ${y.toFixed(1)}`;
    });
    const grave = ["failed", "dropped"].includes(one.name) && one.values.some((value) => value > 0);
    picture.append(drawn("path", { class: grave ? "line grave" : "line", d: path }));
    box.append(words, picture);
    if (round.bands.length) box.append(made("small", `band: ${[...new Set(round.bands.map((band) => band.name))].join(", ")}`));
    return box;
  }
  function showRemarks(remarks) {
    by("remarks").hidden = remarks.length === 0;
    const lines = remarks.map((one) => {
      const count = one.rounds > 1 ? `${one.rounds} rounds: ` : "";
      return made("li", `${count}${one.text}${one.remedy ? `; ${one.remedy}` : ""}`);
    });
    document.querySelector("#remarks ul").replaceChildren(...lines);
  }

  // ---- earlier moments ----
  async function replay(rounds) {
    held = true;
    by("moment").value = rounds;
    by("after").textContent = rounds;
    const answer = await fetch(address("/replay", { run, rounds }));
    if (answer.ok && held) showRun(await answer.json());
    root.dataset.replayed = rounds;
  }
  function stop() {
    clearTimeout(playing);
    playing = 0;
    by("play").textContent = "Play";
  }
  async function step() {
    const moment = by("moment");
    const next = Math.min(Number(moment.max), Number(moment.value) + Math.max(1, Math.round(moment.max / 60)));
    await replay(next);
    if (playing && next < Number(moment.max)) playing = setTimeout(step, 400);
    else stop();
  }
  by("moment").addEventListener("input", () => { stop(); replay(Number(by("moment").value)); });
  by("now").addEventListener("click", () => { stop(); held = false; decided = null; if (latest) showRun(latest); });
  by("play").addEventListener("click", () => {
    if (playing) return stop();
    by("play").textContent = "Stop";
    if (by("moment").value === by("moment").max) by("moment").value = 1;
    playing = setTimeout(step, 0);
  });

  // ---- what is shown, by the address ----
  function open() {
    source?.close();
    stop();
    [run, latest, held, decided] = [location.hash.slice(1) || null, null, false, null];
    by("list").hidden = run !== null;
    by("run").hidden = run === null;
    by("back").hidden = run === null;
    by("kicker").hidden = run !== null;
    if (run === null) { shown("title", "Runs"); shown("question", ""); document.title = "patternbench watch"; }
    source = new EventSource(address("/events", run === null ? {} : { run }));
    source.addEventListener("message", (event) => {
      by("lost").hidden = true;
      latest = JSON.parse(event.data);
      if (run === null) showList(latest);
      else if (!held) showRun(latest);
      root.dataset.ready = "yes";
    });
    source.addEventListener("error", () => { by("lost").hidden = false; });
  }
  window.addEventListener("hashchange", open);
  open();
})();
