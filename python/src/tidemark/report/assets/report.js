"use strict";
// Everything that comes with the data is put into the page as text, never as HTML.
let report = JSON.parse(document.getElementById("data").textContent);
const KINDS = ["inserted", "updated", "deleted", "rejected"];
const COLORS = KINDS.map((kind) => `var(--${kind})`);
const MOST_ROWS = 40; // of a chart with a line per entity
const MOST_DATES = 60;
const MOST_NODES = 80;
const number = new Intl.NumberFormat("en");
const byId = (id) => document.getElementById(id);

function element(name, properties = {}, ...children) {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(properties)) {
    if (key in made) made[key] = value;
    else made.setAttribute(key, value);
  }
  made.append(...children.filter((child) => child !== null && child !== undefined));
  return made;
}

const count = (value) => (value === null || value === undefined ? "" : number.format(value));

function bytes(size) {
  if (size === null) return "";
  const units = ["B", "kB", "MB", "GB", "TB"];
  let unit = 0;
  while (size >= 1000 && unit < units.length - 1) { size /= 1000; unit += 1; }
  return `${unit && size < 100 ? size.toFixed(1) : Math.round(size)} ${units[unit]}`;
}

function ago(text) {
  if (!text) return "";
  const minutes = Math.floor((new Date(report.made_at) - new Date(text)) / 60000);
  if (minutes < 1) return "just now";
  if (minutes < 60) return `${minutes} min ago`;
  return minutes < 60 * 48 ? `${Math.floor(minutes / 60)} h ago` : `${Math.floor(minutes / 1440)} d ago`;
}

// --- the table of entities

function changeBar(row) {
  const parts = ["inserted", "updated", "deleted", "unchanged"].map((kind) => [kind, row[kind] || 0]);
  const whole = d3.sum(parts, (part) => part[1]);
  const text = parts.slice(0, 3).filter((part) => part[1]).map((part) => `${count(part[1])} ${part[0]}`).join(", ");
  if (!whole) return "";
  const bar = element("div", { className: "bar", ariaHidden: "true" });
  for (const [kind, rows] of parts.filter((part) => part[1])) {
    const span = element("span", { className: kind });
    span.style.flexGrow = String(rows / whole);
    bar.append(span);
  }
  return element("div", {}, text || "nothing changed", bar);
}

function sizeCell(row) {
  if (row.size_bytes === null) return "";
  const small = row.small_files ? `, ${count(row.small_files)} small` : "";
  return element("div", {}, bytes(row.size_bytes), element("br"), element("span", { className: "none" }, `${count(row.files)} ${row.files === 1 ? "file" : "files"}${small}`));
}

// What somebody has to look at comes first; what has a note, before what has none.
const STATES = ["failed", "in flight", "behind", "stale", "loaded", "empty"];
const urgency = (row) => 2 * (STATES.indexOf(row.state) + STATES.length) - (row.notes.length ? 1 : 0);

function notesCell(row) {
  return row.notes.length ? element("div", {}, ...row.notes.map((note) => element("p", {}, note))) : "";
}

const COLUMNS = [
  { name: "entity", value: (row) => row.entity, cell: (row) => row.entity },
  { name: "kind", value: (row) => row.kind, className: () => "kind", cell: (row) => row.kind },
  { name: "state", value: urgency, className: (row) => `state ${row.state.split(" ").pop()}`, cell: (row) => row.state },
  { name: "to do", value: (row) => -row.notes.length, className: () => "notes", cell: notesCell },
  { name: "last date", value: (row) => row.last_date, className: () => "date", cell: (row) => row.last_date ?? "" },
  { name: "loaded", value: (row) => row.loaded_at, className: () => "date", cell: (row) => ago(row.loaded_at) },
  { name: "rows", value: (row) => row.rows, className: () => "number", cell: (row) => count(row.rows) },
  { name: "last load", value: (row) => (row.inserted ?? -1) + (row.updated ?? 0) + (row.deleted ?? 0), className: () => "load", cell: changeBar },
  { name: "open rejects", value: (row) => row.open_rejects, className: () => "number", cell: (row) => count(row.open_rejects) },
  { name: "size", value: (row) => row.size_bytes, className: () => "number", cell: sizeCell },
];
const view = { sort: "state", descending: false, text: "", state: "", entity: "", folded: true };

