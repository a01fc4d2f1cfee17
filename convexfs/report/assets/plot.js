// Plot: draws a chart as SVG, with axes, legend, colour bar, tooltip, zoom and download.
//
// A chart is an object with `panels` and their `height`; optional are `columns`, `legend`, `bar`
// (colour bar), `equal` (axes) and `zoomable`. A panel has the axes `x` and `y`, a function `draw`
// and optionally a `title`. Colours are custom properties of the page's style, so that drawings
// follow the theme without being drawn again.

const QUIET = "var(--quiet)";
const TITLE_ROOM = 22;
const ENTRY_ROOM = 20;

/** Return an SVG element with these attributes and children. */
function shape(tag, attributes = {}, ...children) {
  const made = document.createElementNS("http://www.w3.org/2000/svg", tag);
  for (const [name, value] of Object.entries(attributes)) made.setAttribute(name, value);
  made.append(...children);
  return made;
}

/** Return a text element at (x, y), rotated by `turn` degrees; replace characters XML forbids. */
function label(text, x, y, { anchor = "middle", size = FONT_SIZE, colour = QUIET, turn = 0 } = {}) {
  const place = { x, y, dy: "0.35em", "text-anchor": anchor, "font-size": size, fill: colour };
  return shape("text", turn ? { ...place, transform: `rotate(${turn} ${x} ${y})` } : place, allowed(String(text)));
}

/** Return a CSS colour as rgb(...) in the present theme, with custom properties resolved. */
function resolved(colour) {
  const probe = document.body.appendChild(element("span", { hidden: true }));
  probe.style.color = colour;
  const found = getComputedStyle(probe).color;
  probe.remove();
  // Programs other than browsers cannot read color(srgb ...).
  const mixed = /^color\(srgb (\S+) (\S+) (\S+?)\)$/.exec(found);
  return mixed ? `rgb(${mixed.slice(1).map((part) => Math.round(255 * part)).join(", ")})` : found;
}

class Plot {
  constructor(host, name, title) {
    Object.assign(this, { host, name, title, targets: [], focus: -1 });
    this.tip = element("div", { className: "tip", role: "status", hidden: true });
    new ResizeObserver(() => {
      if (this.chart && host.clientWidth && host.clientWidth !== this.width) this.draw(this.chart());
    }).observe(host);
  }

  /** Draw the chart that `make` returns, now and whenever the width changes. */
  show(make) {
    this.chart = make;
    this.draw(make());
  }

  draw(chart) {
    this.width = this.host.clientWidth || 800;
    this.targets = [];
    this.svg = shape("svg", {
      role: "group", "aria-label": this.title, tabindex: 0, "font-family": FONT, class: chart.zoomable ? "zoomable" : "",
    });
    const bottom = this.drawPanels(chart);
    const below = this.drawBar(chart, bottom);
    this.height = this.drawLegend(chart.legend || [], below);
    this.svg.setAttribute("viewBox", `0 0 ${this.width} ${this.height}`);
    this.ring = this.svg.appendChild(shape("rect", { fill: "none", stroke: "var(--ink)", "stroke-width": 1.5, rx: 3, visibility: "hidden" }));
    this.listen(chart);
    this.showTip(-1);
    this.host.replaceChildren(this.svg, this.tip);
  }

  /** Draw the panels in a grid; return the y coordinate of their lower end. */
  drawPanels(chart) {
    const { panels, height, columns = 1 } = chart;
    const gap = columns > 1 ? 14 : 0;
    const right = chart.bar && !barBelow(chart) ? 76 : 12;
    let left = Math.max(...panels.map((panel) => this.leftOf(panel, height)));
    if (columns === 1) left += overLeft(panels[0].x, left, this.width - right);
    const wide = (this.width - right - gap * (columns - 1)) / columns - left;
    let top = 8;
    for (let first = 0; first < panels.length; first += columns) {
      const row = panels.slice(first, first + columns);
      if (row.some(({ title }) => title)) top += TITLE_ROOM;
      const rooms = row.map((panel, k) => {
        const x = left + k * (left + wide + gap);
        return this.drawPanel(chart, panel, { left: x, right: x + wide, top, bottom: top + height, room: left });
      });
      top += height + Math.max(...rooms);
    }
    return top;
  }

