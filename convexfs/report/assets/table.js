// A table that sorts, filters and turns pages; only the rows of one page are in the document.

const PAGE_SIZES = [25, 100, 500];
/** Rows that are printed of a long table. */
const PRINTED = 50;
const OUTCOME_CLASS = { solved: "good", "wrong claim": "bad" };
const ALPHABET = new Intl.Collator("en", { numeric: true });

/** What a filter asks of a column: a function of the row. */
function condition(column, text) {
  const wanted = text.trim().toLowerCase();
  const range = /^(\S+?)\s*\.\.\s*(\S+)$/.exec(wanted);
  const bound = /^(<=|>=|<|>|=)\s*(\S+)$/.exec(wanted);
  if (NUMERIC.has(column.kind) && (range || bound)) {
    const test = range
      ? (value) => value >= Number(range[1]) && value <= Number(range[2])
      : {
          "<": (value) => value < Number(bound[2]),
          "<=": (value) => value <= Number(bound[2]),
          ">": (value) => value > Number(bound[2]),
          ">=": (value) => value >= Number(bound[2]),
          "=": (value) => value === Number(bound[2]),
        }[bound[1]];
    return (row) => at(column, row) !== null && test(at(column, row));
  }
  const holds = (word) => word.toLowerCase().includes(wanted);
  if (!column.codes) return (row) => holds(written(column, row));
  // A column of few words asks each word once.
  const kept = column.levels.map((level) => holds(WRITTEN[column.kind](level)));
  return (row) => column.codes[row] >= 0 && kept[column.codes[row]];
}

/** Order of two values; what is missing comes last in either direction. */
function compared(first, second, direction) {
  if (first === null || second === null) return (first === null) - (second === null);
  if (typeof first === "string") return direction * ALPHABET.compare(first, second);
  return direction * (first - second);
}

/** What a column is sorted by: of outcomes with seconds the seconds, unsolved ones last. */
function sortedBy(column, row) {
  const value = at(column, row);
  if (column.kind !== "timed" || value === null) return value;
  const { outcome, seconds } = timed(value);
  return outcome === "solved" || outcome === "undecided" ? seconds : 1e9;
}

class DataTable {
  constructor(host, name, table) {
    Object.assign(this, { host, name, table, filters: new Map(), sorted: null, page: 0 });
    this.size = PAGE_SIZES[0];
    this.paged = table.rows > PAGE_SIZES[0];
    this.shown = new Set(table.columns.filter((column) => !column.hidden).map((column) => column.name));
    this.rows = allRows(table);
    this.count = element("span", { className: "count", role: "status" });
    this.head = element("thead");
    this.body = element("tbody");
    this.pager = element("div", { className: "pager" });
    host.append(
      this.controls(),
      element("div", { className: this.paged ? "scroll paged" : "scroll", tabIndex: 0, role: "region", "aria-label": host.dataset.title || name },
        element("table", {}, this.head, this.body)),
      this.pager,
    );
    this.drawHead();
    this.draw();
  }

  get columns() {
    return this.table.columns.filter((column) => this.shown.has(column.name));
  }

  controls() {
    const controls = element("div", { className: "controls" }, this.count);
    if (this.table.columns.some((column) => column.hidden)) controls.append(this.chooser());
    controls.append(...exportButtons(this.name, this.table, () => this.rows));
    return controls;
  }

  chooser() {
    const list = element("div");
    for (const column of this.table.columns) {
      const box = element("input", { type: "checkbox", checked: this.shown.has(column.name) });
      box.onchange = () => {
        this.shown[box.checked ? "add" : "delete"](column.name);
        this.drawHead();
        this.draw();
      };
      list.append(element("label", {}, box, ` ${column.label}`));
    }
    return element("details", { className: "chooser" }, element("summary", {}, "Columns"), list);
  }

  drawHead() {
    const headings = this.columns.map((column) => {
      const heading = element("th", { scope: "col", className: NUMERIC.has(column.kind) ? "number" : "" });
      heading.dataset.column = column.name;
      heading.append(button(column.label, () => this.sort(column), column.title || ""));
      return heading;
    });
    this.head.replaceChildren(element("tr", {}, ...headings));
    if (this.paged) this.head.append(element("tr", { className: "filters" }, ...this.columns.map((c) => this.filter(c))));
    this.markSorted();
  }

