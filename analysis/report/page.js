"use strict";
const details = JSON.parse(document.getElementById("details").textContent);

// light or dark: the system's choice until the button is pressed
const theme = document.getElementById("theme");
const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const name_theme = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-pressed", String(dark())); };
theme.hidden = false;
theme.onclick = () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; name_theme(); };
name_theme();

// wide pictures fill the page; where it is narrower than they can be read, they scroll, or fit at the press of a button
for (const svg of document.querySelectorAll(".picture svg")) {
  if (parseFloat(svg.getAttribute("width")) > 340) svg.dataset.wide = "";
}
function offer_to_fit() {
  for (const button of document.querySelectorAll(".fit")) {
    const picture = button.nextElementSibling;
    button.hidden = !picture.classList.contains("fitted") && picture.scrollWidth <= picture.clientWidth + 1;
    button.textContent = picture.classList.contains("fitted") ? "Full size" : "Swipe, or fit to the screen";
    button.onclick = () => { picture.classList.toggle("fitted"); offer_to_fit(); };
  }
}
addEventListener("resize", offer_to_fit);
offer_to_fit();

// sorting: numbers as numbers, missing ones last, ties in their old order
const value = (row, column) => { const cell = row.cells[column]; return cell.dataset.sort ?? cell.textContent; };
const number = (text) => (text.trim() === "" || text === "–" ? NaN : Number(text));
function sort(table, column, descending) {
  const body = table.tBodies[0];
  const keyed = [...body.rows].map((row) => ({ row, text: value(row, column), number: number(value(row, column)) }));
  const numeric = keyed.some((item) => !Number.isNaN(item.number));
  const direction = descending ? -1 : 1;
  keyed.sort((a, b) => {
    if (!numeric) return direction * a.text.localeCompare(b.text, undefined, { numeric: true });
    if (Number.isNaN(a.number) || Number.isNaN(b.number)) return Number.isNaN(a.number) - Number.isNaN(b.number);
    return direction * (a.number - b.number);
  });
  body.append(...keyed.map((item) => item.row));
}
for (const button of document.querySelectorAll(".sort")) {
  button.onclick = () => {
    const head = button.parentElement, table = head.closest("table");
    const descending = head.getAttribute("aria-sort") === "ascending";
    for (const other of table.tHead.rows[0].cells) other.removeAttribute("aria-sort");
    head.setAttribute("aria-sort", descending ? "descending" : "ascending");
    sort(table, head.cellIndex, descending);
  };
}

// filtering: every word must be somewhere in the row, every choice in its column
function filter(id) {
  const table = document.getElementById(id);
  const tools = [...document.querySelectorAll(`[data-table="${id}"]`)];
  const words = tools.filter((tool) => tool.type === "search").flatMap((tool) => tool.value.toLowerCase().split(/\s+/).filter(Boolean));
  const picked = tools.filter((tool) => tool.tagName === "SELECT" && tool.value);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    const keep = words.every((word) => text.includes(word)) && picked.every((tool) => row.cells[tool.dataset.column].textContent === tool.value);
    row.hidden = !keep;
    shown += keep;
  }
  tools[0].closest(".tools").querySelector(".shown").textContent = words.length || picked.length ? `${shown} of ${table.tBodies[0].rows.length}` : "";
}
for (const tool of document.querySelectorAll("[data-table]")) tool.oninput = () => filter(tool.dataset.table);

