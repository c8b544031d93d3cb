// The scenario file that the settings stand for.

import { QUEUES, title } from "./settings.js";

/** Propagation delay of the bottleneck, in ms each way; the access links have the rest of the RTT. */
const BOTTLENECK_MS = 1;
/** The echoes of receivers whose controller wants another than RFC 3168 (section 6.1.3), which repeats it until CWR. */
const ECHOES = {
  // Each mark once (Hamann 1999, section 3.1).
  "new-ecn": "once-per-ce",
  // The marks of each packet (RFC 8257 section 3.2).
  dctcp: "dctcp",
};
/** Flows start one after the other. */
const STEP_S = 0.5;

/** The scenario's TOML. */
export function toToml(settings) {
  return [
    "schema = 1",
    'name = "playground"',
    `description = "${title(settings)}"`,
    `duration = "${settings.duration}s"`,
    "# The mean rates and the fairness index are of the time from here on.",
    `steady_from = "${decimal(settings.duration / 6)}s"`,
    `seed = ${settings.seed}`,
    "",
    "flows = [",
    ...flowLines(settings),
    "]",
    "",
    "[defaults]",
    ...tcpLines(settings),
    "",
    "[dumbbell.bottleneck]",
    `rate = "${settings.rate}Mbit/s"`,
    `delay = "${BOTTLENECK_MS}ms"`,
    'queue = "bottleneck"',
    'back = { queue = "droptail" }',
    "",
    "[dumbbell]",
    "# Each way: half of the round-trip time, without the bottleneck's share.",
    "access = [",
    ...settings.flows.map(({ rtt }) => `  { delay = "${decimal(rtt / 2 - BOTTLENECK_MS)}ms" },`),
    "]",
    "",
    "[queues.bottleneck]",
    ...queueLines(settings),
    "",
  ].join("\n");
}

/** Names of the flows in results: controller and RTT, with a number where that is not unique. */
export function flowNames(flows) {
  const names = flows.map(({ controller, rtt }) => `${controller}-${rtt}ms`);
  const seen = new Map();
  return names.map((name) => {
    const count = (seen.get(name) ?? 0) + 1;
    seen.set(name, count);
    return names.indexOf(name) === names.lastIndexOf(name) ? name : `${name}-${count}`;
  });
}

function flowLines(settings) {
  const { flows } = settings;
  const names = flowNames(flows);
  return flows.map((flow, index) => {
    const keys = [`name = "${names[index]}"`, `from = "s${index + 1}"`];
    if (index > 0) keys.push(`start = "${decimal(index * STEP_S)}s"`);
    if (!alike(flows)) keys.push(...controllerKeys(flow, settings));
    return `  { ${keys.join(", ")} },`;
  });
}

function alike(flows) {
  return flows.every(({ controller }) => controller === flows[0].controller);
}

function controllerKeys({ controller }, settings) {
  const keys = [`controller = "${controller}"`];
  if (!settings.ecn) return keys;
  // Prague needs the counts of AccECN (RFC 9768).
  if (controller === "prague") return [...keys, "accecn = true"];
  const without = hasLowLatency(settings) && controller !== "dctcp";
  keys.push(without ? "ecn = false" : `receiver = { echo = "${ECHOES[controller] ?? "until-cwr"}" }`);
  return keys;
}

/** Whether DualPI2 has a queue for flows of DCTCP. The others then do without ECN, so that they wait in its other one. */
function hasLowLatency({ queue, ecn, flows }) {
  return queue === "dualpi2" && ecn && flows.some(({ controller }) => controller === "dctcp");
}

function tcpLines(settings) {
  const { flows, profile, ecn } = settings;
  const lines = [`profile = "${profile}"`, `ecn = ${ecn}`];
  if (alike(flows)) lines.push(...controllerKeys(flows[0], settings));
  if (profile === "ns2-reno") {
    lines.push("# 512 bytes on the wire, 40 of them headers.", "mss = 472");
    lines.push('window_limit = "128 segments"', 'initial_ssthresh = "128 segments"');
  }
  return lines;
}

function queueLines(settings) {
  const { queue, profile, ...values } = settings;
  const lines = [`kind = "${queue}"`];
  const keys = {
    min: `min = "${values.min} packets"`,
    // RED refuses thresholds that are not in order.
    max: `max = "${Math.max(values.max, values.min + 1)} packets"`,
    pMax: `p_max = ${decimal(values.pMax)}`,
    target: `target = "${values.target}ms"`,
    limit: `limit = "${values.limit} packets"`,
  };
  lines.push(...QUEUES[queue].numbers.map((name) => keys[name]));
  // RED of 1999 drops all packets above the upper threshold.
  if (queue === "red") lines.push(`gentle = ${profile !== "ns2-reno"}`);
  // DCTCP sends ECT(0), not the ECT(1) of L4S (RFC 9331 section 4.1).
  if (hasLowLatency(settings)) lines.push("# DCTCP's ECT(0) counts as ECT(1).", 'low_latency = "any-ect"');
  if (!values.ecn && (queue === "codel" || queue === "fq-codel")) lines.push("ecn = false");
  return lines;
}

/** A number without the digits that binary fractions add. */
function decimal(number) {
  return String(Number(number.toPrecision(6)));
}
