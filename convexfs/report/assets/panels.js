// Strip plots and heat maps; class Figure, which draws a figure on the page with its controls.

/** Return the jitter of a sample, between -0.5 and 0.5, the same in every drawing. */
const jitter = (number) => ((number * 0.6180339887) % 1) - 0.5;

/** Return quartiles, and the ends of whiskers: the furthest values within 1.5 quartile distances. */
function quartiles(values) {
  const sorted = values.filter((value) => drawable(value)).sort((a, b) => a - b);
  if (!sorted.length) return null;
  const quantile = (share) => {
    const [place, low] = [share * (sorted.length - 1), Math.floor(share * (sorted.length - 1))];
    return sorted[low] + (place - low) * ((sorted[low + 1] ?? sorted[low]) - sorted[low]);
  };
  const [first, middle, third] = [0.25, 0.5, 0.75].map(quantile);
  const reach = 1.5 * (third - first);
  const inside = sorted.filter((value) => value >= first - reach && value <= third + reach);
  return { first, middle, third, low: inside[0], high: inside.at(-1) };
}

function drawBox(layer, { first, middle, third, low, high }, x, half, up, colour) {
  const [cap, side] = [half / 2, (value) => up(value).toFixed(2)];
  const d = `M${x - half} ${side(first)}H${x + half}V${side(third)}H${x - half}Z`
    + `M${x - half} ${side(middle)}h${2 * half}M${x} ${side(third)}V${side(high)}M${x} ${side(first)}V${side(low)}`
    + `M${x - cap} ${side(high)}h${2 * cap}M${x - cap} ${side(low)}h${2 * cap}`;
  layer.append(shape("path", { class: "box", d, fill: "none", stroke: colour, "stroke-width": 1.5 }));
}

/** Return the names of a categorical feature's values, or null; a panel may be named "constructor". */
const namesOf = (figure, panel) => (Object.hasOwn(figure.ticks, panel) ? figure.ticks[panel] : null);

/** Return the y axis of a categorical feature, whose names stand above their dots. */
const upNamed = (names) => ({ low: -0.4, high: names.length - 0.3, hidden: true, grid: false, ticks: [] });

function stripPanel(figure, rows, series, panel) {
  const { table } = figure;
  const names = namesOf(figure, panel);
  const y = names ? upNamed(names) : ends(picked(table, figure.y, rows), { room: 0.08 });
  const classes = series.length;
  const x = figure.series
    ? { low: -0.5, high: classes - 0.5, grid: false, hidden: true, ticks: [] }
    : ends(picked(table, figure.x, rows));
  const draw = (layer, across, up, target) => {
    const half = Math.min(60, Math.abs(across(1) - across(0)) * 0.36);
    series.forEach(({ look, hidden, name }, k) => {
      if (hidden) return;
      const own = figure.series ? rows.filter((row) => String(at(columnOf(table, figure.series), row)) === name) : rows;
      const [values, hover] = [picked(table, figure.y, own), picked(table, figure.hover, own)];
      values.forEach((value, j) => {
        if (!drawable(value)) return;
        const along = figure.series ? across(k) + 1.2 * half * jitter(j) : across(at(columnOf(table, figure.x), own[j]));
        layer.append(marker(look, along, up(value), 2, 0.55));
        const shown = names ? names[Math.round(value)] : digits(value);
        target({ x: along, y: up(value), width: 5, height: 5, text: () => `${hover[j]}${name && `, ${name}`}\n${panel}: ${shown}` });
      });
      // Categorical features have no quartiles, so no box.
      const found = figure.series && !names && quartiles(values);
      if (found) drawBox(layer, found, across(k), half, up, look.colour);
    });
    (names || []).forEach((text, value) => {
      layer.append(tick("y", label(fitted(text, Math.abs(across(x.high) - across(x.low)) - 8, 11), across(x.low) + 4, up(value + 0.45), { anchor: "start", size: 11 })));
    });
  };
  return { title: String(panel), x, y, draw };
}