// a run: its config, origin and log, and small curves
const NS = "http://www.w3.org/2000/svg";
function make(parent, tag, attributes, text) {
  const node = parent.appendChild(document.createElementNS(NS, tag));
  for (const [key, item] of Object.entries(attributes)) node.setAttribute(key, item);
  if (text !== undefined) node.textContent = text;
  return node;
}
const short = (v) => (v !== 0 && (Math.abs(v) < 1e-3 || Math.abs(v) >= 1e5) ? v.toExponential(1) : String(Number(v.toPrecision(3))));
function spark(parent, name, steps, values, color) {
  // nodes that start together have no consensus error there, and a logarithm needs positive values over a decade or more
  const known = steps.map((step, i) => [step, values[i]]).filter(([step, v]) => v !== null && (step > 0 || !name.startsWith("consensus")));
  if (!known.length) return;
  const all = known.map(([, v]) => v), log = !name.endsWith("accuracy") && Math.min(...all) > 0 && Math.max(...all) > 10 * Math.min(...all);
  const points = known.map(([step, v]) => [step, log ? Math.log10(v) : v]);
  const ys = points.map(([, y]) => y), low = Math.min(...ys), high = Math.max(...ys), last = steps[steps.length - 1] || 1;
  const final = known[known.length - 1][1];
  const svg = make(parent, "svg", { viewBox: "0 0 240 124", role: "img", "aria-label": `${name}${log ? ", logarithmic" : ""}: from ${known[0][1]} to ${final}` });
  const left = 44, right = 234, top = 22, bottom = 104;
  const at = (x, y) => [left + ((right - left) * x) / last, bottom - ((bottom - top) * (y - low)) / (high - low || 1)].map((v) => v.toFixed(1));
  const text = (x, y, anchor, words) => make(svg, "text", { x, y, "font-size": 9, "text-anchor": anchor, fill: "currentColor" }, words);
  text(4, 12, "start", `${name}${log ? " (log scale)" : ""}`);
  text(right, 12, "end", `ends at ${short(final)}`);
  make(svg, "path", { d: `M${left} ${top}V${bottom}H${right}`, stroke: "currentColor", fill: "none", "stroke-width": 0.6 });
  for (const y of high > low ? [low, (low + high) / 2, high] : [low]) {
    const place = Number(at(0, y)[1]);
    make(svg, "path", { d: `M${left - 3} ${place}H${left}`, stroke: "currentColor", "stroke-width": 0.6 });
    text(left - 5, place + 3, "end", short(log ? 10 ** y : y));
  }
  for (const x of [0, last / 2, last]) {
    make(svg, "path", { d: `M${at(x, low)[0]} ${bottom}v3`, stroke: "currentColor", "stroke-width": 0.6 });
    text(at(x, low)[0], bottom + 12, x === last ? "end" : "middle", x === last ? `step ${last}` : short(x));
  }
  if (points.length === 1) make(svg, "circle", { cx: at(...points[0])[0], cy: at(...points[0])[1], r: 2.5, fill: color });
  make(svg, "path", { d: points.map(([x, y], i) => `${i ? "L" : "M"}${at(x, y).join(" ")}`).join(""), fill: "none", stroke: color, "stroke-width": 2 });
}
const dialog = document.getElementById("run");
const address = (name) => `#run=${encodeURIComponent(name)}`;
function open_run(name) {
  const run = details[name];
  if (!run) return;
  const put = (id, text = "") => {
    const place = document.getElementById(id);
    place.textContent = text;
    if (place.tagName === "PRE") place.hidden = place.previousElementSibling.hidden = !text;
  };
  put("run-title", name);
  document.getElementById("run-title").href = address(name);
  put("run-state", run.error ? `${run.state}: ${run.error}` : run.state);
  put("run-command", run.command);
  put("run-config", run.config);
  put("run-origin", Object.entries(run.origin || {}).map(([key, item]) => `${key}: ${item}`).join("\n"));
  put("run-log", run.log);
  const curves = document.getElementById("run-curves");
  curves.replaceChildren();
  for (const [metric, values] of Object.entries(run.curves || {})) if (metric !== "step") spark(curves, metric, run.curves.step, values, run.color);
  if (!dialog.open) dialog.showModal();
}
// the address leads to the run that is open
function linked_run() {
  try {
    return location.hash.startsWith("#run=") ? decodeURIComponent(location.hash.slice(5)) : "";
  } catch { return ""; }
}
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.run");
  if (!button) return;
  open_run(button.dataset.run);
  history.replaceState(null, "", address(button.dataset.run));
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
dialog.addEventListener("close", () => { if (linked_run() && !dialog.open) history.replaceState(null, "", location.pathname + location.search); });
addEventListener("hashchange", () => { if (linked_run()) open_run(linked_run()); });
if (linked_run()) open_run(linked_run());
