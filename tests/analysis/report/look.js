// Uses the page as a reader would, and returns what is then to be seen.
const all = (selector) => [...document.querySelectorAll(selector)];
const one = (id) => document.getElementById(id);
const texts = (selector) => all(selector).map((item) => item.textContent);
const rows = () => all("#table-runs tbody tr:not([hidden])");
const heads = all("#table-runs th"), columns = texts("#table-runs th");
const column = (name) => rows().map((row) => row.cells[columns.indexOf(name)].textContent);
const pick = (selector, value) => { const box = document.querySelector(selector); box.value = value; box.dispatchEvent(new Event("input")); };
const choice = (name) => `select[data-column="${columns.indexOf(name)}"]`;
const background = () => getComputedStyle(document.body).backgroundColor;
const moment = () => new Promise((done) => setTimeout(done, 100));
const seen = {};

const facts = all(".facts div").filter((fact) => !fact.querySelector("code"));
seen.facts = facts.map((fact) => [fact.firstChild.textContent, fact.offsetHeight]);
seen.runs = rows().length;

const accuracies = heads[columns.indexOf("test_accuracy")];
seen.sorted = ["first", "second"].map(() => {
  accuracies.querySelector("button").click();
  return column("test_accuracy");
});
seen.aria_sort = accuracies.getAttribute("aria-sort");

seen.choices = all(".tools select").map((box) => box.parentElement.firstChild.data.trim());
pick(choice("η"), "0.1");
seen.etas = column("η");
pick(choice("η"), "");
pick(choice("state"), "nonfinite");
seen.states = column("state");
pick(choice("state"), "");
pick('input[data-table="table-runs"]', "dnasa ring");
seen.algos = column("algo");
seen.shown = document.querySelector("#runs").parentElement.querySelector(".shown").textContent;

seen.widths = all(".picture svg").map((svg) => svg.getBoundingClientRect().width);
seen.labels = all(".picture").map((item) => item.getAttribute("aria-label"));
seen.clickable = all("[onclick], .sort, .run").map((item) => item.tagName);

all(".trouble li").find((item) => item.textContent.includes("failed")).querySelector("button").click();
seen.failed = { open: one("run").open };
for (const part of ["state", "log", "config"]) seen.failed[part] = one(`run-${part}`).textContent;
one("run").close();
rows().find((row) => row.textContent.includes("done")).querySelector("button").click();
seen.curves = all("#run-curves svg").length;
seen.words = texts("#run-curves text");
seen.title = one("run-title").textContent;
seen.hash = location.hash;
one("run").close();
await moment();
seen.hash_closed = location.hash;
location.hash = `#run=${seen.title}`;
await moment();
seen.open_by_hash = one("run").open;

// a name with percent signs
const closed = async () => { one("run").close(); one("run").dispatchEvent(new Event("close")); await moment(); };
await closed();
details["n%41%zz"] = details[seen.title];
rows()[0].querySelector("button").dataset.run = "n%41%zz";
rows()[0].querySelector("button").click();
seen.percent = location.hash;
await closed();
seen.percent_closed = location.hash;
location.hash = seen.percent;
await moment();
seen.percent_again = [one("run").open, one("run-title").textContent];
await closed();
location.hash = "#run=%";
await moment();

seen.sparks = [
  ["test_loss", [100, 10, 1]],
  ["test_loss", [2.4, 2, 1.8]],
  ["val_accuracy", [1, 50, 90]],
  ["excess", [100, 1, 0]],
  ["consensus", [0, 1e-3, 1e-5]],
].map(([name, values]) => {
  const box = document.createElement("p");
  spark(box, name, [0, 10, 20], values, "#000");
  return [name, box.textContent.includes(`${name} (log scale)`), box.querySelector("path:last-of-type").getAttribute("d")];
});

seen.before = background();
one("theme").click();
seen.after = background();
seen.hacked = window.hacked ?? null;
seen.requests = performance.getEntriesByType("resource").map((entry) => entry.name);
return seen;