/** A grid of panels, each with a box and the samples of every class, or dots along the target. */
function stripChart(figure, rows, hidden) {
  const { all } = seriesOf(figure, rows, hidden);
  const panels = [...grouped(figure.table, rows, figure.panel)].map(([panel, own]) => stripPanel(figure, own, all, panel));
  const legend = figure.series ? all.map((own) => ({ ...own, sample: (x, y) => [marker(own.look, x, y, 4)] })) : [];
  return { panels, columns: Math.min(panels.length, narrow() ? 2 : 4), height: 130, legend };
}

/** Return the position of each name: solvers in their common order, others by appearance. */
function places(figure, values) {
  const names = [...new Set(values)];
  const known = names.every((name) => figure.names.includes(name));
  if (known) names.sort((a, b) => figure.names.indexOf(a) - figure.names.indexOf(b));
  return new Map(names.map((name, place) => [name, place]));
}

/** Return the colour of a value, rounded to STEPS steps, because cells of one colour share a path. */
function shade(figure, value) {
  const share = Math.round(STEPS * Math.min(1, Math.abs(value) / (figure.limit || 1))) / STEPS;
  const [from, to] = figure.limit ? ["var(--card)", SCALE[value < 0 ? 0 : 1]] : ["var(--head)", "var(--accent)"];
  return `color-mix(in srgb, ${to} ${(100 * share).toFixed(1)}%, ${from})`;
}

/** Return the name, first and last position of each group of a heat map's columns. */
function groupSpans(figure, rows) {
  const { table } = figure;
  const [names, groups] = [columnOf(table, figure.x), columnOf(table, figure.group)];
  const seen = new Map(rows.map((row) => [at(names, row), at(groups, row)]));
  const spans = new Map();
  [...seen.values()].forEach((group, place) => {
    if (!spans.has(group)) spans.set(group, [place, place]);
    spans.get(group)[1] = place;
  });
  return [...spans].map(([name, [first, last]]) => ({ name: String(name), first, last }));
}

/** Return the values of all cells, line by line; null where the table has no row. */
function cellsOf(figure, rows, across, down) {
  const cells = Array.from({ length: across.size * down.size }, () => null);
  const [columns, lines, values] = [figure.x, figure.y, figure.value].map((name) => picked(figure.table, name, rows));
  values.forEach((value, k) => { cells[down.get(lines[k]) * across.size + across.get(columns[k])] = value; });
  return cells;
}

/** Draw all cells, those of one colour as one path. */
function drawCells(figure, { cells, columns, lines }, layer, x, y, target) {
  const byColour = new Map();
  const [wide, high] = [x(1) - x(0), y(1) - y(0)];
  const [gapX, gapY] = [wide > 6 ? 1 : 0, high > 6 ? 1 : 0];
  cells.forEach((value, k) => {
    const [column, row] = [k % columns.length, Math.floor(k / columns.length)];
    // Missing cells have a colour that no value has.
    const colour = value === null ? "var(--none)" : shade(figure, value);
    const [left, top] = [x(column - 0.5), y(row - 0.5)];
    const cell = `M${left.toFixed(2)} ${top.toFixed(2)}h${(wide - gapX).toFixed(2)}v${(high - gapY).toFixed(2)}h${(gapX - wide).toFixed(2)}z`;
    byColour.set(colour, (byColour.get(colour) || "") + cell);
    const shown = value === null ? "no value" : digits(value);
    target({ x: x(column), y: y(row), width: wide, height: high, text: () => `${lines[row]}, ${columns[column]}\n${shown}` });
  });
  for (const [fill, d] of byColour) layer.append(shape("path", { class: "cells", d, fill, "shape-rendering": "crispEdges" }));
}

/** Draw lines between groups of columns, thin ones if a group is narrow. */
function drawBorders(spans, layer, x, top, bottom) {
  const narrowest = Math.min(...spans.map(({ first, last }) => x(last + 1) - x(first)));
  const width = narrowest < 8 ? 0.5 : 1.5;
  for (const { first } of spans.slice(1)) {
    const place = x(first - 0.5);
    layer.append(shape("line", { x1: place, x2: place, y1: top, y2: bottom, stroke: "var(--ink)", "stroke-width": width }));
  }
}