function filtered() {
  const text = view.text.toLowerCase();
  const column = COLUMNS.find((one) => one.name === view.sort);
  const rows = report.entities.filter((row) => (!view.state || row.state === view.state)
    && [row.entity, row.kind, row.state, ...row.notes].join(" ").toLowerCase().includes(text));
  rows.sort((a, b) => d3.ascending(column.value(a) ?? "", column.value(b) ?? "") || d3.ascending(a.entity, b.entity));
  return view.descending ? rows.reverse() : rows;
}

// What has no table and nothing to do; nothing is folded where somebody looks for something, or all is so.
function drawFold(rows) {
  const { cell } = COLUMNS.find((column) => column.name === "state");
  const idle = rows.filter((row) => cell(row) === "empty" && !row.notes.length);
  const foldable = idle.length > 0 && idle.length < rows.length && !view.text && !view.state;
  byId("fold").hidden = !foldable;
  byId("fold").textContent = `${view.folded ? "Show" : "Hide"} ${count(idle.length)} empty ${idle.length === 1 ? "entity" : "entities"}`;
  byId("fold").setAttribute("aria-expanded", String(!view.folded));
  return foldable && view.folded ? rows.filter((row) => !idle.includes(row)) : rows;
}

function drawTable(rows) {
  const heads = COLUMNS.map((column) => {
    const sorted = column.name === view.sort;
    const button = element("button", { type: "button", id: `by-${column.name.replace(" ", "-")}` }, column.name);
    button.addEventListener("click", () => {
      view.descending = sorted && !view.descending;
      view.sort = column.name;
      draw();
      document.querySelector("th[aria-sort] button").focus();
    });
    const head = element("th", { scope: "col" }, button);
    if (sorted) head.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
    return head;
  });
  const body = drawFold(rows).map((row) => element("tr", {}, ...COLUMNS.map((column, place) =>
    element(place ? "td" : "th", place ? { className: column.className(row), "data-name": column.name } : { scope: "row" }, column.cell(row)))));
  byId("entities").replaceChildren(
    element("thead", {}, element("tr", {}, ...heads)), element("tbody", {}, ...body));
  byId("shown").textContent = `${count(rows.length)} of ${count(report.entities.length)} entities`;
}

// --- charts

// `chart` makes the options of a plot for a width; no chart without data.
function figure(id, title, { wide = false, legend = null, note = null, parent = byId("charts") } = {}, chart) {
  const made = element("figure", { id, className: wide ? "wide" : "" }, element("figcaption", {}, title));
  if (legend) {
    made.append(element("ul", { className: "legend" }, ...legend.map((kind) =>
      element("li", {}, element("i", { className: kind, ariaHidden: "true" }), kind))));
  }
  parent.append(made);
  const width = Math.max(280, made.clientWidth - 26);
  const plot = chart === null ? null : Plot.plot({ width, ariaLabel: title, ...chart(width) });
  if (plot !== null) {
    plot.setAttribute("role", "img");
    // an image is one thing for who hears it: its parts have no names
    for (const part of plot.querySelectorAll("[aria-label]")) part.removeAttribute("aria-label");
  }
  made.append(plot === null ? element("p", { className: "none" }, "The selected entities have no data for this chart.")
    : element("div", { id: `${id}-scroll`, className: "scroll", role: "group", ariaLabel: `Chart: ${title}`, tabIndex: plot.width.baseVal.value > width ? 0 : -1 }, plot));
  if (plot === null) made.classList.add("empty");
  if (note) made.append(element("p", { className: "none" }, note));
}

const dayOf = (load) => load.completed_at.slice(0, 10);