  /** Return the width in pixels that the ticks and label of a y axis need. */
  leftOf({ y }, height) {
    const most = y.named ? Math.min(220, 0.38 * this.width) : 90;
    const texts = y.hidden ? [] : ticksUp(y, height).map(({ text }) => Math.min(most, textWidth(text)));
    return Math.max(6, ...texts) + 10 + (y.label ? 24 : 0);
  }

  /** Draw a panel with its axes; return the height that the ticks and label of x need. */
  drawPanel(chart, panel, box) {
    const [x, y] = chart.equal ? equalAxes(panel, box) : [panel.x, panel.y];
    const [across, up] = [scale(x, box.left, box.right), scale(y, box.bottom, box.top)];
    const room = this.drawAcross(x, across, box);
    this.drawUp(y, up, box);
    if (panel.title) {
      const title = label(fitted(panel.title, box.right - box.left, 12.5), box.left, box.top - 12, { anchor: "start", size: 12.5, colour: "var(--ink)" });
      title.classList.add("title");
      this.svg.append(title);
      title.append(shape("title", {}, panel.title));
    }
    const layer = this.svg.appendChild(shape("g", { class: "marks" }));
    if (chart.clipped) {
      const { left, right, top, bottom } = box;
      const clip = shape("clipPath", { id: `clip-${this.name}` }, shape("rect", { x: left, y: top, width: right - left, height: bottom - top }));
      this.svg.append(clip);
      layer.setAttribute("clip-path", `url(#clip-${this.name})`);
    }
    panel.draw(layer, across, up, (own) => {
      const inside = own.x > box.left - 1 && own.x < box.right + 1 && own.y > box.top - 1 && own.y < box.bottom + 1;
      if (inside) this.targets.push(own);
    });
    this.area = { box, across, up };
    return room;
  }

  drawAcross(axis, at, box) {
    const { ticks, turned } = ticksAcross(axis, at);
    let room = 6;
    for (const { value, text } of ticks) {
      const x = at(value);
      if (axis.grid !== false) this.svg.append(line(x, box.top, x, box.bottom));
      if (axis.hidden) continue;
      const half = textWidth(text) / 2;
      const own = turned
        ? label(text, x + 4, box.bottom + 10, { anchor: "end", turn: -45 })
        : label(text, Math.min(x, this.width - half - 1), box.bottom + 13);
      this.svg.append(tick("x", own));
      room = Math.max(room, turned ? 18 + 2 * half * 0.71 : 26);
    }
    this.svg.append(line(box.left, box.bottom, box.right, box.bottom, "var(--faint)"));
    if (!axis.label) return room + 4;
    const text = fitted(axis.label, this.width - 8, 13);
    const half = textWidth(text, 13) / 2;
    const middle = Math.max(half + 2, Math.min((box.left + box.right) / 2, this.width - half - 2));
    this.svg.append(label(text, middle, box.bottom + room + 8, { size: 13 }));
    return room + 24;
  }

  drawUp(axis, at, box) {
    const room = box.room - 10 - (axis.label ? 24 : 0);
    for (const { value, text } of ticksUp(axis, box.bottom - box.top)) {
      const y = at(value);
      if (axis.grid !== false) this.svg.append(line(box.left, y, box.right, y));
      if (axis.hidden) continue;
      const own = label(fitted(text, room), box.left - 7, y, { anchor: "end" });
      this.svg.append(tick("y", own));
    }
    if (!axis.label) return;
    const text = fitted(axis.label, box.bottom - box.top + 30, 13);
    this.svg.append(label(text, box.left - box.room + 10, (box.top + box.bottom) / 2, { size: 13, turn: -90 }));
  }

  /** Draw the colour bar beside or below a heat map; return the y coordinate of the lower end. */
  drawBar(chart, bottom) {
    const { bar } = chart;
    if (!bar) return bottom;
    const { box } = this.area;
    const lying = barBelow(chart);
    const length = lying ? Math.min(280, this.width - 80) : Math.min(box.bottom - box.top, 320);
    const start = lying ? (this.width - length) / 2 : (box.top + box.bottom + length) / 2;
    const at = scale(bar, start, lying ? start + length : start - length);
    const thick = 12;
    const [x, y] = lying ? [start, bottom + 6] : [box.right + 16, start - length];
    const id = `bar-${this.name}`;
    const towards = lying ? { x1: 0, x2: 1, y1: 0, y2: 0 } : { x1: 0, x2: 0, y1: 1, y2: 0 };
    const stops = bar.colours.map((colour, k) => shape("stop", { offset: k / (bar.colours.length - 1), "stop-color": colour }));
    const [width, height] = lying ? [length, thick] : [thick, length];
    this.svg.append(
      shape("linearGradient", { id, ...towards }, ...stops),
      shape("rect", { x, y, width, height, fill: `url(#${id})`, stroke: "var(--line)", class: "bar" }),
    );
    for (const value of [bar.low, (bar.low + bar.high) / 2, bar.high]) {
      const text = minus(String(value));
      this.svg.append(lying ? label(text, at(value), y + thick + 11) : label(text, x + thick + 5, at(value), { anchor: "start" }));
    }
    if (lying) this.svg.append(label(bar.label, this.width / 2, y + thick + 30));
    else this.svg.append(label(fitted(bar.label, Math.max(length, 200)), x + thick + 42, start - length / 2, { turn: -90 }));
    return lying ? bottom + 60 : bottom;
  }

