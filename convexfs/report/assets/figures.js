// Figures: one small drawing function a kind, coloured by the page's own colours.

/** Colours that come with the numbers, and markers and dashes that help to tell them apart. */
const { colours: COLOURS, shades: SHADES } = numbers;
const SYMBOLS = ["circle", "square", "diamond", "triangle-up", "triangle-down", "pentagon", "star", "hexagon"];
const DASHES = ["solid", "dash", "dot", "dashdot"];
/** Ends of a scale about 0, told apart with any colour vision. */
const SCALE = ["#3b6fb6", "#c8442b"];

/** A word for plotly, which would read tags and formulas in it. */
const plain = (word) => String(word).replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll("$", "&#36;");

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
      marker: series === figure.faint
        ? { color: resolved("--faint"), symbol: "circle", size: 5 }
        : { color: look.colour, symbol: look.symbol, size: 7, opacity: 0.75 },
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

/** Lines with a band about each; a series of one point has none. */
function bandTraces(figure, rows) {
  const { table } = figure;
  return [...grouped(table, rows, figure.series)].flatMap(([series, own], number) => {
    const look = style(series, figure.names);
    const [x, y] = [picked(table, figure.x, own), picked(table, figure.y, own)];
    const line = {
      type: "scatter", mode: own.length > 1 ? "lines+markers" : "markers", name: plain(series), x, y, legendgroup: series,
      line: { color: look.colour, width: 2 }, marker: { color: look.colour, symbol: look.symbol, size: own.length > 1 ? 6 : 13 },
    };
    if (own.length < 2) return [line];
    const [low, high] = [picked(table, figure.low, own), picked(table, figure.high, own)];
    const band = {
      type: "scatter", mode: "lines", x: [...x, ...x.toReversed()], y: [...high, ...low.toReversed()], fill: "toself",
      fillcolor: `${look.colour}33`, line: { width: 0 }, hoverinfo: "skip", showlegend: false, legendgroup: series,
    };
    return [band, line];
  });
}

/** Bars in the order of the rows, by their places as names may be alike; marked ones have the accent. */
function rankedTraces(figure, rows) {
  const { table } = figure;
  const mark = columnOf(table, figure.mark);
  const place = new Map(rows.map((row, number) => [row, number]));
  return [[true, "--accent", figure.mark_label], [false, "--faint", `not ${figure.mark_label}`]].flatMap(([wanted, colour, name]) => {
    const own = rows.filter((row) => at(mark, row) === wanted);
    return own.length === 0 ? [] : [{
      type: "bar", orientation: "h", name, y: own.map((row) => place.get(row)), x: picked(table, figure.x, own),
      text: picked(table, figure.y, own).map(plain), textposition: "none", hovertemplate: "%{text}: %{x:.4~g}<extra></extra>", marker: { color: resolved(colour) },
    }];
  });
}

const stripColumns = (count) => Math.min(count, narrow() ? 2 : 4);

/** A box with its samples for every class, in axes of their own for every panel. */
/** What the values of a panel are called, if they have names; a panel may be called "constructor". */
const ticksOf = (figure, panel) => (Object.hasOwn(figure.ticks, panel) ? figure.ticks[panel] : null);

