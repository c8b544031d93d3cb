// One run's results: figures, plots and a table of its flows.

import { applicationTables } from "./applications.js";
import { element } from "./controls.js";
import { CONTROLLERS } from "./settings.js";
import { KINDS, Plot } from "./plots.js";

/** The section of a run; `kinds` are its plots, all of them if it is `undefined`. */
export class Results {
  constructor(index, kinds) {
    this.section = element("section", { className: "run" });
    this.heading = element("h2", { id: `run-${index}` });
    this.section.setAttribute("aria-labelledby", this.heading.id);
    this.figures = element("dl", { className: "figures" });
    this.table = element("div", { className: "scroll", tabIndex: 0 });
    this.table.setAttribute("role", "region");
    const shown = Object.keys(KINDS).filter((kind) => !kinds || kinds.includes(kind));
    this.plots = shown.map((kind) => new Plot(kind, index === 0 ? "first run" : "second run"));
    this.section.append(this.heading, this.figures, this.table, ...this.plots.map((plot) => plot.figure));
  }

  /** Shows an outcome; `tops` are the ends of the plots' scales, by kind. */
  show(title, outcome, tops) {
    this.heading.textContent = title;
    this.figures.replaceChildren(...figures(outcome).flatMap(([term, value, note]) => figure(term, value, note)));
    this.plots.forEach((plot) => plot.replace(outcome, tops[plot.kind]));
    this.table.setAttribute("aria-label", `Flows, ${title}`);
    this.table.replaceChildren(table(outcome), ...applicationTables(outcome.summary));
  }

  redraw() {
    this.plots.forEach((plot) => plot.redraw());
  }

  destroy() {
    this.plots.forEach((plot) => plot.destroy());
  }
}

/** The acknowledged payload of a flow in Mbit/s, from the start of the steady window. */
function rate(outcome, index) {
  return (outcome.summary.flows[index].packets_per_s.steady * outcome.flows[index].mss_bytes * 8) / 1e6;
}

function figures(outcome) {
  const { summary } = outcome;
  const total = outcome.flows.reduce((sum, _, index) => sum + rate(outcome, index), 0);
  return [
    ["Fairness", fixed(summary.fairness_index.steady, 3), "Jain's index, 1: equal"],
    ["Payload", fixed(total, 2), "Mbit/s, all flows"],
    ["Queue", fixed(summary.mean_queue_packets.steady, 1), `packets, mean; ${short(wait(summary))} ms wait`],
    ["Drops", summary.drops, dropsNote(summary)],
  ];
}

/** The mean time in the bottleneck's queue in ms: packets by packets per second (Little's law). */
function wait({ mean_queue_packets: mean, queues: [{ sent }], duration_s: duration }) {
  return sent > 0 ? (1000 * mean.steady * duration) / sent : null;
}

function dropsNote({ policed }) {
  return policed === undefined ? "at the bottleneck" : `at the bottleneck; ${policed} policed before it`;
}

function figure(term, value, note) {
  const box = element("div");
  const description = element("dd", { textContent: value });
  description.append(element("small", { textContent: note }));
  box.append(element("dt", { textContent: term }), description);
  return box;
}

// RTT in ms and cwnd in packets, both as means.
const COLUMNS = ["Flow", "Mbit/s", "RTT", "cwnd", "Marks", "Drops"];

function table(outcome) {
  const whole = element("table");
  const head = whole.createTHead().insertRow();
  COLUMNS.forEach((name) => head.append(element("th", { scope: "col", textContent: name })));
  const body = whole.createTBody();
  outcome.summary.flows.forEach((flow, index) => {
    const row = body.insertRow();
    const name = element("th", { scope: "row" });
    const swatch = element("span", { className: "swatch" });
    swatch.style.background = `var(--flow-${index % 8})`;
    name.append(swatch, label(flow));
    row.append(name);
    const cells = [
      fixed(rate(outcome, index), 2),
      short(flow.srtt_ms.time_mean),
      fixed(flow.cwnd_packets.time_mean_steady, 1),
      flow.marks,
      flow.drops,
    ];
    cells.forEach((value) => (row.insertCell().textContent = value));
  });
  return whole;
}

/** A flow's name; of those that the sliders make, controller and RTT as people write them. */
function label({ name, controller, rtt_min_ms: rtt }) {
  const own = name.startsWith(`${controller}-${Math.round(rtt)}ms`);
  return own ? `${CONTROLLERS[controller] ?? controller}, ${Math.round(rtt)} ms` : name;
}

/** A number as a whole one, or with two digits where it is small: delays in a data centre are parts of a millisecond. */
function short(value) {
  if (value === null || value === undefined) return "–";
  return value < 9.95 && value > 0 ? value.toPrecision(2) : value.toFixed(0);
}

function fixed(value, digits) {
  return value === null || value === undefined ? "–" : value.toFixed(digits);
}