  filter(column) {
    const input = element("input", {
      type: "search",
      placeholder: NUMERIC.has(column.kind) ? "e.g. >0.1" : "filter",
      "aria-label": `Filter ${column.label}`,
      value: this.filters.get(column.name) || "",
    });
    input.oninput = () => {
      this.filters.set(column.name, input.value);
      this.select();
    };
    return element("th", {}, input);
  }

  sort(column) {
    const again = this.sorted && this.sorted.column === column;
    // Numbers are mostly asked for their largest, words from A.
    const first = NUMERIC.has(column.kind) ? -1 : 1;
    this.sorted = { column, direction: again ? -this.sorted.direction : first };
    this.markSorted();
    this.select();
  }

  markSorted() {
    for (const heading of this.head.querySelectorAll("th[data-column]")) {
      const own = this.sorted && heading.dataset.column === this.sorted.column.name;
      heading.setAttribute("aria-sort", own ? (this.sorted.direction > 0 ? "ascending" : "descending") : "none");
    }
  }

  select() {
    const tests = [];
    for (const [name, text] of this.filters) {
      if (text.trim()) tests.push(condition(columnOf(this.table, name), text));
    }
    this.rows = allRows(this.table).filter((row) => tests.every((test) => test(row)));
    if (this.sorted) {
      const { column, direction } = this.sorted;
      const values = new Map(this.rows.map((row) => [row, sortedBy(column, row)]));
      this.rows.sort((a, b) => compared(values.get(a), values.get(b), direction) || a - b);
    }
    this.page = 0;
    this.draw();
  }

  draw() {
    this.drawRows(this.page * this.size, this.size);
    if (this.paged) this.drawPager();
  }

  drawRows(first, size) {
    const shown = this.paged ? this.rows.slice(first, first + size) : this.rows;
    this.body.replaceChildren(...shown.map((row) => element("tr", {}, ...this.columns.map((column) => this.cell(column, row)))));
    const total = this.rows.length.toLocaleString("en-GB");
    const of = this.rows.length < this.table.rows ? ` (of ${this.table.rows.toLocaleString("en-GB")} rows)` : "";
    this.count.textContent = this.paged && shown.length
      ? `${first + 1}–${first + shown.length} of ${total}${of}`
      : `${total} ${this.rows.length === 1 ? "row" : "rows"}${of}`;
  }

  cell(column, row) {
    const cell = element("td", { className: NUMERIC.has(column.kind) ? "number" : column.kind }, written(column, row));
    const value = at(column, row);
    if (column.kind === "bad" && value > 0) cell.classList.add("bad");
    const outcome = column.kind === "timed" && value !== null ? timed(value).outcome : value;
    if (column.kind === "outcome" || column.kind === "timed") cell.classList.add(OUTCOME_CLASS[outcome] || "plain");
    return cell;
  }

  drawPager() {
    const pages = Math.max(1, Math.ceil(this.rows.length / this.size));
    const go = (label, page, title) => {
      const made = button(label, () => { this.page = page; this.draw(); }, title);
      made.disabled = page < 0 || page >= pages || page === this.page;
      return made;
    };
    const sizes = element("select", { "aria-label": "Rows a page" });
    sizes.append(...PAGE_SIZES.map((size) => element("option", { value: size, selected: size === this.size }, `${size} rows`)));
    sizes.onchange = () => { this.size = Number(sizes.value); this.page = 0; this.draw(); };
    this.pager.replaceChildren(
      go("«", 0, "First page"), go("‹", this.page - 1, "Previous page"),
      element("span", { className: "count" }, `page ${this.page + 1} of ${pages.toLocaleString("en-GB")}`),
      go("›", this.page + 1, "Next page"), go("»", pages - 1, "Last page"), sizes,
    );
  }

  /** More than one page for paper, then one page again. */
  forPrint(printing) {
    if (!this.paged) return;
    if (printing) this.drawRows(0, PRINTED);
    else this.draw();
  }
}
