"use strict";
const data = JSON.parse(document.getElementById("data").textContent);
const $ = (id) => document.getElementById(id);
const RULES = ["native", "dev", "tuned"];
const SVG = "http://www.w3.org/2000/svg";
const COLORS = ["#2f81f7", "#d1242f", "#2da44e", "#bf8700", "#8250df", "#1b9aaa", "#e16f24", "#818b98"];
const shownFirst = ([name, method]) => name === "dsgd" || (method.native && !method.bound);
const chosen = new Set(Object.entries(data.methods).filter(shownFirst).map(([name]) => name));
const colorOf = (name) => COLORS[[...chosen].indexOf(name) % COLORS.length]; // the same in all charts
const several = Object.keys(data.hidden).length > 0;
const format = (value) => (value === null || value === undefined ? "–" : value.toFixed(2).replace("-", "−"));

function element(tag, text, attributes = {}) {
  const made = document.createElement(tag);
  if (text !== undefined) made.textContent = text;
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  return made;
}

function fill(id, values, first) {
  const all = first === undefined ? values : [first, ...values];
  $(id).append(...all.map((value) => element("option", value, { value })));
  $(id).onchange = show;
}

const known = Object.values(data.methods);
const unique = (values) => [...new Set(values)].sort();
fill("price", data.prices);
fill("ruleset", RULES.filter((rule) => data.standings.some((row) => row.ruleset === rule)).reverse());
fill("stratum", data.strata, "all");
fill("family", unique(known.map((method) => method.family)), "all");
fill("needs", ["nothing", ...unique(known.flatMap((method) => method.needs)).map((need) => `not ${need}`)], "all");
fill("provenance", unique(known.map((method) => method.provenance)), "all");

function kept(name) {
  const method = data.methods[name], needs = $("needs").value;
  return ($("family").value === "all" || method.family === $("family").value)
    && ($("provenance").value === "all" || method.provenance === $("provenance").value)
    && (needs === "all" || (needs === "nothing" ? !method.needs.length : !method.needs.includes(needs.slice(4))));
}

const scoreOf = (row) => (row ? ($("stratum").value === "all" ? row.score : row[$("stratum").value]) : null);

function rows() {
  const price = $("price").value, out = [];
  for (const name of Object.keys(data.methods).filter(kept)) {
    const each = Object.fromEntries(data.standings.filter((row) => row.price === price && row.method === name).map((row) => [row.ruleset, row]));
    const scores = Object.fromEntries(RULES.map((rule) => [rule, scoreOf(each[rule]) ?? null]));
    const untuned = [scores.native, scores.dev].filter((value) => value !== null);
    const best = untuned.length ? Math.max(...untuned) : null;
    out.push({ name, each, scores, best, lost: best === null || scores.tuned === null ? null : scores.tuned - best });
  }
  const bound = (one) => Number(data.methods[one.name].bound); // bounds come last
  return out.sort((a, b) => bound(a) - bound(b) || (b.best ?? -9) - (a.best ?? -9) || (b.scores.tuned ?? -9) - (a.scores.tuned ?? -9));
}

// where the best untuned score and the tuned one lie: the distance is the price of not tuning
function glance(one, low, high) {
  const cell = element("td"), at = (score) => (6 + 138 * (score - low) / (high - low)).toFixed(1);
  const svg = shape("svg", { viewBox: "0 0 150 16", width: 150, height: 16, role: "img", "aria-label": `untuned ${format(one.best)}, tuned ${format(one.scores.tuned)}` });
  svg.append(shape("path", { d: `M${at(0)},0V16`, stroke: "currentColor", opacity: 0.35 }));
  const [from, to] = [one.best, one.scores.tuned];
  if (from !== null && to !== null) svg.append(shape("path", { d: `M${at(from)},8H${at(to)}`, stroke: COLORS[0], "stroke-width": 2 }));
  if (to !== null) svg.append(shape("circle", { cx: at(to), cy: 8, r: 4, fill: COLORS[0] }));
  if (from !== null) svg.append(shape("circle", { cx: at(from), cy: 8, r: 3.5, class: "untuned", stroke: COLORS[0], "stroke-width": 1.5 }));
  cell.append(svg);
  return cell;
}