function stripTraces(figure, rows) {
  const { table } = figure;
  const panels = [...grouped(table, rows, figure.panel)];
  // Values that have names are no quantities: they have dots, and no box that a legend could show.
  const boxed = Math.max(0, panels.findIndex(([name]) => !ticksOf(figure, name)));
  return panels.flatMap(([name, panel], number) =>
    [...grouped(table, panel, figure.series)].map(([series, own]) => {
      const look = style(series, figure.names);
      const place = { xaxis: `x${number + 1}`, yaxis: `y${number + 1}`, y: picked(table, figure.y, own), text: picked(table, figure.hover, own).map(plain) };
      const marker = { color: look.colour, symbol: look.symbol, size: 4, opacity: 0.55 };
      // Without series the target is a number: a dot a sample, along it.
      if (!figure.series) return { type: "scatter", mode: "markers", ...place, marker, x: picked(table, figure.x, own), showlegend: false };
      return {
        type: "box", name: plain(series), legendgroup: series, showlegend: number === boxed,
        ...place,
        boxpoints: "all", jitter: 0.6, pointpos: 0, whiskerwidth: 0.5, fillcolor: "rgba(0,0,0,0)",
        line: { color: look.colour, width: ticksOf(figure, name) ? 0 : 1.5 }, marker,
      };
    }),
  );
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
  const [columns, lines] = [across, down].map((names) => [...names.keys()].map(plain));
  const cells = { type: "heatmap", xgap: across.size < 60 ? 1 : 0, ygap: down.size < 40 ? 1 : 0 };
  // Columns that stand in groups are told by those, and their own names by the pointer.
  if (!figure.group) Object.assign(cells, { x: columns, y: lines });
  const text = figure.group ? lines.map((line) => columns.map((column) => `${line}, ${column}`)) : undefined;
  const drawn = {
    ...cells, z, text, hoverongaps: false, ...(figure.limit ? { zmin: -figure.limit, zmax: figure.limit } : { zmin: 0, zmax: 1 }),
    hovertemplate: figure.group ? "%{text}: %{z:.3~g}<extra></extra>" : undefined,
    // Yes and no need no scale.
    showscale: z.flat().some((value) => value !== null && value !== 0 && value !== 1),
    colorbar: narrow()
      ? { orientation: "h", y: -0.12, yanchor: "top", thickness: 10, outlinewidth: 0, title: { text: figure.value_label, side: "bottom" } }
      : { thickness: 12, outlinewidth: 0, title: { text: figure.value_label, side: "right" } },
    colorscale: figure.limit
      ? [[0, SCALE[0]], [0.5, resolved("--card")], [1, SCALE[1]]]
      : [[0, resolved("--head")], [1, resolved("--accent")]],
  };
  // What has no value is not 0: it has a colour that no value has.
  const missing = z.map((line) => line.map((value) => (value === null ? 1 : null)));
  if (!missing.flat().includes(1)) return [drawn];
  const none = resolved("--none");
  return [drawn, { ...cells, z: missing, showscale: false, hoverongaps: false, hovertemplate: "no value<extra></extra>", colorscale: [[0, none], [1, none]] }];
}

/** Where groups of a heat map's columns begin and end, by name. */
function groupSpans(figure, rows) {
  const { table } = figure;
  const [names, groups] = [columnOf(table, figure.x), columnOf(table, figure.group)];
  const seen = new Map(rows.map((row) => [at(names, row), at(groups, row)]));
  const spans = new Map();
  [...seen.values()].forEach((group, place) => {
    if (!spans.has(group)) spans.set(group, [place, place]);
    spans.get(group)[1] = place;
  });
  return spans;
}

const KINDS = {
  steps: (figure, rows) => lineTraces(figure, rows, "hv"),
  lines: (figure, rows) => lineTraces(figure, rows, "linear"),
  bands: bandTraces,
  ranked: rankedTraces,
  strips: stripTraces,
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

/** Ticks at places that have names; plotly's own categories stumble over some. */
const named = (names) => ({ tickvals: names.map((_, place) => place), ticktext: names, showgrid: false, zeroline: false });

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
  if (figure.kind === "ranked") {
    const names = picked(figure.table, figure.y, rows).map(plain);
    layout.yaxis = axis("", false, { ...named(names), range: [names.length - 0.5, -0.5] });
    layout.barmode = "overlay";
    layout.height = 130 + 22 * names.length;
  }
  if (figure.kind === "bands") {
    // What was tried is what is told.
    const tried = [...new Set(picked(figure.table, figure.x, rows))];
    const some = tried.filter((_, place) => place % (narrow() ? 3 : 1) === 0);
    layout.xaxis = axis(figure.x_label, figure.log_x, { tickvals: some, ticktext: some.map((own) => own.toLocaleString("en-GB")) });
    layout.yaxis.rangemode = "tozero";
  }
  if (figure.kind === "strips") layoutStrips(figure, rows, layout);
  if (figure.kind === "points" && !figure.y_label) layout.yaxis.showticklabels = false;
  if (figure.equal) layout.yaxis.scaleanchor = "x";
  if (figure.kind === "heat") {
    layout.xaxis = axis(figure.x_label, false, { ...category, nticks: narrow() ? 10 : 40, showgrid: false });
    layout.yaxis = axis(figure.y_label, false, { ...category, autorange: "reversed", nticks: 40, showgrid: false });
    layout.height = 140 + Math.min(figure.group ? 1100 : 560, Math.max(figure.group ? 150 : 80, (figure.group ? 18 : 22) * traces[0].z.length));
    if (narrow()) layout.height += 50;
    if (figure.group) layoutGroups(figure, rows, layout);
  }
  return layout;
}