function heatChart(figure, rows) {
  const across = places(figure, picked(figure.table, figure.x, rows));
  const down = places(figure, picked(figure.table, figure.y, rows));
  const [columns, lines] = [[...across.keys()], [...down.keys()]];
  const cells = cellsOf(figure, rows, across, down);
  const spans = figure.group ? groupSpans(figure, rows) : [];
  const draw = (layer, x, y, target) => {
    drawCells(figure, { cells, columns, lines }, layer, x, y, target);
    drawBorders(spans, layer, x, y(-0.5), y(lines.length - 0.5));
  };
  const x = namedAxis(columns, figure.x_label);
  // Grouped columns are labelled by group; tooltips have their own names.
  if (figure.group) x.ticks = spans.map(({ name, first, last }) => ({ text: name, value: (first + last) / 2 }));
  const { limit } = figure;
  const bar = {
    label: figure.value_label, low: -limit || 0, high: limit || 1,
    colours: limit ? [SCALE[0], "var(--card)", SCALE[1]] : ["var(--head)", "var(--accent)"],
  };
  const [each, most] = figure.group ? [18, 1100] : [22, 560];
  return {
    panels: [{ x, y: downwards(namedAxis(lines, figure.y_label)), draw }],
    height: Math.min(most, Math.max(44, each * lines.length)),
    // Cells that are only 0 and 1 need no colour bar.
    bar: cells.some((value) => value !== null && value !== 0 && value !== 1) ? bar : null,
  };
}

const KINDS = {
  steps: (figure, rows, hidden) => lineChart(figure, rows, hidden, true),
  lines: (figure, rows, hidden) => lineChart(figure, rows, hidden, false),
  bands: bandChart,
  ranked: rankedChart,
  strips: stripChart,
  points: pointChart,
  bars: barChart,
  heat: heatChart,
};

class Figure {
  constructor(host, figure) {
    Object.assign(this, { host, figure, hidden: new Set(), zoomed: null });
    const { panels } = figure;
    // Strips show all panels at once.
    this.together = figure.kind === "strips";
    this.panel = panels[0];
    const place = element("div", { className: "plot" });
    this.plot = new Plot(place, figure.name, figure.title);
    const controls = element("div", { className: "controls" }, element("span", { className: "count" }, figure.note));
    if (panels.length > 1 && !this.together) controls.append(this.choice(panels));
    controls.append(
      ...exportButtons(figure.name, figure.table, () => allRows(figure.table)),
      button("SVG", () => this.plot.saveSvg(), "Download this drawing as SVG"),
      button("PNG", () => this.plot.savePng(), "Download this drawing as PNG"),
    );
    host.append(controls, place);
  }

  choice(panels) {
    const select = element("select", { "aria-label": `${this.figure.title}: ${this.figure.panel}` });
    select.append(...panels.map((panel, k) => element("option", { value: k }, String(panel))));
    select.onchange = () => {
      this.panel = panels[Number(select.value)];
      this.zoomed = null;
      this.draw();
    };
    return select;
  }

  draw() {
    this.plot.show(() => this.chart());
  }

  chart() {
    const { figure, hidden } = this;
    const all = allRows(figure.table);
    const rows = this.together ? all : grouped(figure.table, all, figure.panel).get(this.panel);
    const chart = KINDS[figure.kind](figure, rows, hidden);
    chart.height ??= narrow() ? 250 : 320;
    for (const entry of chart.legend || []) {
      entry.toggle = () => {
        if (!hidden.delete(entry.name)) hidden.add(entry.name);
        this.draw();
      };
    }
    if (this.zoomed) {
      const [panel] = chart.panels;
      Object.assign(panel.x, this.zoomed.x, { ticks: undefined });
      Object.assign(panel.y, this.zoomed.y);
      chart.clipped = true;
    }
    chart.zoom = (zoomed) => {
      this.zoomed = zoomed;
      this.draw();
    };
    return chart;
  }
}