  /** Draw the legend below `top`, in lines; return the y coordinate of the lower end. */
  drawLegend(entries, top) {
    if (entries.length < 2) return top + 4;
    let [x, y] = [4, top + 14];
    entries.forEach((entry, number) => {
      const text = fitted(entry.name, this.width - 40);
      const wide = 34 + textWidth(text);
      if (x > 4 && x + wide > this.width) [x, y] = [4, y + ENTRY_ROOM];
      const own = shape("g", { class: "entry", role: "button", tabindex: 0, "aria-pressed": !entry.hidden, opacity: entry.hidden ? 0.4 : 1 });
      own.append(
        shape("rect", { x: x - 3, y: y - 10, width: wide, height: 20, fill: "transparent" }),
        ...entry.sample(x + 10, y), label(text, x + 25, y, { anchor: "start", colour: "var(--ink)" }),
      );
      own.onclick = () => { entry.toggle(); this.svg.querySelectorAll(".entry")[number].focus(); };
      own.onkeydown = (event) => { if (event.key === "Enter" || event.key === " ") { event.preventDefault(); own.onclick(); } };
      this.svg.append(own);
      x += wide + 14;
    });
    return y + 14;
  }

  /** Install the handlers of pointer and keys: tooltip, arrow keys and zoom. */
  listen(chart) {
    const { svg } = this;
    const place = (event) => {
      const { left, top, width } = svg.getBoundingClientRect();
      const zoom = this.width / width;
      return [(event.clientX - left) * zoom, (event.clientY - top) * zoom];
    };
    svg.onpointermove = (event) => (this.drag ? this.drag.move(...place(event)) : this.showTip(this.nearest(...place(event))));
    svg.onpointerleave = () => { if (!this.drag) this.showTip(-1); };
    svg.onblur = () => this.showTip(-1);
    svg.onkeydown = (event) => {
      const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
      if (event.target !== svg || (!step && event.key !== "Escape")) return;
      event.preventDefault();
      const count = this.targets.length;
      this.showTip(step && count ? (Math.max(this.focus, step < 0 ? 0 : -1) + step + count) % count : -1);
    };
    svg.onpointerdown = (event) => {
      const [x, y] = place(event);
      const { box } = this.area;
      const inside = x > box.left && x < box.right && y > box.top && y < box.bottom;
      if (event.pointerType !== "mouse") this.showTip(this.nearest(x, y));
      else if (chart.zoomable && event.button === 0 && inside) this.startZoom(chart, x, y, event.pointerId);
    };
    svg.onpointerup = () => this.drag?.end();
    svg.ondblclick = () => { if (chart.zoomable) chart.zoom(null); };
  }

  /** Start a drag that selects the rectangle to zoom into. */
  startZoom(chart, x, y, pointer) {
    const { box, across, up } = this.area;
    const frame = shape("rect", { fill: "var(--accent)", "fill-opacity": 0.15, stroke: "var(--accent)", class: "zoom" });
    let sides = [x, x, y, y];
    this.showTip(-1);
    this.drag = {
      move: (toX, toY) => {
        const [inX, inY] = [Math.min(box.right, Math.max(box.left, toX)), Math.min(box.bottom, Math.max(box.top, toY))];
        sides = [Math.min(x, inX), Math.max(x, inX), Math.min(y, inY), Math.max(y, inY)];
        const [left, right, top, bottom] = sides;
        for (const [name, value] of Object.entries({ x: left, y: top, width: right - left, height: bottom - top })) frame.setAttribute(name, value);
        if (!frame.isConnected) { this.svg.append(frame); this.svg.setPointerCapture(pointer); }
      },
      end: () => {
        const [left, right, top, bottom] = sides;
        this.drag = null;
        frame.remove();
        if (right - left < 8 || bottom - top < 8) return;
        const zoomed = { x: { low: across.value(left), high: across.value(right) }, y: { low: up.value(bottom), high: up.value(top) } };
        if (!Object.values(zoomed).some(({ low, high }) => tooNarrow(low, high))) chart.zoom(zoomed);
      },
    };
  }

