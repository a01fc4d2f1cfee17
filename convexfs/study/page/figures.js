// Figures: one small drawing function a kind, coloured by the page's own colours.

/** Colours that come with the numbers, and markers and dashes that help to tell them apart. */
const { colours: COLOURS, shades: SHADES } = numbers;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "star", "hexagon"];
const DASHES = ["solid", "dash", "dot", "dashdot"];

/** A word for plotly, which would read tags in it. */
const plain = (word) => String(word).replaceAll("&", "&amp;").replaceAll("<", "&lt;");

function style(series, all) {
  const number = Math.max(0, all.indexOf(series));
  return {
    colour: COLOURS[number % COLOURS.length],
    symbol: SYMBOLS[(number + Math.floor(number / COLOURS.length)) % SYMBOLS.length],
    dash: DASHES[Math.floor(number / COLOURS.length) % DASHES.length],
  };
}

/** Rows of a figure's table by the value of one column, in order of appearance. */
function grouped(table, rows, name) {
  const column = name ? columnOf(table, name) : null;
  const groups = new Map();
  for (const row of rows) {
    const key = column ? at(column, row) : "";
    if (!groups.has(key)) groups.set(key, []);
    groups.get(key).push(row);
  }
  return groups;
}

const picked = (table, name, rows) => rows.map((row) => at(columnOf(table, name), row));

function lineTraces(figure, rows, shape) {
  return [...grouped(figure.table, rows, figure.series)].map(([series, own]) => {
    const look = style(series, figure.names);
    return {
      type: "scatter", mode: shape === "hv" ? "lines" : "lines+markers", name: plain(series),
      x: picked(figure.table, figure.x, own), y: picked(figure.table, figure.y, own),
      line: { color: look.colour, dash: look.dash, shape, width: 2 },
      marker: { color: look.colour, symbol: look.symbol, size: 7 },
    };
  });
}

function pointTraces(figure, rows) {
  const { table } = figure;
  const traces = [...grouped(table, rows, figure.series)].map(([series, own]) => {
    const look = style(series, figure.names);
    return {
      type: "scatter", mode: "markers", name: plain(series),
      x: picked(table, figure.x, own), y: picked(table, figure.y, own),
      text: figure.hover ? picked(table, figure.hover, own).map(plain) : undefined,
      marker: { color: look.colour, symbol: look.symbol, size: 7, opacity: 0.75 },
    };
  });
  const marked = figure.mark ? rows.filter((row) => at(columnOf(table, figure.mark), row)) : [];
  if (marked.length) {
    traces.push({
      type: "scatter", mode: "markers", name: figure.mark_label, hoverinfo: "skip",
      x: picked(table, figure.x, marked), y: picked(table, figure.y, marked),
      marker: { color: resolved("--bad"), symbol: "circle-open", size: 14, line: { width: 2 } },
    });
  }
  return traces;
}

/** Stacked bars: the rows are the bars, a colour of one hue for every part. */
function barTraces(figure, rows) {
  return [...grouped(figure.table, rows, figure.series)].map(([series, own], number) => ({
    type: "bar", orientation: "h", name: plain(series),
    y: picked(figure.table, figure.y, own).map(plain), x: picked(figure.table, figure.x, own),
    marker: { color: SHADES[number % SHADES.length] },
  }));
}

/** Where each name stands: solvers in the order they have everywhere, others as they come. */
function places(figure, values) {
  const names = [...new Set(values)];
  const known = names.every((name) => figure.names.includes(name));
  if (known) names.sort((a, b) => figure.names.indexOf(a) - figure.names.indexOf(b));
  return new Map(names.map((name, place) => [name, place]));
}

function heatTraces(figure, rows) {
  const { table } = figure;
  const across = places(figure, picked(table, figure.x, rows));
  const down = places(figure, picked(table, figure.y, rows));
  const z = Array.from(down, () => new Array(across.size).fill(null));
  for (const row of rows) {
    const place = [columnOf(table, figure.y), columnOf(table, figure.x)].map((column) => at(column, row));
    z[down.get(place[0])][across.get(place[1])] = at(columnOf(table, figure.value), row);
  }
  const named = (map) => [...map.keys()].map((name) => plain(name));
  return [{
    type: "heatmap", z, x: named(across), y: named(down), zmin: 0, zmax: 1, xgap: across.size < 60 ? 1 : 0,
    ygap: down.size < 40 ? 1 : 0, hoverongaps: false, colorbar: { thickness: 12, outlinewidth: 0, title: { text: figure.value_label, side: "right" } },
    colorscale: [[0, resolved("--head")], [1, resolved("--accent")]],
  }];
}

const KINDS = {
  steps: (figure, rows) => lineTraces(figure, rows, "hv"),
  lines: (figure, rows) => lineTraces(figure, rows, "linear"),
  points: pointTraces,
  bars: barTraces,
  heat: heatTraces,
};

