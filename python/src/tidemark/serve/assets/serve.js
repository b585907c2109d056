"use strict";
// Added to the page of the report: what goes on, and questions. What comes from outside is text here too.
let live = JSON.parse(byId("live").textContent);
const EVERY = 2000;
const REST = 4; // of many entities the report takes a while: the page is there for who reads it
const shownKey = { entity: "", key: [] };
let silent = false; // whether the server did not answer
let ended = false; // whether it will not
let body = bodyOf(report);
let working = new Map(); // node by entity
let notBefore = 0; // the next time that the report is drawn anew

class Refused extends Error {}

async function ask(path, parameters = []) {
  const answer = await fetch(`/api/${path}?${new URLSearchParams(parameters)}`, { cache: "no-store" });
  return contentOf(answer);
}

async function act(action, name) {
  const answer = await fetch(`/api/actions/${action}`, {
    method: "POST", cache: "no-store", body: JSON.stringify({ name }),
    headers: { "Content-Type": "application/json", "X-Tidemark-Token": live.action },
  });
  return contentOf(answer);
}

async function contentOf(answer) {
  if (answer.status === 401) {
    ended = true;
    throw new Refused("The server has restarted. Open the new address that tidemark serve printed.");
  }
  const text = await answer.text();
  let content = null;
  try { content = JSON.parse(text); } catch { throw new Refused(text.trim() || `The server answered with status ${answer.status}.`); }
  if (!answer.ok) throw new Refused(content.error);
  return content;
}

function tell(text) {
  if (byId("news").textContent !== text) byId("news").textContent = text;
}

function show(id, text) {
  byId(id).hidden = !text;
  if (byId(id).textContent !== (text ?? "")) byId(id).textContent = text ?? "";
}

// What is drawn anew keeps the focus, and the page its place.
function keepingPlace(draws) {
  const focused = document.activeElement?.id;
  const top = window.scrollY;
  const open = new Set([...document.querySelectorAll("details[open]")].map((one) => one.id));
  draws();
  for (const id of open) if (byId(id)) byId(id).open = true;
  if (focused && document.activeElement?.id !== focused) byId(focused)?.focus({ preventScroll: true });
  if (window.scrollY !== top) window.scrollTo({ top, behavior: "instant" });
}

// --- the report

function bodyOf(found) {
  return JSON.stringify({ ...found, made_at: null, keys: [] });
}

async function refresh() {
  const found = await ask("report");
  const before = new Map(report.entities.map((row) => [row.entity, row.loaded_at]));
  const next = bodyOf(found.report);
  live = { ...live, mark: found.mark, keys: found.keys };
  report = { ...found.report, keys: report.keys };
  keepingPlace(() => {
    fill();
    fillQuestions();
    if (next === body) drawTable(filtered());
    else draw();
  });
  if (next === body) return;
  body = next;
  const loaded = report.entities.filter((row) => row.loaded_at && row.loaded_at !== before.get(row.entity)).map((row) => row.entity);
  if (loaded.length) tell(`${loaded.length > 3 ? `${count(loaded.length)} entities` : loaded.join(", ")}: loaded.`);
  await Promise.all([lookUp(false), pages.past.again(), pages.quarantine.again()]);
}

// --- what goes on

const seconds = (from, to) => Math.max(0, Math.round((new Date(to) - new Date(from)) / 1000));
const lasting = (total) => (total < 90 ? `${total} s` : total < 5400 ? `${Math.round(total / 60)} min` : `${(total / 3600).toFixed(1)} h`);
const GOOD = new Set(["success", "pass", "no-op", "reused"]);

function lastSeconds(name) {
  const loads = report.loads.filter((load) => load.entity === name && load.seconds !== null);
  return loads.length ? lasting(Math.round(loads[loads.length - 1].seconds)) : "";
}

