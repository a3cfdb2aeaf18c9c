"use strict";
const details = JSON.parse(document.getElementById("details").textContent);

// light or dark: the system's choice until the button is pressed
const theme = document.getElementById("theme");
const dark = () => (document.documentElement.dataset.theme || (matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light")) === "dark";
const name_theme = () => { theme.textContent = dark() ? "Light" : "Dark"; theme.setAttribute("aria-pressed", String(dark())); };
theme.hidden = false;
theme.onclick = () => { document.documentElement.dataset.theme = dark() ? "light" : "dark"; name_theme(); };
name_theme();

// wide pictures fill the page and scroll on a phone
for (const svg of document.querySelectorAll(".picture svg")) {
  if (parseFloat(svg.getAttribute("width")) > 340) svg.dataset.wide = "";
}

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
function spark(parent, name, steps, values, colour) {
  const log = name !== "test_accuracy" && values.every((v) => v === null || v > 0);
  const points = steps.map((step, i) => [step, values[i]]).filter(([, v]) => v !== null).map(([step, v]) => [step, log ? Math.log10(v) : v]);
  if (points.length < 2) return;
  const ys = points.map(([, y]) => y), low = Math.min(...ys), high = Math.max(...ys), last = steps[steps.length - 1] || 1;
  const svg = make(parent, "svg", { viewBox: "0 0 200 96", role: "img", "aria-label": `${name}: last ${values.filter((v) => v !== null).pop()}` });
  make(svg, "text", { x: 4, y: 12, "font-size": 10, fill: "currentColor" }, `${name}${log ? " (log)" : ""}`);
  make(svg, "text", { x: 196, y: 12, "font-size": 10, "text-anchor": "end", fill: "currentColor" }, values.filter((v) => v !== null).pop());
  make(svg, "path", { d: "M4 90H196", stroke: "currentColor", "stroke-width": 0.5 });
  const path = points.map(([x, y], i) => `${i ? "L" : "M"}${(4 + (192 * x) / last).toFixed(1)} ${(86 - (66 * (y - low)) / (high - low || 1)).toFixed(1)}`);
  make(svg, "path", { d: path.join(""), fill: "none", stroke: colour, "stroke-width": 2 });
}
const dialog = document.getElementById("run");
document.addEventListener("click", (event) => {
  const button = event.target.closest("button.run");
  if (!button) return;
  const run = details[button.dataset.run];
  const put = (id, text) => { document.getElementById(id).textContent = text; };
  put("run-title", button.dataset.run);
  put("run-state", run.error ? `${run.state}: ${run.error}` : run.state);
  put("run-config", run.config);
  put("run-origin", Object.entries(run.origin).map(([key, item]) => `${key}: ${item}`).join("\n"));
  put("run-log", run.log);
  const curves = document.getElementById("run-curves");
  curves.replaceChildren();
  for (const [name, values] of Object.entries(run.curves)) if (name !== "step") spark(curves, name, run.curves.step, values, run.colour);
  dialog.showModal();
});
dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
