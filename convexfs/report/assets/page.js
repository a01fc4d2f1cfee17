// What happens when the page opens: tables and the first figures at once, then the other figures.

const tables = [...document.querySelectorAll("[data-table]")].map(
  (host) => new DataTable(host, host.dataset.table, numbers.tables[host.dataset.table]),
);
const figures = [...document.querySelectorAll("[data-figure]")].map(
  (host) => new Figure(host, numbers.figures[host.dataset.figure]),
);

/** Milliseconds of drawing before the screen and the reader's clicks have a turn. */
const TURN = 100;

async function drawAll() {
  let began = performance.now();
  for (const figure of figures) {
    if (performance.now() - began > TURN) {
      await new Promise((done) => setTimeout(done));
      began = performance.now();
    }
    figure.draw();
  }
  document.documentElement.dataset.drawn = "yes";
}

const dark = matchMedia("(prefers-color-scheme: dark)");
const theme = document.getElementById("theme");

function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : dark.matches;
}

function nameTheme() {
  theme.textContent = isDark() ? "Light" : "Dark";
}

theme.onclick = () => {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  nameTheme();
};
dark.addEventListener("change", nameTheme);

/** Paper has no clicks: everything is unfolded, and folded again afterwards. */
let folded = [];
function forPrint(printing) {
  if (printing) folded = [...document.querySelectorAll("details.problem:not([open])")];
  for (const details of folded) details.open = printing;
  for (const table of tables) table.forPrint(printing);
}
addEventListener("beforeprint", () => forPrint(true));
addEventListener("afterprint", () => forPrint(false));
document.getElementById("print").onclick = () => print();

for (const link of document.querySelectorAll("[data-download]")) {
  link.onclick = () => {
    const [name, format] = link.dataset.download.split(".");
    if (name === "everything") {
      const all = Object.entries(numbers.tables).map(([key, table]) => [key, asRecords(table, allRows(table))]);
      download("everything.json", JSON.stringify(Object.fromEntries(all)), "application/json");
    } else {
      const table = numbers.tables[name];
      const content = format === "csv" ? asCsv(table, allRows(table)) : JSON.stringify(asRecords(table, allRows(table)));
      download(`${name}.${format}`, content, format === "csv" ? "text/csv" : "application/json");
    }
  };
}

nameTheme();
drawAll();
performance.mark("usable");