  /** Return the number of the mark within 24 pixels that is nearest to (x, y), or -1. */
  nearest(x, y) {
    let [found, least] = [-1, 24];
    this.targets.forEach((own, k) => {
      const [wide, high] = [own.width || 0, own.height || 0];
      const distance = Math.hypot(Math.max(0, Math.abs(x - own.x) - wide / 2), Math.max(0, Math.abs(y - own.y) - high / 2));
      if (distance < least) [found, least] = [k, distance];
    });
    return found;
  }

  /** Show the tooltip of a mark by its number; -1 hides it. */
  showTip(number) {
    this.focus = number;
    const own = this.targets[number];
    this.tip.hidden = !own;
    this.ring.setAttribute("visibility", own ? "visible" : "hidden");
    if (!own) return;
    const [wide, high] = [(own.width || 12) + 2, (own.height || 12) + 2];
    const sides = { x: own.x - wide / 2, y: own.y - high / 2, width: wide, height: high };
    for (const [name, value] of Object.entries(sides)) this.ring.setAttribute(name, value);
    this.tip.textContent = own.text();
    const zoom = this.host.clientWidth / this.width;
    const [width, height] = [this.tip.offsetWidth, this.tip.offsetHeight];
    const left = Math.min(own.x * zoom + 12, this.host.clientWidth - width);
    const above = (own.y - Math.min(high, 40) / 2) * zoom - height - 6;
    this.tip.style.left = `${Math.max(0, left)}px`;
    this.tip.style.top = `${above < 0 ? (own.y + Math.min(high, 40) / 2) * zoom + 8 : above}px`;
  }

  /** The text of an SVG file of this drawing, in the colours of the present theme. */
  get text() {
    const copy = this.svg.cloneNode(true);
    copy.prepend(shape("rect", { width: this.width, height: this.height, fill: "var(--card)" }));
    copy.setAttribute("width", this.width);
    copy.setAttribute("height", this.height);
    const own = allowed(new XMLSerializer().serializeToString(copy));
    return own.replace(/"(var\([^"]*\)|color-mix\([^"]*\))"/g, (_, colour) => `"${resolved(colour)}"`);
  }

  saveSvg() {
    download(`${this.name}.svg`, this.text, "image/svg+xml");
  }

  async savePng() {
    const picture = new Image();
    picture.src = URL.createObjectURL(new Blob([this.text], { type: "image/svg+xml" }));
    await picture.decode();
    const canvas = element("canvas", { width: 2 * this.width, height: 2 * this.height });
    canvas.getContext("2d").drawImage(picture, 0, 0, canvas.width, canvas.height);
    URL.revokeObjectURL(picture.src);
    canvas.toBlob((content) => download(`${this.name}.png`, content, "image/png"));
  }
}

/** Return whether the colour bar lies below the heat map: on phones, and if there are few rows. */
const barBelow = (chart) => narrow() || chart.height < 130;

/** Return by how many pixels the rotated labels of an x axis would leave the drawing at the left. */
function overLeft(axis, left, right) {
  const at = scale(axis, left, right);
  const { ticks, turned } = ticksAcross(axis, at);
  return turned ? Math.max(0, ...ticks.map(({ value, text }) => 0.71 * (textWidth(text) + 8) - at(value))) : 0;
}

const line = (x1, y1, x2, y2, stroke = "var(--line)") => shape("line", { x1, y1, x2, y2, stroke });
const tick = (which, text) => shape("g", { class: `${which}tick` }, text);

/** Return both axes, one of them extended so that a unit has the same length along both. */
function equalAxes({ x, y }, box) {
  const units = [(x.high - x.low) / (box.right - box.left), (y.high - y.low) / (box.bottom - box.top)];
  return [x, y].map((axis, k) => {
    const more = ((axis.high - axis.low) * (Math.max(...units) / units[k] - 1)) / 2;
    return { ...axis, low: axis.low - more, high: axis.high + more };
  });
}