function drawCalendar(names, loads) {
  const shown = names.slice(0, MOST_ROWS);
  const cells = d3.flatRollup(loads.filter((load) => shown.includes(load.entity)),
    (group) => d3.sum(group, (load) => load.inserted + load.updated + load.deleted), (load) => load.entity, dayOf);
  const days = [...new Set(cells.map((cell) => cell[1]))].sort().slice(-MOST_DATES);
  const rows = cells.filter((cell) => days.includes(cell[1]));
  figure("calendar", "Rows that loads changed, by day", {
    wide: true, note: names.length > shown.length ? `The chart shows ${shown.length} of ${names.length} entities. Filter the table to see others.` : null,
  }, rows.length ? (width) => ({
    width: Math.min(width, 180 + 60 * days.length), marginLeft: 160, marginBottom: 60, padding: 0.1, x: { domain: days, tickRotate: -45, label: null },
    y: { label: null, domain: shown.filter((name) => rows.some((row) => row[0] === name)) },
    color: { type: "symlog", range: ["var(--none)", "var(--most)"], interpolate: (low, high) => (t) => `color-mix(in srgb, ${high} ${Math.round(15 + 85 * t)}%, ${low})` },
    marks: [Plot.cell(rows, { x: (row) => row[1], y: (row) => row[0], fill: (row) => row[2], title: (row) => `${row[0]}, ${row[1]}: ${count(row[2])} rows changed` })],
  }) : null);
}

function drawLoads(loads) {
  // what is derived has no dates of its own: its rows would be counted twice
  const dated = loads.filter((load) => load.business_date !== null);
  const parts = dated.flatMap((load) => KINDS.map((kind) => ({ date: load.business_date, kind, rows: load[kind] })));
  const dates = [...new Set(parts.map((part) => part.date))].sort().slice(-MOST_DATES);
  const rows = parts.filter((part) => part.rows && dates.includes(part.date));
  figure("loads", "Changed and rejected rows, by business date", { legend: KINDS }, rows.length ? () => ({
    marginLeft: 60, marginBottom: 60, x: { domain: dates, tickRotate: -45, label: null }, y: { grid: true, label: "rows", tickFormat: "~s" },
    color: { domain: KINDS, range: COLORS },
    marks: [Plot.barY(rows, Plot.groupX({ y: "sum" }, { x: "date", y: "rows", fill: "kind", order: KINDS })), Plot.ruleY([0])],
  }) : null);
}

function drawBars(id, title, rows, label) {
  const most = d3.sort(rows, (row) => -row.value).slice(0, 20);
  const longest = d3.max(most, (row) => row.name.length);
  figure(id, title, {}, most.length ? (width) => {
    const marginLeft = Math.min(width / 2, 6 * longest + 20);
    const fits = Math.floor((marginLeft - 20) / 6);
    return {
    marginLeft, x: { grid: true, label, tickFormat: "~s", ticks: Math.floor(width / 100) },
    y: { label: null, domain: most.map((row) => row.name), tickFormat: (name) => (name.length > fits ? `${name.slice(0, fits - 1)}…` : name) },
    marks: [Plot.barX(most, { x: "value", y: "name", fill: "var(--most)", title: (row) => `${row.name}: ${count(row.value)}` }), Plot.ruleX([0])],
    };
  } : null);
}

function drawVersions(names) {
  const rows = d3.rollups(report.versions.filter((row) => names.has(row.entity)), (group) => d3.sum(group, (row) => row.keys), (row) => row.versions);
  figure("versions", "Keys by number of versions", {}, rows.length ? () => ({
    marginLeft: 60, x: { label: "versions", type: "band", domain: d3.sort(rows.map((row) => row[0])) }, y: { grid: true, label: "keys", tickFormat: "~s" },
    marks: [Plot.barY(rows, { x: (row) => row[0], y: (row) => row[1], fill: "var(--most)", title: (row) => `${count(row[1])} keys with ${row[0]} versions` }), Plot.ruleY([0])],
  }) : null);
}

