// Tables in .catalog and long tables: a field filters the rows, and a click on a column sorts by it.
"use strict";

function value(row, column) {
  const text = row.cells[column].textContent.trim();
  const number = Number.parseFloat(text);
  return Number.isNaN(number) ? text.toLowerCase() : number;
}

function order(a, b) {
  if (typeof a === typeof b) return a < b ? -1 : a > b ? 1 : 0;
  return typeof a === "number" ? -1 : 1;
}

function sort(table, column) {
  const heads = [...table.tHead.rows[0].cells];
  const direction = heads[column].getAttribute("aria-sort") === "ascending" ? "descending" : "ascending";
  heads.forEach((head) => head.removeAttribute("aria-sort"));
  heads[column].setAttribute("aria-sort", direction);
  const sign = direction === "ascending" ? 1 : -1;
  const body = table.tBodies[0];
  const rows = [...body.rows].sort((a, b) => sign * order(value(a, column), value(b, column)));
  body.append(...rows);
}

function filter(table, words, count) {
  const wanted = words.toLowerCase().split(/\s+/).filter(Boolean);
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    const text = row.textContent.toLowerCase();
    row.hidden = !wanted.every((word) => text.includes(word));
    shown += row.hidden ? 0 : 1;
  }
  count.textContent = `${shown} of ${table.tBodies[0].rows.length}`;
}

const LONG = 20; // rows

function enhance(table) {
  table.classList.add("sortable");
  const field = document.createElement("input");
  field.type = "search";
  field.className = "filter";
  field.placeholder = "Filter: type words";
  field.setAttribute("aria-label", "Filter the rows of the table");
  const count = document.createElement("span");
  count.className = "count";
  field.addEventListener("input", () => filter(table, field.value, count));
  (table.closest(".table-wrapper") ?? table).before(field, count);
  filter(table, "", count);
  [...table.tHead.rows[0].cells].forEach((head, column) => {
    head.tabIndex = 0;
    head.addEventListener("click", () => sort(table, column));
    head.addEventListener("keydown", (event) => { if (event.key === "Enter") sort(table, column); });
  });
}

function begin() {
  for (const table of document.querySelectorAll("article table")) {
    if (table.tHead && (table.closest(".catalog") || table.tBodies[0].rows.length >= LONG)) enhance(table);
  }
}

document.addEventListener("DOMContentLoaded", begin);
