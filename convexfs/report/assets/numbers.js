// Columns of numbers and words, how they are written, and how they leave the page.

const LETTERS = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz!#$%&()*+-;,=>?@^_`{|}~";

/** Bytes from base 85, with "," in place of "<". */
function bytesOf85(text) {
  const value = new Uint8Array(128);
  for (let k = 0; k < LETTERS.length; k += 1) value[LETTERS.charCodeAt(k)] = k;
  const bytes = new DataView(new ArrayBuffer(4 * Math.ceil(text.length / 5)));
  for (let k = 0; 5 * k < text.length; k += 1) {
    const letters = text.slice(5 * k, 5 * k + 5).padEnd(5, "~");
    let word = 0;
    for (let j = 0; j < 5; j += 1) word = 85 * word + value[letters.charCodeAt(j)];
    bytes.setUint32(4 * k, word);
  }
  return bytes.buffer.slice(0, Math.floor((4 * text.length) / 5));
}

/** Text that was compressed by zlib, from base 85. */
function unpacked(text) {
  if (!window.DecompressionStream) {
    document.getElementById("main").append("Tables and figures need a browser of 2023 or later.");
  }
  const bytes = new Blob([bytesOf85(text)]).stream();
  return new Response(bytes.pipeThrough(new DecompressionStream("deflate"))).text();
}

const numbers = JSON.parse(await unpacked(document.getElementById("numbers").textContent));

/** Numbers from base 64 of the first bytes of all doubles, then their second bytes, and so on. */
function doubles(text) {
  const bytes = atob(text);
  const [made, count] = [new Uint8Array(bytes.length), bytes.length / 8];
  for (let k = 0; k < bytes.length; k += 1) made[8 * (k % count) + Math.floor(k / count)] = bytes.charCodeAt(k);
  return new Float64Array(made.buffer);
}

/** Value of a column at a row: a word, a number, true, false or null. */
function at(column, row) {
  if (column.codes) {
    const code = column.codes[row];
    return code < 0 ? null : column.levels[code];
  }
  if (column.doubles && !column.values) column.values = doubles(column.doubles);
  const value = column.values[row];
  return Number.isNaN(value) ? null : value;
}

function columnOf(table, name) {
  return table.columns.find((column) => column.name === name);
}

const digits = (value) => {
  const size = Math.abs(value);
  if (value === 0 || !Number.isFinite(value)) return String(value).replace("Infinity", "∞");
  if (size >= 1e5 || size < 1e-3) return value.toExponential(2).replace("e+", "e");
  return size >= 1000 ? Math.round(value).toLocaleString("en-GB") : String(Number(value.toPrecision(3)));
};

const duration = (seconds) => {
  const size = Math.abs(seconds);
  if (size === 0) return "0 s";
  if (size < 1e-3) return `${Number((seconds * 1e6).toPrecision(3))} µs`;
  if (size < 1) return `${Number((seconds * 1e3).toPrecision(3))} ms`;
  return size < 1000 ? `${Number(seconds.toPrecision(3))} s` : `${digits(seconds)} s`;
};

/** Outcome and seconds of a cell such as "wrong claim 0.0123". */
function timed(value) {
  const [, outcome, seconds] = /^(.*?)(?: (\S*\d\S*))?$/.exec(value);
  return { outcome, seconds: seconds === undefined ? NaN : Number(seconds) };
}

/** How each kind of column is written for reading. */
const WRITTEN = {
  text: String,
  code: String,
  long: String,
  flag: (value) => (value ? "yes" : "no"),
  outcome: String,
  timed: (value) => {
    const { outcome, seconds } = timed(value);
    if (outcome !== "solved" && outcome !== "undecided") return outcome;
    return outcome === "solved" ? duration(seconds) : `undecided, ${duration(seconds)}`;
  },
  count: (value) => value.toLocaleString("en-GB"),
  bad: (value) => value.toLocaleString("en-GB"),
  number: digits,
  seconds: duration,
  residual: (value) => (value > 0 && value < Infinity ? value.toExponential(0).replace("e+", "e") : digits(value)),
  share: (value) => `${(100 * value).toFixed(value === 1 || value === 0 ? 0 : 1)} %`,
};
const NUMERIC = new Set(["count", "bad", "number", "seconds", "residual", "share"]);

function written(column, row) {
  const value = at(column, row);
  return value === null ? "" : WRITTEN[column.kind](value);
}

function asCsv(table, rows) {
  const cell = (value) => {
    const word = value === null ? "" : String(value);
    return /[",\n\r]/.test(word) ? `"${word.replaceAll('"', '""')}"` : word;
  };
  const lines = [table.columns.map((column) => cell(column.name)).join(",")];
  for (const row of rows) lines.push(table.columns.map((column) => cell(at(column, row))).join(","));
  return `${lines.join("\n")}\n`;
}

function asRecords(table, rows) {
  const plain = (value) => (typeof value === "number" && !Number.isFinite(value) ? String(value) : value);
  return Array.from(rows, (row) =>
    Object.fromEntries(table.columns.map((column) => [column.name, plain(at(column, row))])),
  );
}

const allRows = (table) => Array.from({ length: table.rows }, (_, row) => row);

function download(name, content, type) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([content], { type }));
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10000);
}

/** An element with properties and children; text always goes in as text. */
function element(tag, properties = {}, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name in made) made[name] = value;
    else made.setAttribute(name, value);
  }
  made.append(...children);
  return made;
}

function button(label, action, title = "") {
  return element("button", { type: "button", title, onclick: action }, label);
}

/** Buttons that hand out a table, or the part of it that `rows` returns. */
function exportButtons(name, table, rows) {
  return [
    button("CSV", () => download(`${name}.csv`, asCsv(table, rows()), "text/csv"), "Download these rows as CSV"),
    button(
      "JSON",
      () => download(`${name}.json`, JSON.stringify(asRecords(table, rows())), "application/json"),
      "Download these rows as JSON",
    ),
  ];
}