// What lies above and below the names, each as far right as the longest way to it.
function lineageOf(names) {
  const edges = report.lineage;
  const found = new Set(names);
  for (const [from, to] of [["reads", "read_by"], ["read_by", "reads"]]) {
    const queue = [...names];
    for (const name of queue) {
      for (const edge of edges) if (edge[from] === name && !queue.includes(edge[to])) queue.push(edge[to]);
    }
    queue.forEach((name) => found.add(name));
  }
  const kept = edges.filter((edge) => found.has(edge.reads) && found.has(edge.read_by));
  const depth = new Map([...found].map((name) => [name, 0]));
  for (let round = 0; round < found.size; round += 1) {
    let moved = false;
    for (const edge of kept) {
      if (depth.get(edge.read_by) <= depth.get(edge.reads)) { depth.set(edge.read_by, depth.get(edge.reads) + 1); moved = true; }
    }
    if (!moved) break;
  }
  const connected = new Set(kept.flatMap((edge) => [edge.reads, edge.read_by]));
  const places = new Map();
  for (const [level, group] of d3.groups([...connected].sort(), (name) => depth.get(name))) {
    group.forEach((name, place) => places.set(name, { name, x: level, y: place - (group.length - 1) / 2 }));
  }
  return { nodes: [...places.values()], edges: kept.map((edge) => ({ from: places.get(edge.reads), to: places.get(edge.read_by) })) };
}

function drawLineage(names) {
  const { nodes, edges } = lineageOf(names);
  const levels = d3.groups(nodes, (node) => node.x).sort((a, b) => a[0] - b[0]).map((level) => level[1]);
  const tall = d3.max(levels, (level) => level.length) || 1;
  const note = nodes.length > MOST_NODES ? `${nodes.length} models are too many for one chart. Choose an entity above.` : null;
  figure("lineage", "Lineage: which model reads which", { wide: true, note }, nodes.length && !note ? () => {
    // a name stands beside its dot, and what goes on from there begins behind it
    const height = Math.max(80, 30 * tall + 40);
    let left = 20;
    for (const level of levels) {
      for (const node of level) Object.assign(node, { left, top: height / 2 + 30 * node.y, right: left + 8 + textWidth(node.name) });
      left = d3.max(level, (node) => node.right) + 60;
    }
    return {
      width: left, height, axis: null, margin: 0, x: { type: "identity" }, y: { type: "identity" },
      marks: [
        Plot.arrow(edges, { x1: (edge) => edge.from.right, y1: (edge) => edge.from.top, x2: (edge) => edge.to.left, y2: (edge) => edge.to.top, stroke: "var(--dim)", insetStart: 4, insetEnd: 8, headLength: 6 }),
        Plot.dot(nodes, { x: "left", y: "top", r: 4, fill: (node) => (names.includes(node.name) ? "var(--most)" : "var(--dim)") }),
        Plot.text(nodes, { x: "left", y: "top", text: "name", dx: 8, fontSize: 12, textAnchor: "start", fill: "var(--ink)", stroke: "var(--paper)", strokeWidth: 3 }),
      ],
    };
  } : null);
}

const canvas = document.createElement("canvas").getContext("2d");
function textWidth(text) {
  canvas.font = "12px system-ui, sans-serif";
  return canvas.measureText(text).width;
}

const facets = (names) => ({ label: null, domain: names, tickFormat: (name) => (name.length > 18 ? `${name.slice(0, 17)}…` : name) });

