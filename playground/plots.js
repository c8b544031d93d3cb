// The plots: rates, windows, delays and queues over time, with one time axis and one cursor.

import uPlot from "./uPlot.esm.js";

const MOST_COLOURS = 8;
const HEIGHT = 210;
const PLAY_MS = 10_000;

/** The kinds of plots: title, axis, and the lines that an outcome has for each. */
export const KINDS = {
  rates: { title: "Rate of each flow", axis: "Mbit/s of payload", lines: rateLines },
  windows: { title: "Congestion window", axis: "packets", lines: windowLines },
  delay: { title: "Round-trip time", axis: "ms", lines: delayLines },
  queue: { title: "Queue at the bottleneck", axis: "packets", lines: queueLines },
};

function rateLines(outcome) {
  const width = outcome.summary.duration_s / (outcome.flows[0]?.rate_mbit_per_s.length ?? 1);
  return outcome.flows.map(({ name, rate_mbit_per_s: rates }, index) => ({
    name,
    colour: index,
    // Each mean stands in the middle of its span.
    time: rates.map((_, span) => (span + 0.5) * width),
    value: rates,
  }));
}

function windowLines(outcome) {
  return stepLines(outcome, "cwnd_packets");
}

function delayLines(outcome) {
  return stepLines(outcome, "rtt_ms");
}

/** A line for each flow, of values that hold until the next. */
function stepLines(outcome, key) {
  return outcome.flows.map(({ name, [key]: curve }, index) => ({
    name,
    colour: index,
    steps: true,
    time: curve.time_s,
    value: curve.value,
  }));
}

function queueLines(outcome) {
  const [bottleneck] = outcome.queues;
  const { packets, average_packets: average } = bottleneck;
  const lines = [{ name: "waiting", colour: "quiet", steps: true, time: packets.time_s, value: packets.value }];
  if (average.value.length > 0) {
    lines.push({ name: "average of RED", colour: "ink", steps: true, time: average.time_s, value: average.value });
  }
  return lines;
}

/** The colour of a flow, or of "quiet" or "ink", in the page's current scheme. */
function colour(name) {
  const probe = document.createElement("span");
  probe.style.color = `var(--${typeof name === "number" ? `flow-${name % MOST_COLOURS}` : name})`;
  document.body.append(probe);
  const found = getComputedStyle(probe).color;
  probe.remove();
  return found;
}

/** The greatest value of the lines, for one scale of the plots of two runs. */
export function greatest(kind, outcomes) {
  let top = 0;
  for (const line of outcomes.flatMap((outcome) => KINDS[kind].lines(outcome))) {
    for (const value of line.value) if (value > top) top = value;
  }
  return top;
}

/** One plot in a `figure` of its own, which `replace` fills. */
export class Plot {
  #chart;
  #shown;