function show() {
  const rule = $("ruleset").value, found = rows(), body = [];
  const head = element("tr");
  const titles = ["", "method", ...RULES, "○ untuned, ● tuned, line: tuned D-SGD", "price of not tuning", `tier (${rule})`, `95 % interval (${rule})`];
  titles.push(...(several ? ["worst hidden number", "best hidden number"] : []), ...data.strata.map((name) => `${name} (${rule})`), "missed", "diverged", "needs", "vectors, rounds, gradients", "scale-free");
  head.append(...titles.map((title) => element("th", title, { scope: "col" })));
  $("standings").tHead.replaceChildren(head);
  const seen = found.flatMap((one) => [one.best, one.scores.tuned]).filter((score) => score !== null);
  const [low, high] = [Math.min(-0.5, ...seen), Math.max(0.5, ...seen)];
  for (const one of found) {
    const method = data.methods[one.name], row = one.each[rule], line = element("tr");
    if (method.bound || !method.ranked) line.className = "unranked";
    const box = element("input", undefined, { type: "checkbox", "aria-label": `draw ${method.label}` });
    box.checked = chosen.has(one.name);
    box.onchange = () => { if (box.checked) chosen.add(one.name); else chosen.delete(one.name); draw(); };
    const first = element("td");
    first.append(box);
    line.append(first, element("td", method.label, { title: method.cite }));
    for (const each of RULES) {
      const cell = element("td", undefined, { class: "number" });
      if (one.scores[each] === null) cell.textContent = "–";
      else {
        const button = element("button", format(one.scores[each]), { type: "button", class: "cell" });
        button.onclick = () => open(one.name, each);
        cell.append(button);
      }
      line.append(cell);
    }
    const range = row && row.tier_low !== null && row.tier_low !== row.tier_high ? ` (${row.tier_low}–${row.tier_high})` : "";
    line.append(glance(one, low, high));
    const texts = [format(one.lost), tierOf(row) + range];
    texts.push(row && row.low !== null ? `${format(row.low)} … ${format(row.high)}` : "–");
    const changed = data.hidden[one.name]; // worst, by, best, by
    if (several) texts.push(...[0, 2].map((i) => (changed ? `${format(changed[i])} (${changed[i + 1]})` : "–")));
    texts.push(...data.strata.map((stratum) => format(row ? row[stratum] : null)));
    texts.push(row ? `${row.missed} of ${row.targets}` : "–", row ? row.diverged : "–");
    texts.push(method.needs.join(", ") || "nothing", method.costs.map((cost) => cost ?? "–").join(", "), method.scale_free ? "yes" : "");
    line.append(...texts.map((text) => element("td", text)));
    body.push(line);
  }
  $("standings").tBodies[0].replaceChildren(...body);
  const shown = data.standings.find((row) => row.price === $("price").value);
  $("count").textContent = `${found.length} of ${known.length} methods and bounds. Workloads at this price: ${shown ? shown.workloads : "none"}.`;
  draw();
}

function tierOf(row) {
  if (!row || (row.tier === null && row.if_ranked === null)) return "–";
  return row.tier === null ? `[${row.if_ranked}]` : `${row.tier}`;
}

function shape(tag, attributes, text) {
  const made = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  if (text !== undefined) made.textContent = text;
  return made;
}

