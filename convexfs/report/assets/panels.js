// Strips and heat maps, the choice among panels, and the drawing of a figure on the page.

/** A place between -0.5 and 0.5 that looks random and is always the same. */
const shaken = (number) => ((number * 0.6180339887) % 1) - 0.5;

/** Quartiles of values, and the furthest within one and a half times their distance. */
function box(values) {
  const sorted = values.filter((value) => value !== null).sort((a, b) => a - b);
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

/** What the values of a panel are called, if they have names; a panel may be called "constructor". */
const namesOf = (figure, panel) => (Object.hasOwn(figure.ticks, panel) ? figure.ticks[panel] : null);

/** Axes up for values 0, 1, ... that have names, each written above its dots. */
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
        if (value === null) return;
        const along = figure.series ? across(k) + 1.2 * half * shaken(j) : across(at(columnOf(table, figure.x), own[j]));
        layer.append(marker(look, along, up(value), 2, 0.55));
        const told = names ? names[Math.round(value)] : digits(value);
        target({ x: along, y: up(value), width: 5, height: 5, text: () => `${hover[j]}${name && `, ${name}`}\n${panel}: ${told}` });
      });
      // Values that have names are no quantities: they have dots, and no box.
      const found = figure.series && !names && box(values);
      if (found) drawBox(layer, found, across(k), half, up, look.colour);
    });
    (names || []).forEach((text, value) => {
      layer.append(tick("y", words(fitted(text, Math.abs(across(x.high) - across(x.low)) - 8, 11), across(x.low) + 4, up(value + 0.45), { anchor: "start", size: 11 })));
    });
  };
  return { title: String(panel), x, y, draw };
}

/** A box with its samples for every class, in axes of their own for every panel. */
function stripChart(figure, rows, hidden) {
  const { all } = seriesOf(figure, rows, hidden);
  const panels = [...grouped(figure.table, rows, figure.panel)].map(([panel, own]) => stripPanel(figure, own, all, panel));
  const legend = figure.series ? all.map((own) => ({ ...own, sample: (x, y) => [marker(own.look, x, y, 4)] })) : [];
  return { panels, columns: Math.min(panels.length, narrow() ? 2 : 4), height: 130, legend };
}

/** Where each name stands: solvers in the order they have everywhere, others as they come. */
function places(figure, values) {
  const names = [...new Set(values)];
  const known = names.every((name) => figure.names.includes(name));
  if (known) names.sort((a, b) => figure.names.indexOf(a) - figure.names.indexOf(b));
  return new Map(names.map((name, place) => [name, place]));
}

/** The colour of a cell's value, in one of some steps: few elements are quick to draw. */
function shade(figure, value) {
  const share = Math.round(STEPS * Math.min(1, Math.abs(value) / (figure.limit || 1))) / STEPS;
  const [from, to] = figure.limit ? ["var(--card)", SCALE[value < 0 ? 0 : 1]] : ["var(--head)", "var(--accent)"];
  return `color-mix(in srgb, ${to} ${(100 * share).toFixed(1)}%, ${from})`;
}

/** Groups of a heat map's columns: name, first and last place. */
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

/** The value of every row's cell, by its place; null where no row is. */
function cellsOf(figure, rows, across, down) {
  const cells = Array.from({ length: across.size * down.size }, () => null);
  const [columns, lines, values] = [figure.x, figure.y, figure.value].map((name) => picked(figure.table, name, rows));
  values.forEach((value, k) => { cells[down.get(lines[k]) * across.size + across.get(columns[k])] = value; });
  return cells;
}

function heatChart(figure, rows) {
  const across = places(figure, picked(figure.table, figure.x, rows));
  const down = places(figure, picked(figure.table, figure.y, rows));
  const [columns, lines] = [[...across.keys()], [...down.keys()]];
  const cells = cellsOf(figure, rows, across, down);
  const spans = figure.group ? groupSpans(figure, rows) : [];
  const draw = (layer, x, y, target) => {
    // What has no value is not 0: it has a colour that no value has.
    const byColour = new Map();
    const [wide, high] = [x(1) - x(0), y(1) - y(0)];
    const [gapX, gapY] = [wide > 6 ? 1 : 0, high > 6 ? 1 : 0];
    cells.forEach((value, k) => {
      const [column, row] = [k % columns.length, Math.floor(k / columns.length)];
      const colour = value === null ? "var(--none)" : shade(figure, value);
      const [left, top] = [x(column - 0.5), y(row - 0.5)];
      const cell = `M${left.toFixed(2)} ${top.toFixed(2)}h${(wide - gapX).toFixed(2)}v${(high - gapY).toFixed(2)}h${(gapX - wide).toFixed(2)}z`;
      byColour.set(colour, (byColour.get(colour) || "") + cell);
      const told = value === null ? "no value" : digits(value);
      target({ x: x(column), y: y(row), width: wide, height: high, text: () => `${lines[row]}, ${columns[column]}\n${told}` });
    });
    for (const [fill, d] of byColour) layer.append(shape("path", { class: "cells", d, fill, "shape-rendering": "crispEdges" }));
    const thin = wide * Math.min(...spans.map(({ first, last }) => last - first + 1)) < 8;
    for (const { first } of spans.slice(1)) {
      layer.append(shape("line", { x1: x(first - 0.5), x2: x(first - 0.5), y1: y(-0.5), y2: y(lines.length - 0.5), stroke: "var(--ink)", "stroke-width": thin ? 0.5 : 1.5 }));
    }
  };
  const x = namedAxis(columns, figure.x_label);
  // Columns that stand in groups are told by those, and their own names by the pointer.
  if (figure.group) x.ticks = spans.map(({ name, first, last }) => ({ text: name, value: (first + last) / 2 }));
  const y = { ...downwards(namedAxis(lines, figure.y_label)) };
  const { limit } = figure;
  const bar = {
    label: figure.value_label, low: -limit || 0, high: limit || 1,
    colours: limit ? [SCALE[0], "var(--card)", SCALE[1]] : ["var(--head)", "var(--accent)"],
  };
  const most = figure.group ? 1100 : 560;
  return {
    panels: [{ x, y, draw }], height: Math.min(most, Math.max(44, (figure.group ? 18 : 22) * lines.length)),
    // Yes and no need no scale.
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
    // Strips show all panels beside each other.
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
