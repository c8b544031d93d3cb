// Tables of the figures that applications have: transfers, pages, video, real-time media.

import { element } from "./controls.js";

/** The kinds of figures: where they stand in a summary, their headings, and the cells of one of them. */
const TABLES = [
  {
    rows: ({ flows }) => flows.filter(({ completions }) => completions?.all),
    headings: ["Transfers", "Done", "Mean ms", "99 % ms", "Slowdown"],
    cells: ({ completions: { completed, all } }) => [
      completed,
      figure(all.completion_ms?.mean),
      figure(all.completion_ms?.p99),
      figure(all.slowdown?.mean),
    ],
  },
  {
    rows: ({ flows }) => flows.filter(({ pages }) => pages),
    headings: ["Pages", "Loaded", "Mean ms", "95 % ms"],
    cells: ({ pages }) => [pages.completed, figure(pages.load_ms?.mean), figure(pages.load_ms?.p95)],
  },
  {
    rows: ({ flows }) => flows.filter(({ video }) => video),
    headings: ["Video", "Mbit/s", "Starts s", "Stalled s"],
    cells: ({ video }) => [figure(video.mean_mbit_per_s), figure(video.startup_s), figure(video.rebuffering_s)],
  },
  {
    rows: ({ udp }) => udp.filter(({ media }) => media),
    headings: ["Media", "Missed %", "Mean ms", "99 % ms"],
    cells: ({ media }) => [
      figure(media.miss_ratio === null ? null : media.miss_ratio * 100),
      figure(media.frame_delay_ms?.mean),
      figure(media.frame_delay_ms?.p99),
    ],
  },
];

/** A table for each kind of figures that the summary has. */
export function applicationTables(summary) {
  return TABLES.map((kind) => ({ ...kind, rows: kind.rows(summary) }))
    .filter(({ rows }) => rows.length > 0)
    .map(table);
}

function table({ rows, headings, cells }) {
  const whole = element("table");
  const head = whole.createTHead().insertRow();
  headings.forEach((name) => head.append(element("th", { scope: "col", textContent: name })));
  const body = whole.createTBody();
  rows.forEach((entry) => {
    const row = body.insertRow();
    row.append(element("th", { scope: "row", textContent: entry.name }));
    cells(entry).forEach((value) => (row.insertCell().textContent = value));
  });
  return whole;
}

/** A figure with about three digits. */
function figure(value) {
  if (value === null || value === undefined) return "–";
  return value < 99.95 ? value.toPrecision(3) : value.toFixed(0);
}