// lines: [{label, color, x, y}]; places without a finite number are left out
function chart(lines, across, up, logX, logY, least = Infinity, most = -Infinity) {
  const X = logX ? Math.log10 : (v) => v, Y = logY ? Math.log10 : (v) => v;
  const points = lines.map((line) => line.x.map((x, i) => [X(x), line.y[i] === null ? NaN : Y(line.y[i])]).filter((p) => p.every(Number.isFinite)));
  const all = points.flat(), box = element("div");
  if (!all.length) { box.textContent = "No values."; return box; }
  const [left, right] = [Math.min(...all.map((p) => p[0])), Math.max(...all.map((p) => p[0]))];
  const [low, high] = [Math.min(least, ...all.map((p) => p[1])), Math.max(most, ...all.map((p) => p[1]))];
  const at = ([x, y]) => `${(60 + 520 * (x - left) / (right - left || 1)).toFixed(1)},${(220 - 200 * (y - low) / (high - low || 1)).toFixed(1)}`;
  const svg = shape("svg", { viewBox: "0 0 600 260", class: "chart", role: "img", "aria-label": `${up} by ${across}` });
  svg.append(shape("path", { d: "M60,20V220H580", fill: "none", stroke: "currentColor" }));
  const number = (v, log) => Number((log ? 10 ** v : v).toPrecision(3)).toString().replace("-", "−");
  const words = [[60, 236, number(left, logX), "start"], [580, 236, number(right, logX), "end"], [320, 254, across, "middle"], [54, 222, number(low, logY), "end"], [54, 26, number(high, logY), "end"], [64, 14, up, "start"]];
  svg.append(...words.map(([x, y, text, anchor]) => shape("text", { x, y, "text-anchor": anchor, "font-size": 12, fill: "currentColor" }, text)));
  points.forEach((line, i) => svg.append(shape("polyline", { points: line.map(at).join(" "), fill: "none", stroke: lines[i].color ?? COLORS[0], "stroke-width": 2, "stroke-dasharray": i < COLORS.length ? "" : "5 3" })));
  if (logX && left < 0 && right > 0) {
    const [one] = at([0, low]).split(",");
    svg.append(shape("path", { d: `M${one},20V220`, stroke: "currentColor", opacity: 0.35 }), shape("text", { x: one, y: 236, "text-anchor": "middle", "font-size": 12, fill: "currentColor" }, "1"));
  }
  if (!logY && low < 0 && high > 0) {
    const y = Number(at([left, 0]).split(",")[1]);
    svg.append(shape("path", { d: `M60,${y}H580`, stroke: "currentColor", opacity: 0.35 }), shape("text", { x: 54, y: y + 4, "text-anchor": "end", "font-size": 12, fill: "currentColor" }, "0"));
  }
  box.append(svg);
  for (const line of lines.filter((one) => one.label)) {
    const key = element("span", undefined, { class: "key" });
    key.append(element("b", "— ", { style: `color:${line.color}` }), line.label);
    box.append(key);
  }
  return box;
}

function draw() {
  const price = $("price").value, rule = $("ruleset").value;
  const mine = data.profiles.filter((one) => one.price === price && one.ruleset === rule && chosen.has(one.method));
  $("profile").replaceChildren(chart(mine.map((one) => ({ label: data.methods[one.method].label, color: colorOf(one.method), x: data.factors, y: one.solved })), "cost relative to tuned D-SGD", "part of targets", true, false, 0, 1));
  const tried = [...chosen].filter((name) => data.tries[name]);
  $("tried").replaceChildren(chart(tried.map((name) => ({ label: data.methods[name].label, color: colorOf(name), x: data.tries[name].map((_, i) => i + 1), y: data.tries[name] })), "K", "score (gradients)", false, false));
}

function open(name, rule) {
  const price = $("price").value;
  $("details-title").textContent = `${data.methods[name].label}, ${rule}, ${price}`;
  const parts = data.cells.filter((cell) => cell.method === name && cell.ruleset === rule).map((cell) => {
    const part = element("section");
    part.append(element("h3", `${cell.workload}: ${format(cell.scores[price] ?? null)}`));
    part.append(element("p", `${cell.setting}; missed ${cell.missed} of ${cell.targets} targets; ${cell.diverged} diverged`, { class: "note" }));
    part.append(chart([{ label: "", x: cell.x, y: cell.y }], "gradients per node", "loss at the nodes: 1 at the start, 0 at the reference (median)", true, true));
    part.append(element("pre", cell.command));
    return part;
  });
  $("details-body").replaceChildren(...parts);
  $("details").showModal();
}
$("close").onclick = () => $("details").close();

for (const [name, table] of Object.entries(data.side)) {
  const sheet = element("table"), head = element("tr"), body = element("tbody"), top = element("thead");
  head.append(...["ruleset", "price", "tier", "method", "score", "missed", "diverged"].map((title) => element("th", title, { scope: "col" })));
  top.append(head);
  for (const row of table) {
    const line = element("tr"), texts = [row.ruleset, row.price, tierOf(row), data.labels[row.method], format(row.score), `${row.missed} of ${row.targets}`, row.diverged];
    line.append(...texts.map((text) => element("td", text)));
    body.append(line);
  }
  sheet.append(top, body);
  const frame = element("div", undefined, { class: "sheet" });
  frame.append(sheet);
  $("sides").append(element("h3", name), frame);
}
if (!Object.keys(data.side).length) $("sides").append(element("p", "No runs.", { class: "note" }));
show();