// How old each entity with an objective was: it grows until a run is completed, and should stay below the line.
function drawAges(names) {
  const goals = new Map(report.entities.filter((row) => row.fresh_minutes && names.includes(row.entity)).map((row) => [row.entity, row.fresh_minutes / 60]));
  if (!goals.size) return;
  const shown = [...goals.keys()].slice(0, MOST_ROWS);
  const made = new Date(report.made_at);
  const points = [];
  for (const name of shown) {
    const runs = report.runs.filter((run) => run.entity === name).map((run) => new Date(run.completed_at));
    runs.forEach((run, place) => {
      points.push({ name, at: run, hours: 0 });
      const next = runs[place + 1] ?? made;
      points.push({ name, at: next, hours: (next - run) / 3.6e6 });
    });
  }
  figure("ages", "Time since the last run (dashed line: freshness objective)", {
    wide: true, note: goals.size > shown.length ? `The chart shows ${shown.length} of ${goals.size} entities. Filter the table to see others.` : null,
  }, points.length ? () => ({
    marginLeft: 60, height: 60 + 90 * shown.length, x: { type: "utc", label: null }, y: { grid: true, label: "hours" }, fy: facets(shown), marginRight: 130,
    marks: [
      Plot.areaY(points, { x: "at", y1: 0, y2: "hours", fy: "name", fill: "var(--none)" }),
      Plot.lineY(points, { x: "at", y: "hours", fy: "name", stroke: "var(--most)" }),
      Plot.ruleY(shown.map((name) => ({ name, hours: goals.get(name) })), { y: "hours", fy: "name", stroke: "var(--deleted)", strokeDasharray: "4 3" }),
    ],
  }) : null);
}

function drawLags() {
  const sources = report.replicators.map((row) => row.source);
  if (!sources.length) return;
  const late = report.replicators.filter((row) => row.fresh !== null && row.fresh < row.objective).map((row) => row.source);
  figure("lags", "Lag of each replicator's slowest table (dashed line: freshness objective)", {
    wide: true, note: late.length ? `These sources missed their objective: ${late.join(", ")}.` : null,
  }, report.lags.length ? () => ({
    marginLeft: 60, height: 60 + 110 * sources.length, x: { type: "utc", label: null }, y: { grid: true, label: "seconds", tickFormat: "~s" }, fy: facets(sources), marginRight: 130,
    marks: [
      Plot.lineY(report.lags, { x: (row) => new Date(row.at), y: "lag_seconds", fy: "source", stroke: "var(--most)" }),
      Plot.ruleY(report.replicators, { y: "freshness_seconds", fy: "source", stroke: "var(--deleted)", strokeDasharray: "4 3" }),
    ],
  }) : null);
}

function drawCharts(rows) {
  byId("charts").replaceChildren();
  const names = view.entity ? [view.entity] : rows.map((row) => row.entity);
  const chosen = new Set(names);
  const one = names.length === 1;
  const loads = report.loads.filter((load) => chosen.has(load.entity));
  drawCalendar(names, loads);
  drawLoads(loads);
  drawVersions(chosen);
  drawAges(names);
  drawLags();
  drawBars("columns", `Columns with the most updates, last ${report.days} days`,
    report.columns.filter((row) => chosen.has(row.entity)).map((row) => ({ name: one ? row.column : `${row.entity}.${row.column}`, value: row.changes })), "updates");
  drawBars("rejects", "Open rejects by reason",
    report.rejects.filter((row) => chosen.has(row.entity)).map((row) => ({ name: one ? row.reason : `${row.entity}: ${row.reason}`, value: row.rows })), "rows");
  drawBars("sizes", "Size of current and log",
    rows.filter((row) => chosen.has(row.entity) && row.size_bytes).map((row) => ({ name: row.entity, value: row.size_bytes })), "bytes");
  drawLineage(names);
}

function draw() {
  const rows = filtered();
  drawTable(rows);
  drawCharts(rows);
}

// --- the rest

