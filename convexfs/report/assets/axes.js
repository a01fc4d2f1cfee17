// Axes: range, scale from values to pixels, ticks and their labels.

const FONT_SIZE = 12;
const FONT = getComputedStyle(document.body).fontFamily;
const CANVAS = document.createElement("canvas").getContext("2d");

/** Replace the characters that XML forbids, and line breaks. */
const allowed = (text) => text.replace(/[\u0000-\u001f\ufffe\uffff]/g, "\ufffd");

function textWidth(text, size = FONT_SIZE) {
  CANVAS.font = `${size}px ${FONT}`;
  return CANVAS.measureText(allowed(text)).width;
}

/** Return the text, shortened with an ellipsis to at most `width` pixels. */
function fitted(text, width, size = FONT_SIZE) {
  const all = textWidth(text, size);
  if (all <= width) return text;
  const letters = [...text];
  let count = Math.max(1, Math.floor((letters.length * width) / all));
  const cut = () => `${letters.slice(0, count).join("").trimEnd()}…`;
  while (count > 1 && textWidth(cut(), size) > width) count -= 1;
  return cut();
}

const narrow = () => window.innerWidth < 700;

/** Return the transformation of a linear or logarithmic axis, and its inverse. */
const transformOf = (log) => (log ? [Math.log10, (own) => 10 ** own] : [(own) => own, (own) => own]);
/** Differences of larger numbers overflow; smaller positive ones have no logarithmic margin. */
const [LARGEST, SMALLEST] = [1e307, 1e-307];
const drawable = (value, log) => value !== null && Math.abs(value) <= LARGEST && (!log || value >= SMALLEST);
/** Return whether a range is too narrow for doubles to have ticks within it. */
const tooNarrow = (low, high) => high - low <= Math.max(SMALLEST, 1e-12 * Math.max(Math.abs(low), Math.abs(high)));

/** Return the range of an axis that shows these values, with a margin on both sides. */
function ends(values, { log = false, zero = false, room = 0.05 } = {}) {
  const [forth, back] = transformOf(log);
  let [low, high] = [Infinity, -Infinity];
  for (const value of zero ? [0, ...values] : values) {
    if (!drawable(value, log)) continue;
    low = Math.min(low, forth(value));
    high = Math.max(high, forth(value));
  }
  if (low > high) [low, high] = [0, 1];
  if (tooNarrow(back(low), back(high))) {
    const half = !log && Math.abs(low) > SMALLEST ? Math.abs(low) / 2 : 1 / (1 + log);
    [low, high] = [low - half, high + half];
  }
  const more = room * (high - low);
  return { low: back(zero && low === 0 ? 0 : low - more), high: back(zero && high === 0 ? 0 : high + more) };
}

/** Return a function from values of an axis to pixels; its property `value` is the inverse. */
function scale(axis, from, to) {
  const [forth, back] = transformOf(axis.log);
  const [low, high] = [forth(axis.low), forth(axis.high)];
  const at = (value) => from + ((forth(value) - low) / (high - low)) * (to - from);
  at.value = (pixel) => back(low + ((pixel - from) / (to - from)) * (high - low));
  return at;
}

const minus = (text) => text.replace("-", "−");
const raised = (power) => [...String(power)].map((own) => "⁰¹²³⁴⁵⁶⁷⁸⁹"[own] || "⁻").join("");

/** Format evenly spaced values with the same number of decimals. */
function evenTexts(values, step) {
  const most = Math.max(...values.map(Math.abs));
  const power = Math.floor(Math.log10(step) + 1e-9);
  if (most >= 1e6 || power < -5) {
    const largest = Math.floor(Math.log10(most) + 1e-9);
    const figures = Math.min(20, Math.max(0, largest - power));
    return values.map((own) => (own === 0 ? "0" : minus(`${(own / 10 ** largest).toFixed(figures)}×10${raised(largest)}`)));
  }
  const decimals = Math.max(0, -power);
  const format = { minimumFractionDigits: decimals, maximumFractionDigits: decimals };
  return values.map((own) => minus(own.toLocaleString("en-GB", format)));
}