function nodeRow(node, now) {
  const running = node.ended_at === null;
  return element("tr", {}, element("th", { scope: "row" }, node.name), element("td", {}, node.kind),
    element("td", { className: `state ${node.state}` }, node.state),
    element("td", { className: "number" }, lasting(seconds(node.started_at, node.ended_at ?? now))),
    element("td", { className: "none" }, running ? lastSeconds(node.name) : ""));
}

function nodeTable(id, caption, nodes, now) {
  return element("div", { id, className: "scroll", role: "group", ariaLabel: caption, tabIndex: 0 }, element("table", {}, element("caption", { className: "unseen" }, caption),
    element("thead", {}, element("tr", {}, ...["node", "kind", "state", "time", "last load"].map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...nodes.map((node) => nodeRow(node, now)))));
}

function drawRun(run, now) {
  const done = run.nodes.filter((node) => node.ended_at !== null);
  const bad = done.filter((node) => !GOOD.has(node.state));
  const title = `${run.command}${run.business_date ? ` of ${run.business_date}` : ""}`;
  const said = `${title}: ${count(done.length)} of ${count(run.total)} done${bad.length ? `, ${count(bad.length)} with problems` : ""}, for ${lasting(seconds(run.started_at, now))} (process ${run.pid})`;
  const open = run.nodes.filter((node) => node.ended_at === null);
  const id = `done-${run.pid}`;
  const good = done.filter((node) => GOOD.has(node.state));
  return element("div", { className: "run" }, element("p", {}, said),
    element("progress", { max: Math.max(1, run.total), value: done.length, ariaLabel: `Progress of ${title}` }),
    open.length || bad.length ? nodeTable(`open-${run.pid}`, `${title}: running or with problems`, [...open, ...bad], now) : null,
    good.length ? element("details", { id }, element("summary", { id: `${id}-summary` }, `${count(good.length)} done`), nodeTable(`${id}-nodes`, `${title}: done`, good.reverse(), now)) : null);
}

function drawRuns(now) {
  byId("runs").replaceChildren(...(now.runs.length ? now.runs.map((run) => drawRun(run, now.now)) : [element("p", { className: "none" }, now.applying?.running ? `Tidemark is applying plan ${now.applying.plan}. Its run has not started yet.` : "No run is in progress.")]));
  const next = new Map(now.runs.flatMap((run) => run.nodes).filter((node) => node.ended_at === null).map((node) => [node.name, node]));
  const changed = next.size !== working.size || [...next.keys()].some((name) => !working.has(name));
  working = next;
  if (changed) drawTable(filtered());
}

// What is refused is told where one looks: behind the button, until it is pressed again.
const refused = new Map();
function actionButton(id, text, label, act) {
  const button = element("button", { type: "button", id, ariaLabel: label }, text);
  const said = element("span", { id: `${id}-said`, className: "level-error", role: "alert" }, refused.get(id) ?? "");
  const answer = (text) => { refused.set(id, text); (byId(`${id}-said`) ?? said).textContent = text; };
  button.addEventListener("click", async () => {
    button.disabled = true;
    answer("");
    try { await act(); await look(); } catch (error) { answer(error.message); } finally { button.disabled = false; }
  });
  return element("span", {}, button, " ", said);
}

function drawPlans(now) {
  byId("plans").hidden = !now.plans.length && !now.applying;
  byId("plan-list").replaceChildren(...now.plans.map((plan) => element("div", { className: "plan" },
    element("p", {}, element("strong", {}, plan.id), ` ${plan.command}, made ${plan.made_at.slice(0, 16).replace("T", " ")}`),
    element("ul", {}, ...plan.entities.map((one) => element("li", {}, `${one.entity}${one.says ? `: ${one.says}` : ""}`))),
    plan.at_work ? element("p", { className: "none" }, "Tidemark is applying this plan.") : live.action === null ? null : element("div", { className: "controls" },
      actionButton(`apply-${plan.id}`, "Apply", `Apply plan ${plan.id}`, async () => { if (confirm(`Apply plan ${plan.id}?`)) await act("apply", plan.id); }),
      actionButton(`discard-${plan.id}`, "Discard", `Discard plan ${plan.id}`, async () => { if (confirm(`Discard plan ${plan.id}?`)) await act("discard", plan.id); })))));
  const one = now.applying;
  if (!one) { byId("applying").replaceChildren(); return; }
  const state = one.running ? `is being applied, for ${lasting(seconds(one.started_at, now.now))}` : one.exit_code === 0 ? "was applied" : one.exit_code === 2 ? "was refused" : `failed with exit code ${one.exit_code}`;
  const output = element("pre", { id: "applying-output", tabIndex: 0, role: "region", ariaLabel: `Output of plan ${one.plan}` }, one.output || "The command has not printed anything yet.");
  byId("applying").replaceChildren(element("p", {}, `Plan ${one.plan} ${state}.`), output);
  output.scrollTop = output.scrollHeight;
}

function replicatorTable(source) {
  return element("table", {}, element("caption", { className: "unseen" }, `Tables of ${source.source}`),
    element("thead", {}, element("tr", {}, ...["table", "model", "state", "behind", "waiting", "applied", "failures"].map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...source.tables.map((one) => element("tr", {}, element("th", { scope: "row" }, one.table), element("td", {}, one.model),
      element("td", { className: `state ${one.state}` }, one.state, one.problem ? element("div", { className: "none" }, one.problem) : null),
      element("td", { className: "number" }, one.behind === null ? "" : lasting(Math.round(one.behind))),
      ...["waiting", "applied", "failures"].map((name) => element("td", { className: "number" }, count(one[name])))))));
}

function drawReplicators(now) {
  byId("replicators").hidden = !now.replicators.length;
  byId("replicator-list").replaceChildren(...now.replicators.map((source) => element("div", { className: "run" },
    element("p", {}, element("strong", {}, source.source), source.capture === undefined ? "" : `: ${source.running ? "running" : "not running"}${source.paused ? ", paused" : ""}; capture ${source.capture}`),
    source.problem ? element("p", { className: "level-error" }, source.problem) : null,
    source.tables.length ? element("div", { id: `tables-of-${source.source}`, className: "scroll", role: "region", ariaLabel: `Tables of ${source.source}`, tabIndex: 0 }, replicatorTable(source)) : null,
    live.action === null || source.capture === undefined ? null : element("div", { className: "controls" },
      actionButton(`pause-${source.source}`, source.paused ? "Resume" : "Pause", `${source.paused ? "Resume" : "Pause"} ${source.source}`, () => act(source.paused ? "resume" : "pause", source.source)),
      source.paused ? null : actionButton(`retry-${source.source}`, "Try failing tables again", `Try failing tables of ${source.source} again`, () => act("resume", source.source))))));
}

function drawLog(now) {
  byId("log-path").textContent = now.log.path;
  const lines = byId("log-lines");
  const atEnd = lines.scrollTop + lines.clientHeight >= lines.scrollHeight - 4;
  lines.replaceChildren(...(now.log.lines.length ? now.log.lines.map((line) => element("li", { className: `level-${line.level}` }, `${line.at}  ${line.text}`)) : [element("li", {}, "The log has no lines yet.")]));
  if (atEnd) lines.scrollTop = lines.scrollHeight;
}

// What is heard: that a run began, ended or went wrong, and that a plan was applied; not every second.
let heard = { runs: new Map(), applying: null };
function tellOf(now) {
  const runs = new Map(now.runs.map((run) => [run.pid, run.nodes.filter((node) => node.ended_at !== null && !GOOD.has(node.state)).map((node) => node.name)]));
  for (const [pid, bad] of runs) {
    if (!heard.runs.has(pid)) tell("A run has started.");
    const more = bad.filter((name) => !(heard.runs.get(pid) ?? []).includes(name));
    if (more.length) tell(`These nodes have problems: ${more.join(", ")}.`);
  }
  for (const pid of heard.runs.keys()) if (!runs.has(pid)) tell("A run has ended.");
  if (heard.applying?.running && now.applying && !now.applying.running) tell(`Plan ${now.applying.plan} ${now.applying.exit_code === 0 ? "was applied" : now.applying.exit_code === 2 ? "was refused" : "failed"}.`);
  heard = { runs, applying: now.applying };
}

const drawn = new Map();
async function look() {
  const now = await ask("now");
  if (silent) { silent = false; tell("The server answers again."); }
  show("problem", now.problem);
  keepingPlace(() => {
    for (const [draws, what] of [[drawRuns, now.runs.length ? now : now.applying?.running && now.applying.plan], [drawPlans, [now.plans, now.applying, now.applying?.running && now.now]], [drawReplicators, now.replicators], [drawLog, now.log]]) {
      const text = JSON.stringify(what);
      if (drawn.get(draws) !== text) { drawn.set(draws, text); draws(now); }
    }
  });
  tellOf(now);
  const begun = performance.now();
  if (now.mark === live.mark || begun < notBefore) return;
  await refresh();
  notBefore = begun + REST * (performance.now() - begun);
}

async function keepLooking() {
  for (;;) {
    if (!document.hidden) {
      try { await look(); } catch (error) {
        if (error instanceof Refused) tell(error.message);
        else { silent = true; tell("The server does not answer. The page shows the last known state."); }
      }
      if (ended) return;
    }
    await new Promise((resolve) => {
      const timer = setTimeout(resolve, silent ? 5 * EVERY : EVERY);
      document.addEventListener("visibilitychange", () => { clearTimeout(timer); resolve(); }, { once: true });
    });
  }
}

// --- questions

function cellOf(text) {
  return text === null ? element("td", {}, element("span", { className: "null" }, "NULL")) : element("td", {}, text);
}

function rowsTable(caption, columns, rows) {
  return element("table", { className: "rows" }, element("caption", {}, caption),
    element("thead", {}, element("tr", {}, ...columns.map((name) => element("th", { scope: "col" }, name)))),
    element("tbody", {}, ...rows.map((row) => element("tr", {}, ...row.map(cellOf)))));
}

function fillQuestions() {
  const keyed = Object.keys(live.keys);
  fillChoice("lookup-entity", keyed);
  fillChoice("past-entity", keyed);
  fillChoice("quarantine-entity", report.entities.map((row) => row.entity));
  askForKey();
  offerCommits();
}

// The loads of the chosen entity, the newest first; another commit can be typed.
function offerCommits() {
  const loads = report.loads.filter((load) => load.entity === byId("past-entity").value).reverse();
  byId("past-commits").replaceChildren(...loads.map((load) => element("option", { value: String(load.commit_id), label: `${load.kind}${load.business_date ? ` of ${load.business_date}` : ""}` })));
}

function askForKey() {
  const columns = live.keys[byId("lookup-entity").value] ?? [];
  const there = [...byId("lookup-keys").querySelectorAll("input")];
  if (JSON.stringify(there.map((one) => one.name)) === JSON.stringify(columns)) return;
  byId("lookup-keys").replaceChildren(...columns.map((name, place) => element("label", {}, `${name} `, element("input", { id: `lookup-key-${place}`, name, autocomplete: "off", size: 14 }))));
}

async function lookUp(told) {
  if (!shownKey.entity) return;
  const { entity, key } = shownKey;
  try {
    const found = await ask("versions", [["entity", entity], ...key.map((value) => ["key", value])]);
    report.keys = found.total ? [found.history] : [];
    keepingPlace(() => {
      drawKeys();
      byId("key-rows-section").hidden = !found.total;
      const dates = found.history.versions.map((one) => [one.business_date, { I: "insert", U: "update", D: "delete" }[one.operation]]);
      byId("key-rows").replaceChildren(rowsTable(`${entity}: ${key.join(", ")}`, ["date", "change", ...found.columns], found.rows.map((row, place) => [...dates[place], ...row])));
    });
    if (told) byId("lookup-said").textContent = found.total ? `${count(found.total)} ${found.total === 1 ? "version" : "versions"}` : `${entity} never had a row with this key`;
  } catch (error) {
    if (!(error instanceof Refused)) throw error;
    if (told) byId("lookup-said").textContent = error.message;
  }
}

// Rows of a question, a page at a time.
function paged(prefix, path, noun, asked) {
  let question = null;
  let offset = 0;
  const said = byId(`${prefix}-said`);
  const [previous, next] = [byId(`${prefix}-previous`), byId(`${prefix}-next`)];
  async function turn() {
    if (question === null) return;
    try {
      const found = await ask(path, [...question.parameters, ["offset", String(offset)]]);
      keepingPlace(() => byId(`${prefix}-rows`).replaceChildren(...(found.rows.length ? [rowsTable(question.caption, found.columns, found.rows)] : [])));
      said.textContent = found.rows.length ? `${count(offset + 1)} to ${count(offset + found.rows.length)} of ${count(found.total)} ${noun}` : `${found.total ? "no more" : "no"} ${noun}`;
      previous.disabled = offset === 0;
      next.disabled = offset + found.limit >= found.total;
      previous.onclick = () => { offset = Math.max(0, offset - found.limit); safely(turn(), said); };
      next.onclick = () => { offset += found.limit; safely(turn(), said); };
    } catch (error) {
      if (!(error instanceof Refused)) throw error;
      said.textContent = error.message;
      byId(`${prefix}-rows`).replaceChildren();
    }
  }
  byId(`${prefix}-form`).addEventListener("submit", () => { question = asked(); offset = 0; said.textContent = "reading …"; safely(turn(), said); });
  return { again: turn };
}

function safely(work, place) {
  work.catch(() => { place.textContent = "The server does not answer."; });
}

function momentAsked() {
  const by = byId("past-by").value;
  if (by === "date") return byId("past-date").value;
  return by === "commit" ? `commit ${byId("past-commit").value}` : "";
}

const pages = {
  past: paged("past", "rows", "rows", () => {
    const entity = byId("past-entity").value;
    const at = momentAsked();
    return { caption: `${entity} as of ${at || "now"}`, parameters: [["entity", entity], ["at", at], ["begins", byId("past-begins").value]] };
  }),
  quarantine: paged("quarantine", "rejects", "rejects", () => {
    const entity = byId("quarantine-entity").value;
    return { caption: `Rejects of ${entity}`, parameters: [["entity", entity], ["all", byId("quarantine-all").checked ? "1" : "0"]] };
  }),
};

function startLive() {
  const state = COLUMNS.find((column) => column.name === "state");
  const { cell, className } = state;
  state.cell = (row) => (working.has(row.entity) ? "running" : cell(row));
  state.className = (row) => (working.has(row.entity) ? "state work" : className(row));
  fillQuestions();
  byId("lookup-entity").addEventListener("change", askForKey);
  byId("past-entity").addEventListener("change", offerCommits);
  byId("lookup-form").addEventListener("submit", () => {
    shownKey.entity = byId("lookup-entity").value;
    shownKey.key = [...byId("lookup-keys").querySelectorAll("input")].map((one) => one.value);
    byId("lookup-said").textContent = "reading …";
    safely(lookUp(true), byId("lookup-said"));
  });
  byId("past-by").addEventListener("change", () => {
    for (const by of ["date", "commit"]) {
      const chosen = byId("past-by").value === by;
      byId(`past-${by}-label`).hidden = !chosen;
      byId(`past-${by}`).required = chosen;
    }
  });
  keepLooking();
}

startLive();