  constructor(kind, description) {
    this.kind = kind;
    this.description = description;
    this.figure = document.createElement("figure");
    this.caption = document.createElement("figcaption");
    this.canvas = document.createElement("div");
    this.canvas.className = "canvas";
    // For the keyboard a plot is a slider over time, which reads out the values.
    this.canvas.tabIndex = 0;
    this.canvas.setAttribute("role", "slider");
    this.canvas.setAttribute("aria-valuemin", "0");
    this.canvas.addEventListener("keydown", (event) => this.#key(event));
    this.readout = document.createElement("p");
    this.readout.className = "readout";
    this.figure.append(this.caption, this.canvas, this.readout);
    new ResizeObserver(() => this.#resize()).observe(this.canvas);
  }

  /** Shows an outcome, with values up to `top`. */
  replace(outcome, top) {
    this.#shown = { outcome, top };
    this.redraw();
  }

  /** Draws again, as after a change of colours. */
  redraw() {
    if (!this.#shown) return;
    const { outcome, top } = this.#shown;
    const { title, axis, lines } = KINDS[this.kind];
    this.lines = lines(outcome);
    this.caption.textContent = `${title}, ${axis}`;
    this.canvas.setAttribute("aria-valuemax", String(outcome.summary.duration_s));
    this.canvas.setAttribute("aria-label", `${title} in ${axis}, ${this.description}: ${spoken(this.lines)}`);
    this.data = uPlot.join(this.lines.map(({ time, value }) => [time, value]));
    this.#chart?.destroy();
    this.#chart = new uPlot(this.#options(outcome.summary.duration_s, top), this.data, this.canvas);
    this.#say(null);
  }

  #options(duration, top) {
    const ink = colour("quiet-ink");
    const grid = { stroke: colour("grid"), width: 1 };
    const axis = { stroke: ink, grid, ticks: grid, font: "12px system-ui, sans-serif" };
    return {
      width: Math.max(this.canvas.clientWidth, 200),
      height: HEIGHT,
      legend: { show: false },
      cursor: { sync: { key: "time" }, drag: { x: true, y: false }, points: { show: false } },
      scales: { x: { time: false, range: (_, from, to) => this.#span(from, to, duration) }, y: { range: [0, top * 1.05 || 1] } },
      axes: [
        { ...axis, size: 34, values: (_, ticks) => ticks.map((tick) => `${tick} s`) },
        { ...axis, size: 46 },
      ],
      series: [{}, ...this.lines.map(series)],
      hooks: { setCursor: [(chart) => this.#say(chart.cursor.idx)] },
    };
  }

  /** The time axis: all of the run, unless someone has zoomed in by dragging. */
  #span(from, to, duration) {
    const [times] = this.data;
    const zoomed = from > times[0] || to < times.at(-1);
    return zoomed ? [from, to] : [0, duration];
  }

  /** The values at the cursor, in words below the plot. */
  #say(index) {
    if (index === null || index === undefined) {
      const twoLines = this.kind === "queue" && this.lines.length > 1;
      this.readout.textContent = twoLines ? "grey: waiting; bold: average of RED" : "";
      this.canvas.setAttribute("aria-valuenow", "0");
      this.canvas.setAttribute("aria-valuetext", "arrow keys read out values");
      return;
    }
    const values = this.lines.map(({ name }, number) => `${name} ${short(before(this.data[number + 1], index))}`);
    // A hundredth of a second, or in short runs less than a pixel.
    const time = this.data[0][index].toFixed(this.#shown.outcome.summary.duration_s < 5 ? 4 : 2);
    this.readout.textContent = `${time} s: ${values.join(", ")}`;
    this.canvas.setAttribute("aria-valuenow", time);
    this.canvas.setAttribute("aria-valuetext", this.readout.textContent);
  }

  /** Moves the cursor by a fiftieth of the time. */
  #key(event) {
    const steps = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1, PageDown: -5, PageUp: 5, Home: -50, End: 50 };
    const step = steps[event.key];
    if (!step || !this.#chart) return;
    event.preventDefault();
    const { width, height } = this.#chart.over.getBoundingClientRect();
    const left = Math.max(this.#chart.cursor.left, 0) + (step * width) / 50;
    this.#chart.setCursor({ left: Math.min(Math.max(left, 0), width - 1), top: height / 2 });
  }

  #resize() {
    if (this.#chart && this.canvas.clientWidth > 0 && this.canvas.clientWidth !== this.#chart.width) {
      this.#chart.setSize({ width: this.canvas.clientWidth, height: HEIGHT });
    }
  }

  /** Shows the data up to a part of the time, from 0 to 1. */
  showUntil(part) {
    if (!this.#chart) return;
    const until = part * this.#shown.outcome.summary.duration_s;
    const [times] = this.data;
    const end = part >= 1 ? times.length : times.findIndex((time) => time > until);
    const length = end === -1 ? times.length : end;
    this.#chart.setData(this.data.map((column) => column.slice(0, length)), false);
    this.#chart.redraw();
  }

  destroy() {
    this.#chart?.destroy();
    this.#chart = undefined;
    this.#shown = undefined;
  }
}

function series({ colour: name, steps }) {
  return {
    stroke: colour(name),
    width: name === "ink" ? 2 : 1.5,
    spanGaps: true,
    points: { show: false },
    paths: steps ? uPlot.paths.stepped({ align: 1 }) : undefined,
  };
}

/** The last value that is known at an index. */
function before(values, index) {
  for (let at = index; at >= 0; at--) if (values[at] !== null && values[at] !== undefined) return values[at];
  return null;
}

function short(value) {
  if (value === null) return "–";
  return value < 1000 ? value.toPrecision(3).replace(/\.0+$/, "") : value.toFixed(0);
}

/** The lines in words, each with its greatest value, for those who hear the page. */
function spoken(lines) {
  return lines
    .map(({ name, value }) => `${name} up to ${short(value.reduce((a, b) => Math.max(a, b), 0))}`)
    .join("; ");
}

/** Shows plots from their beginning to their end; `done` is called there, and by the function returned, which stops. */
export function play(plots, done) {
  const begun = performance.now();
  let frame;
  const stop = () => {
    cancelAnimationFrame(frame);
    plots.forEach((plot) => plot.showUntil(1));
    done();
  };
  const step = (now) => {
    const part = (now - begun) / PLAY_MS;
    if (part >= 1) return stop();
    plots.forEach((plot) => plot.showUntil(Math.max(part, 0)));
    frame = requestAnimationFrame(step);
  };
  frame = requestAnimationFrame(step);
  return stop;
}