/** Return at most `count` ticks, 1, 2 or 5 times a power of ten apart; integers only if `whole`. */
function evenTicks({ low, high, whole }, count) {
  const least = Math.max((high - low) / Math.max(1, count), whole ? 1 : 0);
  const power = 10 ** Math.floor(Math.log10(least));
  const step = power * [1, 2, 5, 10].find((own) => own * power >= 0.999 * least);
  const values = [];
  for (let k = Math.ceil(low / step - 1e-9); k <= high / step + 1e-9; k += 1) values.push(k * step + 0);
  const texts = evenTexts(values, step);
  return values.map((value, k) => ({ value, text: texts[k] }));
}

/** Return ticks at powers of ten or, on axes of less than two decades, at 1, 2 and 5 times these. */
function logTicks(axis, count) {
  const { low, high } = axis;
  const [first, last] = [Math.ceil(Math.log10(low) - 1e-9), Math.floor(Math.log10(high) + 1e-9)];
  const every = Math.ceil((last - first + 1) / Math.max(2, count));
  let parts = [];
  for (let power = first - 1; power <= last; power += 1) {
    parts.push(...[1, 2, 5].map((factor) => ({ factor, power, value: factor * 10 ** power })));
  }
  parts = parts.filter(({ value }) => value >= low * (1 - 1e-9) && value <= high * (1 + 1e-9));
  if (last - first >= 2) parts = parts.filter(({ factor, power }) => factor === 1 && power % every === 0);
  if (parts.length < 3) return evenTicks(axis, count).filter(({ value }) => value > 0);
  const plain = parts.every(({ power }) => power >= -3 && power <= 4);
  return parts.map(({ factor, power, value }) => {
    if (plain) return { value, text: value.toLocaleString("en-GB", { maximumSignificantDigits: 3 }) };
    return { value, text: `${factor === 1 ? "" : `${factor}×`}10${raised(power)}` };
  });
}

/** Return whether the labels of these ticks do not overlap along x. */
function separate(ticks, at) {
  const [places, halves] = [ticks.map(({ value }) => at(value)), ticks.map(({ text }) => textWidth(text) / 2)];
  return places.every((place, k) => k === 0 || place - halves[k] > places[k - 1] + halves[k - 1] + 8);
}

/** Return the ticks of a y axis of `length` pixels. */
function ticksUp(axis, length) {
  if (axis.ticks) {
    const every = Math.ceil((axis.ticks.length * 14) / length);
    return axis.ticks.filter((_, k) => k % every === 0);
  }
  const count = Math.max(5, length / 42);
  return axis.log ? logTicks(axis, count) : evenTicks(axis, count);
}

/** Return the ticks of an x axis, and whether their labels are rotated because names are long. */
function ticksAcross(axis, at) {
  const length = Math.abs(at(axis.high) - at(axis.low));
  if (!axis.ticks) {
    const make = axis.log ? logTicks : evenTicks;
    let [count, ticks] = [Math.max(4, length / 60), null];
    do {
      ticks = make(axis, count);
      count -= 1;
    } while (count > 1 && !separate(ticks, at));
    return { ticks: separate(ticks, at) ? ticks : [ticks[0], ticks.at(-1)], turned: false };
  }
  if (separate(axis.ticks, at)) return { ticks: axis.ticks, turned: false };
  if (axis.named && !axis.ticks.every(({ text }) => /^\d+$/.test(text))) {
    let last = -Infinity;
    const ticks = axis.ticks.filter(({ value }) => {
      const free = at(value) - last >= 14;
      if (free) last = at(value);
      return free;
    });
    return { ticks: ticks.map((own) => ({ ...own, text: fitted(own.text, 120) })), turned: true };
  }
  let [every, kept] = [1, axis.ticks];
  while (!separate(kept, at) && kept.length > 1) {
    every += 1;
    kept = axis.ticks.filter((_, k) => k % every === 0);
  }
  return { ticks: kept, turned: false };
}
