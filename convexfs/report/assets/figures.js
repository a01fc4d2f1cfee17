// Kinds of figures: one function for each makes a chart for Plot from the rows of a table.

/** Colours, symbols and dashes of series. */
const { colours: COLOURS, shades: SHADES } = numbers;
const SYMBOLS = ["circle", "square", "diamond", "up", "down", "pentagon", "star", "hexagon"];
const DASHES = ["", "7 5", "2 4", "8 4 2 4"];
/** Number of corners of each symbol, and the angle of the first in degrees. */
const CORNERS = { square: [4, 45], diamond: [4, 0], up: [3, -90], down: [3, 90], pentagon: [5, -90], star: [10, -90], hexagon: [6, 0] };
/** Colours of negative and positive values in heat maps, and the number of steps to each. */
const SCALE = ["#3b6fb6", "#c8442b"];
const STEPS = 48;

function lookOf(series, all) {
  const number = Math.max(0, all.indexOf(series));
  return {
    colour: COLOURS[number % COLOURS.length],
    symbol: SYMBOLS[(number + Math.floor(number / COLOURS.length)) % SYMBOLS.length],
    dash: DASHES[Math.floor(number / COLOURS.length) % DASHES.length],
  };
}

function symbolPath(symbol, size) {
  if (symbol === "circle") return `M${size} 0A${size} ${size} 0 1 1 ${-size} 0A${size} ${size} 0 1 1 ${size} 0Z`;
  const [count, first] = CORNERS[symbol];
  const corners = Array.from({ length: count }, (_, k) => {
    const angle = ((first + (360 * k) / count) * Math.PI) / 180;
    const far = symbol === "star" && k % 2 ? 0.55 * size : 1.2 * size;
    return `${(far * Math.cos(angle)).toFixed(2)} ${(far * Math.sin(angle)).toFixed(2)}`;
  });
  return `M${corners.join("L")}Z`;
}

function marker(look, x, y, size = 3.5, opacity = 1) {
  const place = `translate(${x.toFixed(2)} ${y.toFixed(2)})`;
  return shape("path", { class: "point", d: symbolPath(look.symbol, size), transform: place, fill: look.colour, "fill-opacity": opacity });
}

const ringed = (x, y) => shape("circle", { class: "ringed", cx: x, cy: y, r: 7.5, fill: "none", stroke: "var(--bad)", "stroke-width": 2 });
const swatch = (fill) => (x, y) => [shape("rect", { x: x - 6, y: y - 6, width: 12, height: 12, fill })];

/** Group rows of a table by the values of a column, in order of appearance. */
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

/** Return all series, those that are shown, and the rows from which axes take their range. */
function seriesOf(figure, rows, hidden) {
  const all = [...grouped(figure.table, rows, figure.series)].map(([name, own]) => ({
    name: String(name), rows: own, look: lookOf(name, figure.names), hidden: hidden.has(String(name)),
  }));
  const shown = all.filter((own) => !own.hidden);
  return { all, shown, drawn: shown.length ? shown.flatMap((own) => own.rows) : rows };
}

const axisOf = (figure, name, values, how = {}) => {
  const log = figure[`log_${name}`];
  const whole = columnOf(figure.table, figure[name]).kind === "count";
  return { label: figure[`${name}_label`], log, whole, ...ends(values, { log, ...how }) };
};

/** Return an axis of names at 0, 1, 2, ... */
const namedAxis = (names, label = "") => ({
  label, named: true, grid: false, low: -0.5, high: names.length - 0.5, ticks: names.map((text, value) => ({ text: String(text), value })),
});
const downwards = (axis) => ({ ...axis, low: axis.high, high: axis.low });

/** Return a function that returns the tooltip of a point. */
const tooltip = (figure, first, x, y) => () => [
  ...first, `${figure.x_label || "x"}: ${digits(x)}`, ...(figure.y_label ? [`${figure.y_label}: ${digits(y)}`] : []),
].filter((part) => part !== "").join("\n");

/** Return the path of a line, in steps if `stepped`, interrupted at points that are not finite. */
function path(points, stepped) {
  let [text, before] = ["", null];
  for (const [x, y] of points) {
    const known = Number.isFinite(x) && Number.isFinite(y);
    if (known && before && stepped) text += `H${x.toFixed(2)}V${y.toFixed(2)}`;
    else if (known) text += `${before ? "L" : "M"}${x.toFixed(2)} ${y.toFixed(2)}`;
    before = known ? [x, y] : null;
  }
  return text;
}