/** Names of the values 0, 1, ... inside the axes, each above its dots. */
function valueNames(names) {
  const above = 0.4;
  return {
    tickvals: names.map((_, value) => value + above), ticktext: names.map(plain), ticklabelposition: "inside",
    range: [-above, names.length - 0.4], showgrid: false, zeroline: false,
  };
}

/** Axes of a grid, with the name of its panel above each. */
function layoutStrips(figure, rows, layout) {
  const names = [...grouped(figure.table, rows, figure.panel).keys()];
  const columns = stripColumns(names.length);
  const lines = Math.ceil(names.length / columns);
  const [gapX, gapY] = [columns > 1 ? 0.07 : 0, lines > 1 ? 0.35 / lines : 0];
  const [wide, high] = [(1 - gapX * (columns - 1)) / columns, (1 - gapY * (lines - 1)) / lines];
  const letters = Math.floor((narrow() ? 150 : 215) / 7);
  layout.annotations = [];
  names.forEach((name, number) => {
    const [left, top] = [(number % columns) * (wide + gapX), 1 - Math.floor(number / columns) * (high + gapY)];
    layout[`xaxis${number + 1}`] = axis("", false, { domain: [left, left + wide], anchor: `y${number + 1}`, showticklabels: !figure.series, nticks: 4, automargin: false });
    layout[`yaxis${number + 1}`] = axis("", false, { domain: [Math.max(0, top - high), top], anchor: `x${number + 1}`, nticks: 5, automargin: false, tickfont: { size: 11, color: resolved("--quiet") }, ...(ticksOf(figure, name) && valueNames(ticksOf(figure, name))) });
    layout.annotations.push({
      text: plain(name.length > letters ? `${name.slice(0, letters - 1)}…` : name), hovertext: plain(name), x: left, y: top, xref: "paper", yref: "paper",
      xanchor: "left", yanchor: "bottom", showarrow: false, font: { size: 12.5 },
    });
  });
  delete layout.xaxis;
  delete layout.yaxis;
  layout.boxgap = 0.25;
  layout.margin.l = 44;
  layout.height = 70 + 190 * lines + 20 * Math.ceil(figure.names.length / 4);
}

/** The groups of a heat map under it, and lines between them. */
function layoutGroups(figure, rows, layout) {
  const spans = [...groupSpans(figure, rows)];
  layout.xaxis = axis("", false, {
    tickvals: spans.map(([, [first, last]]) => (first + last) / 2), ticktext: spans.map(([name]) => plain(name)), tickangle: 0, showgrid: false, zeroline: false, ticks: "",
  });
  layout.shapes = spans.slice(1).map(([, [first]]) => ({
    type: "line", x0: first - 0.5, x1: first - 0.5, y0: 0, y1: 1, yref: "paper", line: { color: resolved("--ink"), width: 1.5 },
  }));
  const names = [...places(figure, picked(figure.table, figure.y, rows)).keys()].map(plain);
  layout.yaxis = axis("", false, { ...named(names), range: [names.length - 0.5, -0.5] });
}

class Figure {
  constructor(host, figure) {
    Object.assign(this, { host, figure });
    const { panels } = figure;
    // Strips show all panels beside each other.
    this.together = figure.kind === "strips";
    this.panel = panels[0];
    const controls = element("div", { className: "controls" }, element("span", { className: "count" }, figure.note));
    if (panels.length > 1 && !this.together) controls.append(this.choice(panels));
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
    const all = allRows(figure.table);
    const rows = this.together ? all : grouped(figure.table, all, figure.panel).get(this.panel);
    const traces = KINDS[figure.kind](figure, rows);
    const layout = layoutOf(figure, traces, rows);
    return Plotly.react(this.plot, traces, layout, {
      responsive: true, displaylogo: false,
      modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
      toImageButtonOptions: { filename: figure.name, scale: 2 },
    });
  }
}