/** The colour a custom property stands for in the theme that shows. */
function resolved(property) {
  const probe = document.body.appendChild(element("span", { hidden: true }));
  probe.style.color = `var(${property})`;
  const colour = getComputedStyle(probe).color;
  probe.remove();
  return colour;
}

const narrow = () => window.innerWidth < 700;

/** Whole powers of ten as ticks, where there are enough of them. */
function decades(figure, name, rows) {
  const values = picked(figure.table, name, rows).filter((value) => value > 0 && Number.isFinite(value));
  const logs = values.map((value) => Math.log10(value));
  const [low, high] = logs.reduce(([a, b], value) => [Math.min(a, value), Math.max(b, value)], [Infinity, -Infinity]);
  return high - low > 1.5 ? { dtick: Math.ceil((high - low) / (narrow() ? 4 : 10)) } : {};
}

function axis(label, log, extra = {}) {
  const [line, quiet] = [resolved("--line"), resolved("--quiet")];
  return {
    title: { text: label, standoff: 12, font: { color: quiet, size: 13 } }, type: log ? "log" : undefined,
    gridcolor: line, linecolor: line, zerolinecolor: line, tickfont: { color: quiet }, automargin: true,
    exponentformat: "power", tickangle: log ? 0 : undefined, ...extra,
  };
}

function layoutOf(figure, traces, rows) {
  const category = { type: "category" };
  // The legend stands below the figure; on a phone markers get a line each.
  const entry = Math.max(75, 7 * Math.max(0, ...traces.map((trace) => (trace.name || "").length)));
  const most = narrow() ? (figure.kind === "points" ? 1 : 2) : 7;
  const abreast = Math.min(most, Math.max(1, Math.floor((narrow() ? 260 : 910) / (entry + 55))));
  const layout = {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: getComputedStyle(document.body).fontFamily, size: 13, color: resolved("--ink") },
    // Above the plot there is room for the buttons, which devices without a pointer always show.
    margin: { l: 60, r: 16, t: 36, b: 52 },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: resolved("--quiet"), activecolor: resolved("--ink") },
    hovermode: "closest", showlegend: traces.length > 1,
    legend: { orientation: "h", xref: "container", yref: "container", y: 0, yanchor: "bottom", x: 0, font: { size: 12 }, maxheight: 600, entrywidth: entry },
    xaxis: axis(figure.x_label, figure.log_x, figure.log_x ? decades(figure, figure.x, rows) : {}),
    yaxis: axis(figure.y_label, figure.log_y, figure.log_y ? decades(figure, figure.y, rows) : {}),
    hoverlabel: { font: { size: 12 } }, dragmode: narrow() ? false : "zoom",
    height: (narrow() ? 340 : 400) + 20 * Math.ceil(traces.length / abreast),
  };
  if (figure.kind === "steps") layout.yaxis.range = [0, 1.02];
  if (figure.kind === "bars") {
    layout.barmode = "stack";
    layout.yaxis = axis("", false, { ...category, autorange: "reversed" });
    layout.height = 150 + 30 * new Set(traces.flatMap((trace) => trace.y)).size;
    layout.legend.traceorder = "normal";
  }
  if (figure.kind === "heat") {
    layout.xaxis = axis(figure.x_label, false, { ...category, nticks: narrow() ? 10 : 40, showgrid: false });
    layout.yaxis = axis(figure.y_label, false, { ...category, autorange: "reversed", nticks: 40, showgrid: false });
    layout.height = 140 + Math.min(560, Math.max(80, 22 * traces[0].y.length));
  }
  return layout;
}

class Figure {
  constructor(host, figure) {
    Object.assign(this, { host, figure });
    const { panels } = figure;
    this.panel = panels[0];
    const controls = element("div", { className: "controls" }, element("span", { className: "count" }, figure.note));
    if (panels.length > 1) controls.append(this.choice(panels));
    controls.append(...exportButtons(figure.name, figure.table, () => allRows(figure.table)));
    this.plot = element("div", { className: "plot", role: "img", "aria-label": figure.title });
    host.append(controls, this.plot);
  }

  choice(panels) {
    const select = element("select", { "aria-label": `${this.figure.title}: ${this.figure.panel}` });
    select.append(...panels.map((panel, k) => element("option", { value: k }, String(panel))));
    select.onchange = () => { this.panel = panels[Number(select.value)]; this.draw(); };
    return select;
  }

  draw() {
    const { figure } = this;
    const rows = grouped(figure.table, allRows(figure.table), figure.panel).get(this.panel);
    const traces = KINDS[figure.kind](figure, rows);
    const layout = layoutOf(figure, traces, rows);
    return Plotly.react(this.plot, traces, layout, {
      responsive: true, displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { filename: figure.name, scale: 2 },
    });
  }
}