/** Return [left, top, x, y] of every row; the pixels are NaN if the axes cannot show the point. */
function pixels(figure, rows, across, up) {
  const [xs, ys] = [picked(figure.table, figure.x, rows), picked(figure.table, figure.y, rows)];
  return xs.map((x, k) => [
    drawable(x, figure.log_x) ? across(x) : NaN, drawable(ys[k], figure.log_y) ? up(ys[k]) : NaN, x, ys[k],
  ]);
}

const stroke = (look, d) => shape("path", {
  class: "line", d, fill: "none", stroke: look.colour, "stroke-width": 2, "stroke-dasharray": look.dash || "none", "stroke-linejoin": "round",
});

function lineChart(figure, rows, hidden, stepped) {
  const { all, shown, drawn } = seriesOf(figure, rows, hidden);
  const x = axisOf(figure, "x", picked(figure.table, figure.x, drawn));
  const y = stepped ? { label: figure.y_label, low: 0, high: 1.02 } : axisOf(figure, "y", picked(figure.table, figure.y, drawn));
  const draw = (layer, across, up, target) => {
    for (const { name, rows: own, look } of shown) {
      const points = pixels(figure, own, across, up);
      layer.append(stroke(look, path(points, stepped)));
      for (const [left, top, valueX, valueY] of points) {
        if (!Number.isFinite(left + top)) continue;
        if (!stepped) layer.append(marker(look, left, top));
        target({ x: left, y: top, text: tooltip(figure, [name], valueX, valueY) });
      }
    }
  };
  const sample = (look) => (left, top) => [stroke(look, `M${left - 10} ${top}h20`), ...(stepped ? [] : [marker(look, left, top)])];
  return { panels: [{ x, y, draw }], zoomable: true, legend: all.map((own) => ({ ...own, sample: sample(own.look) })) };
}

/** Lines with a band around each; a series of one point has a large marker and no band. */
function bandChart(figure, rows, hidden) {
  const { table } = figure;
  const { all, shown, drawn } = seriesOf(figure, rows, hidden);
  const values = [figure.y, figure.low, figure.high].flatMap((name) => picked(table, name, drawn));
  const tried = [...new Set(picked(table, figure.x, drawn))].sort((a, b) => a - b);
  // Ticks are the values of x that occur.
  const ticks = tried.map((value) => ({ value, text: value.toLocaleString("en-GB") }));
  const x = { ...axisOf(figure, "x", tried), ticks };
  const y = axisOf(figure, "y", values, { zero: true });
  const draw = (layer, across, up, target) => {
    const points = shown.map(({ rows: own }) => pixels(figure, own, across, up));
    shown.forEach(({ rows: own, look }, k) => {
      if (own.length < 2) return;
      const side = (name) => picked(table, name, own).map((value, j) => [points[k][j][0], drawable(value) ? up(value) : NaN]);
      const around = path([...side(figure.high), ...side(figure.low).toReversed()]);
      layer.append(shape("path", { class: "band", d: `${around}Z`, fill: look.colour, "fill-opacity": 0.2 }));
    });
    shown.forEach(({ name, look }, k) => {
      layer.append(stroke(look, path(points[k])));
      for (const [left, top, valueX, valueY] of points[k]) {
        if (!Number.isFinite(left + top)) continue;
        layer.append(marker(look, left, top, points[k].length > 1 ? 3 : 6.5));
        target({ x: left, y: top, text: tooltip(figure, [name], valueX, valueY) });
      }
    });
  };
  const sample = ({ look, rows: own }) => (left, top) => [
    ...(own.length > 1 ? [stroke(look, `M${left - 10} ${top}h20`)] : []), marker(look, left, top, own.length > 1 ? 3 : 5),
  ];
  return { panels: [{ x, y, draw }], zoomable: true, legend: all.map((own) => ({ ...own, sample: sample(own) })) };
}