// How long the columns of a key had which value: a bar each, its text as far as it fits.
function drawValues(one, place, parent) {
  const day = (text) => new Date(`${text}T00:00:00Z`);
  const end = d3.max([day(report.made_at.slice(0, 10)), ...one.values.map((row) => d3.timeDay.offset(day(row.since), 1))]);
  const rows = one.values.map((row, number) => ({
    column: row.column, value: row.value, x1: day(row.since), x2: row.until === null ? end : day(row.until), shade: number % 2 }));
  const columns = [...new Set(rows.map((row) => row.column))];
  figure(`key-${place}`, `Values of ${one.entity} ${one.key}`, { wide: true, parent }, rows.length ? (width) => {
    const marginLeft = Math.min(width / 2, 6 * d3.max(columns, (name) => name.length) + 20);
    const span = d3.max(rows, (row) => row.x2) - d3.min(rows, (row) => row.x1);
    const fits = (row) => Math.floor(((row.x2 - row.x1) / span) * (width - marginLeft - 20) / 7);
    return {
      marginLeft, x: { type: "utc", label: null }, y: { label: null, domain: columns, padding: 0.15 },
      marks: [
        Plot.barX(rows, { x1: "x1", x2: "x2", y: "column", fill: (row) => (row.shade ? "var(--none)" : "var(--unchanged)"), insetRight: 1, title: (row) => `${row.column}: ${row.value}` }),
        Plot.text(rows, { x: "x1", y: "column", dx: 4, textAnchor: "start", fill: "var(--ink)", text: (row) => (row.value.length <= fits(row) ? row.value : `${row.value.slice(0, Math.max(0, fits(row) - 1))}…`) }),
      ],
    };
  } : null);
}

function drawKeys() {
  byId("keys-section").hidden = !report.keys.length;
  byId("keys").replaceChildren(...report.keys.map((one, place) => element("div", { id: `key-table-${place}`, className: "scroll", role: "region", ariaLabel: `${one.entity} ${one.key}`, tabIndex: 0 },
    element("table", {},
      element("caption", {}, `${one.entity}: ${one.key}`),
      element("thead", {}, element("tr", {}, ...["date", "change", "commit", "what changed"].map((name) => element("th", { scope: "col" }, name)))),
      element("tbody", {}, ...one.versions.map((version) => element("tr", {},
        element("td", { className: "date" }, version.business_date ?? ""), element("td", {}, { I: "insert", U: "update", D: "delete" }[version.operation]),
        element("td", { className: "number" }, String(version.commit_id)), element("td", {}, version.changes.join("; ")))))))));
  report.keys.forEach((one, place) => drawValues(one, place, byId("keys")));
}

// What comes with the data beside tables and charts; a choice that is made stays.
function fill() {
  byId("title").textContent = `${report.project}: state of its entities`;
  byId("made").textContent = `As of ${report.made_at.slice(0, 16).replace("T", " ")} UTC.`;
  byId("version").textContent = `Tidemark ${report.version}`;
  const states = d3.sort(d3.rollups(report.entities, (group) => group.length, (row) => row.state), (state) => STATES.indexOf(state[0]));
  byId("tiles").replaceChildren(...[["entities", report.entities.length], ...states].map(([name, many]) =>
    element("div", {}, element("dt", {}, name), element("dd", {}, count(many)))));
  fillChoice("state", states.map((state) => state[0]));
  fillChoice("entity", report.entities.map((row) => row.entity));
}

// The first option stays: it is none of the names.
function fillChoice(id, names) {
  const select = byId(id);
  const chosen = select.value;
  const first = select.options[0];
  select.replaceChildren(first, ...names.map((name) => element("option", { value: name }, name)));
  if (names.includes(chosen)) select.value = chosen;
  else if (id in view) view[id] = "";
}

function start() {
  for (const form of document.querySelectorAll("form")) form.addEventListener("submit", (event) => event.preventDefault());
  byId("filter").addEventListener("input", (event) => { view.text = event.target.value; draw(); });
  byId("fold").addEventListener("click", () => { view.folded = !view.folded; drawTable(filtered()); });
  byId("state").addEventListener("change", (event) => { view.state = event.target.value; draw(); });
  byId("entity").addEventListener("change", (event) => { view.entity = event.target.value; draw(); });
  let width = window.innerWidth;
  window.addEventListener("resize", () => { if (window.innerWidth !== width) { width = window.innerWidth; draw(); } });
  fill();
  drawKeys();
  draw();
}

start();
