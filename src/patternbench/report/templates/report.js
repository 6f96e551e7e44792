(() => {
  const { NARROW, copy, data, draw, plot, plots, room, root } = page;

  // ---- the grids ----
  function rowsOf(response) {
    return data.scenarios.flatMap((scenario, place) => {
      const point = response.rows[place];
      return point.median === null ? [] : [{ ...scenario, ...point }];
    });
  }
  function titled(node, title) {
    if (Array.isArray(node)) return node.map((each) => titled(each, title));
    if (node && typeof node === "object") {
      return Object.fromEntries(Object.entries(node).map(([key, value]) => [key, titled(value, title)]));
    }
    return node === "@title" ? title : node;
  }
  function gridSpec(element, response, logarithmic) {
    const narrow = room(element) < NARROW;
    const spec = titled(data.grid[narrow ? "narrow" : "wide"], response.axis);
    const panels = narrow ? 1 : data.columns;
    const inner = spec.spec || spec;
    inner.width = Math.floor(Math.min(640, (room(element) - 75 - 22 * panels) / panels));
    inner.height = Math.round(Math.max(170, Math.min(300, inner.width * 0.7)));
    let rows = rowsOf(response);
    if (logarithmic) {
      rows = rows.filter((row) => row.median > 0).map((row) => ({ ...row, low: row.low === null ? null : Math.max(row.low, row.median / 1000) }));
      for (const layer of inner.layer) if (layer.encoding.y) layer.encoding.y.scale = { type: "log" };
    }
    if (rows.every((row) => row.low === null)) {
      // No interval anywhere: the band shrinks to its line. It has to stay, since the choices hang on the first layer.
      for (const layer of inner.layer) if (layer.encoding.y?.field === "low") layer.encoding.y.field = layer.encoding.y2.field = "median";
    }
    spec.datasets = { points: rows };
    return spec;
  }
  function gridFigure(title, response, choices) {
    const figure = document.createElement("figure");
    figure.className = "grid-figure";
    const heading = add(figure, "h3", title);
    const meaning = add(figure, "p", "");
    meaning.className = "muted";
    const tools = add(figure, "p", "");
    tools.className = "tools";
    let current = response;
    if (choices) {
      const label = add(tools, "label", "Response ");
      const select = add(label, "select", "");
      for (const each of choices) add(select, "option", each.title).value = each.name;
      select.value = response.name;
      select.addEventListener("change", () => {
        current = choices.find((each) => each.name === select.value);
        show();
      });
    }
    const label = add(tools, "label", "");
    const logarithmic = add(label, "input", "");
    logarithmic.type = "checkbox";
    label.append(" logarithmic axis");
    logarithmic.addEventListener("change", () => draw(element));
    const element = add(figure, "div", "");
    element.className = "plot";
    const details = add(figure, "details", "");
    add(details, "summary", "The numbers");
    const box = add(details, "div", "");
    function show() {
      heading.textContent = choices ? `Any response: ${current.title.toLowerCase()}` : current.title;
      meaning.textContent = `${current.meaning[0].toUpperCase()}${current.meaning.slice(1)}.`;
      if (details.open) fill();
      return plots.has(element) ? draw(element) : plot(element, () => gridSpec(element, current, logarithmic.checked));
    }
    function fill() {
      box.replaceChildren(...tableOf(current));
    }
    details.addEventListener("toggle", () => { if (details.open) fill(); });
    document.getElementById("grids").append(figure);
    return show();
  }
  function numbersOf(response) {
    const unit = response.unit ? ` (${response.unit})` : "";
    const head = [...data.levels.titles, `median${unit}`, `from${unit}`, `to${unit}`, "confidence (%)", "rounds"];
    const rows = response.rows.map((point, place) => [...data.levels.rows[place], ...Object.values(point).map((value) => value ?? "")]);
    return [head, ...rows];
  }
  function tableOf(response) {
    const [head, ...rows] = numbersOf(response);
    const save = document.createElement("button");
    save.type = "button";
    save.textContent = "CSV";
    save.addEventListener("click", () => download(`figure-${response.name}.csv`, [head, ...rows]));
    const scroll = document.createElement("div");
    scroll.className = "scroll tall";
    fillTable(add(scroll, "table", ""), head, rows, data.levels.titles.length);
    return [save, scroll];
  }

  // ---- tables ----
  function add(parent, tag, text) {
    const element = document.createElement(tag);
    if (text) element.textContent = text;
    parent.append(element);
    return element;
  }
  function fillTable(table, head, rows, words) {
    table.replaceChildren();
    const top = add(add(table, "thead", ""), "tr", "");
    head.forEach((text, place) => { add(top, "th", text).className = place >= words ? "n" : ""; });
    const body = add(table, "tbody", "");
    for (const row of rows) {
      const line = add(body, "tr", "");
      row.forEach((value, place) => { add(line, "td", String(value)).className = place >= words ? "n" : ""; });
    }
  }
  function download(name, rows) {
    const quoted = (value) => (/[",\n]/.test(String(value)) ? `"${String(value).replaceAll('"', '""')}"` : String(value));
    const text = rows.map((row) => row.map(quoted).join(",")).join("\r\n");
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type: "text/csv" }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 1000);
  }

  // ---- the list of scenarios, and one of them ----
  const list = document.getElementById("scenario-table");
  const find = document.getElementById("find");
  let sorting = { place: null, up: true };
  function order() {
    const places = data.names.map((_, place) => place);
    if (sorting.place === null) return places;
    const width = data.levels.titles.length;
    const key = (place) => sorting.place < width ? data.levels.rows[place][sorting.place] : data.detail.values[place][sorting.place - width];
    const compare = (a, b) => {
      const [x, y] = [key(a), key(b)];
      if (x === null || y === null) return (x === null) - (y === null);
      return (typeof x === "number" ? x - y : x.localeCompare(y, undefined, { numeric: true })) * (sorting.up ? 1 : -1);
    };
    return places.sort(compare);
  }
  // "60 ms" and "40 %" are one word each; a word matches from its beginning, so that "0 %" is not found in "40 %".
  function wordsOf(text) {
    const words = text.toLowerCase().replaceAll("\u00a0", " ").match(/[\d.]+ (?:us|µs|ms|s|m|h|%)(?!\S)|\S+/g) || [];
    return words.map((word) => new RegExp(`(?:^|[^a-z0-9.])${word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")}`));
  }
  function showList() {
    const asked = wordsOf(find.value);
    const words = data.levels.titles.length;
    const shown = order().filter((place) => {
      const text = `${data.names[place]} ${data.levels.rows[place].join(" ")} ${data.scenarios[place].scenario}`.toLowerCase().replaceAll("\u00a0", " ");
      return asked.every((word) => word.test(text));
    });
    const rows = shown.map((place) => [...data.levels.rows[place], ...data.detail.rows[place]]);
    fillTable(list, [...data.levels.titles, ...data.detail.titles], rows, words);
    list.querySelectorAll("th").forEach((cell, place) => {
      cell.dataset.sort = place;
      if (sorting.place === place) cell.append(sorting.up ? " ↑" : " ↓");
      if (sorting.place === place) cell.ariaSort = sorting.up ? "ascending" : "descending";
      cell.tabIndex = 0;
      const sort = () => {
        sorting = { place, up: sorting.place === place ? !sorting.up : true };
        showList();
      };
      cell.addEventListener("click", sort);
      cell.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        sort();
        list.querySelectorAll("th")[place].focus();
      });
    });
    list.querySelectorAll("tbody tr").forEach((line, row) => {
      line.tabIndex = 0;
      line.classList.toggle("chosen", shown[row] === chosen);
      const open = () => { choose(shown[row]); };
      line.addEventListener("click", open);
      line.addEventListener("keydown", (event) => {
        if (event.key !== "Enter") return;
        open();
        list.querySelector("tr.chosen")?.focus();
      });
    });
    document.getElementById("count").textContent = `${shown.length} of ${data.names.length} scenarios`;
  }
  let chosen = null;
  const kind = document.getElementById("kind");
  const kinds = { call: "calls (from intended start, back-off included)", success: "successful attempts" };
  for (const name of Object.keys(data.curves.kinds || {})) add(kind, "option", kinds[name] || name).value = name;
  function referenceOf(place) {
    const mine = data.scenarios[place];
    return data.scenarios.findIndex((each) => each.reference && each.client === mine.client && each.condition === mine.condition);
  }
  function curveRows(place) {
    const curve = ((data.curves.kinds || {})[kind.value] || {})[place];
    if (!curve) return [];
    return curve.map(([median, low, high], at) => {
      const [tail, share] = data.curves.tails[at];
      return { line: data.scenarios[place].line, tail, share, median, low, high };
    });
  }
  function detailSpec(element) {
    const spec = copy(data.distribution);
    const reference = referenceOf(chosen);
    const rows = reference >= 0 && reference !== chosen ? curveRows(reference) : [];
    spec.width = Math.min(900, room(element) - 70);
    spec.datasets = { points: [...rows, ...curveRows(chosen)] };
    return spec;
  }
  function choose(place) {
    chosen = place;
    const box = document.getElementById("detail");
    box.hidden = false;
    document.getElementById("detail-name").textContent = data.names[place];
    const empty = curveRows(place).length === 0;
    document.getElementById("detail-note").textContent = empty ? "No times were recorded for this scenario." : "Median over rounds; the band spans all rounds.";
    const element = document.getElementById("plot-detail");
    if (empty) { plots.delete(element); element.replaceChildren(); } else plot(element, () => detailSpec(element));
    const rows = data.responses.map((response) => {
      const { median, low, high, coverage, rounds } = response.rows[place];
      const interval = low === null ? "" : `${low} to ${high}`;
      return [response.title, response.unit, median ?? "–", interval, coverage ?? "", rounds ?? 0];
    });
    fillTable(document.getElementById("detail-table"), ["response", "unit", "median", "interval", "confidence (%)", "rounds"], rows, 2);
    showList();
  }
  kind.addEventListener("change", () => { if (chosen !== null) choose(chosen); });
  find.addEventListener("input", showList);
  document.getElementById("scenarios-csv").addEventListener("click", () => {
    const rows = data.names.map((_, place) => [data.scenarios[place].scenario, ...data.levels.rows[place], ...data.detail.rows[place]]);
    download("scenarios.csv", [["scenario", ...data.levels.titles, ...data.detail.titles], ...rows]);
  });

  // ---- everything, once ----
  async function start() {
    showList();
    const drift = document.getElementById("plot-drift");
    if (data.drifts.length) {
      await plot(drift, () => ({ ...copy(data.drift), width: Math.min(900, room(drift) - 70), datasets: { points: data.drifts } }));
    }
    const first = data.responses.slice(0, 2);
    for (const response of first) await gridFigure(response.title, response, null);
    if (data.responses.length > 2) await gridFigure("Any response", data.responses[2], data.responses);
    await page.sections();
    if (data.names.length) choose(data.names.length - 1);
    root.dataset.ready = "yes";
  }
  start();
})();