function pointChart(figure, rows, hidden) {
  const { table } = figure;
  const { all, shown, drawn } = seriesOf(figure, rows, hidden);
  for (const own of all) {
    const faint = own.name === figure.faint;
    if (faint) own.look = { symbol: "circle", colour: "var(--faint)" };
    [own.size, own.opacity] = faint ? [2.5, 1] : [3.5, 0.75];
  }
  const x = axisOf(figure, "x", picked(table, figure.x, drawn));
  const y = { ...axisOf(figure, "y", picked(table, figure.y, drawn)), hidden: !figure.y_label };
  const draw = (layer, across, up, target) => {
    for (const { name, rows: own, look, size, opacity } of shown) {
      const hover = figure.hover ? picked(table, figure.hover, own) : own.map(() => "");
      pixels(figure, own, across, up).forEach(([left, top, valueX, valueY], k) => {
        if (!Number.isFinite(left + top)) return;
        layer.append(marker(look, left, top, size, opacity));
        if (figure.mark && at(columnOf(table, figure.mark), own[k])) layer.append(ringed(left, top));
        target({ x: left, y: top, text: tooltip(figure, [hover[k] ?? "", name], valueX, valueY) });
      });
    }
  };
  const legend = all.map((own) => ({ ...own, sample: (left, top) => [marker(own.look, left, top, own.size + 1, own.opacity)] }));
  if (figure.mark && picked(table, figure.mark, rows).some(Boolean)) {
    legend.push({ name: figure.mark_label, sample: (left, top) => [ringed(left, top)] });
  }
  return { panels: [{ x, y, draw }], zoomable: true, legend, equal: figure.equal };
}

const lyingBar = (fill, from, to, y, thick) =>
  shape("rect", { class: "part", x: Math.min(from, to), y: y - thick / 2, width: Math.abs(to - from), height: thick, fill });
const overBar = (from, to, y, thick, text) => ({ x: (from + to) / 2, y, width: Math.abs(to - from), height: thick, text });

/** Horizontal stacked bars, with a shade of one hue for every part. */
function barChart(figure, rows, hidden) {
  const { table } = figure;
  const { all, shown } = seriesOf(figure, rows, hidden);
  all.forEach((own, k) => { own.look = { colour: SHADES[k % SHADES.length] }; });
  const names = [...grouped(table, rows, figure.y).keys()];
  const parts = [];
  const sums = new Map(names.map((name) => [name, 0]));
  for (const { name: part, rows: own, look } of shown) {
    for (const row of own) {
      const [name, value] = [at(columnOf(table, figure.y), row), at(columnOf(table, figure.x), row) ?? 0];
      parts.push({ part, name, look, value, from: sums.get(name) });
      sums.set(name, sums.get(name) + value);
    }
  }
  const thick = 22;
  const draw = (layer, across, up, target) => {
    for (const { part, name, look, value, from } of parts) {
      const [start, end, y] = [across(from), across(from + value), up(names.indexOf(name))];
      layer.append(lyingBar(look.colour, start, end, y, thick));
      target(overBar(start, end, y, thick, () => `${name}\n${part}: ${digits(value)}`));
    }
  };
  const x = axisOf(figure, "x", [...sums.values()], { zero: true });
  return {
    panels: [{ x, y: downwards(namedAxis(names)), draw }], height: 30 * names.length + 8,
    legend: all.map((own) => ({ ...own, sample: swatch(own.look.colour) })),
  };
}

/** Bars in the order of the rows; names may be equal, so positions tell them apart. */
function rankedChart(figure, rows, hidden) {
  const { table } = figure;
  const [names, values, marks] = [figure.y, figure.x, figure.mark].map((name) => picked(table, name, rows));
  const kinds = [
    { name: figure.mark_label, marked: true, colour: "var(--accent)" },
    { name: `not ${figure.mark_label}`, marked: false, colour: "var(--faint)" },
  ].filter(({ marked }) => marks.includes(marked)).map((own) => ({ ...own, hidden: hidden.has(own.name) }));
  const draw = (layer, across, up, target) => values.forEach((value, place) => {
    const kind = kinds.find(({ marked }) => marked === marks[place]);
    if (kind.hidden || value === null) return;
    const [start, end, y] = [across(0), across(value), up(place)];
    layer.append(lyingBar(kind.colour, start, end, y, 16));
    target(overBar(start, end, y, 16, () => `${names[place]}: ${digits(value)}`));
  });
  const x = axisOf(figure, "x", values, { zero: true });
  return {
    panels: [{ x, y: downwards(namedAxis(names)), draw }], height: 22 * names.length + 6,
    legend: kinds.map((own) => ({ ...own, sample: swatch(own.colour) })),
  };
}
