// The settings of the sliders: names, ranges, defaults, presets, and their form in a link.

/** Controllers by the names of scenario files. */
export const CONTROLLERS = {
  "new-ecn": "New-ECN",
  cubic: "CUBIC",
  bbr: "BBR, version 1",
  bbr3: "BBR, version 3",
  dctcp: "DCTCP",
  prague: "Prague",
  newreno: "NewReno",
  reno: "Reno",
  tahoe: "Tahoe",
  vegas: "Vegas",
};

/** Queue disciplines, each with the numbers that it takes. */
export const QUEUES = {
  droptail: { label: "DropTail", numbers: ["limit"] },
  red: { label: "RED", numbers: ["min", "max", "pMax", "limit"] },
  "adaptive-red": { label: "Adaptive RED", numbers: ["min", "max", "limit"] },
  codel: { label: "CoDel", numbers: ["target", "limit"] },
  "fq-codel": { label: "FQ-CoDel", numbers: ["target", "limit"] },
  pie: { label: "PIE", numbers: ["target", "limit"] },
  dualpi2: { label: "DualPI2", numbers: ["target", "limit"] },
};

/** Ages of the TCP stack. */
export const PROFILES = {
  "ns2-reno": "1999, as in ns-2",
  rfc5681: "RFC 5681",
  linux: "current Linux",
};

/** Numbers: label, unit, range; `whole` ones have no fraction. Sliders move by factors, not by steps. */
export const NUMBERS = {
  rate: { label: "Rate of the link", unit: "Mbit/s", least: 0.5, most: 100 },
  duration: { label: "Duration", unit: "s", least: 5, most: 300, whole: true },
  seed: { label: "Seed", unit: "", least: 1, most: 1000, whole: true },
  limit: { label: "Limit", unit: "packets", least: 2, most: 2000, whole: true },
  min: { label: "Lower threshold", unit: "packets", least: 1, most: 500, whole: true },
  max: { label: "Upper threshold", unit: "packets", least: 2, most: 1000, whole: true },
  pMax: { label: "Probability at the upper threshold", unit: "", least: 0.01, most: 1 },
  target: { label: "Target delay", unit: "ms", least: 1, most: 100 },
  rtt: { label: "Round-trip time", unit: "ms", least: 3, most: 500, whole: true },
};

export const MOST_FLOWS = 8;
/** Round-trip times of flows that are added. */
const MORE_RTTS = [190, 70, 30, 4, 120, 50, 15, 8];

const DEFAULTS = {
  profile: "ns2-reno",
  flows: [190, 70, 30, 4].map((rtt) => ({ controller: "new-ecn", rtt })),
  rate: 10,
  queue: "red",
  min: 10,
  max: 20,
  pMax: 0.1,
  limit: 500,
  target: 5,
  ecn: true,
  duration: 60,
  seed: 1,
  // Settings of the second run; null where it is as in the first.
  versus: { controller: "reno", queue: null, ecn: null },
};

const both = (controller) => [80, 20].map((rtt) => ({ controller, rtt }));

/**
 * The examples: a button's label, a sentence, and settings, or the names of two files in place of them. Those with
 * a `question` stand for a paper.
 */
export const PRESETS = {
  "new-ecn": {
    label: "New-ECN, Reno",
    question: "Can flows with short and long round trips share a link equally?",
    about:
      "Four flows with round-trip times of 190 to 4 ms share 10 Mbit/s. With New-ECN each gets a quarter; " +
      "with Reno the nearest one gets most.",
    settings: {},
  },
  bufferbloat: {
    label: "Bufferbloat",
    about:
      "Two downloads share 10 Mbit/s. CUBIC fills whatever buffer there is, here 500 packets, and every packet then " +
      "waits behind those: the round trip grows from 80 to over 500 ms. With CoDel, the second run, the queue stays " +
      "near 5 ms, and the link is as full.",
    settings: {
      profile: "linux",
      flows: both("cubic"),
      queue: "droptail",
      ecn: false,
      duration: 30,
      versus: { controller: null, queue: "codel", ecn: null },
    },
  },
  codel: {
    label: "CoDel and ECN",
    about: "CoDel signals by marks where ECN is on, and by drops where it is off: the delay is alike, the losses are not.",
    settings: {
      profile: "linux",
      flows: both("cubic"),
      rate: 20,
      queue: "codel",
      limit: 1000,
      duration: 30,
      versus: { controller: null, queue: null, ecn: false },
    },
  },
  rtt: {
    label: "FQ-CoDel",
    about: "One queue for all flows favours short round trips. FQ-CoDel has a queue for each flow and shares equally.",
    settings: {
      profile: "linux",
      flows: [150, 40, 10].map((rtt) => ({ controller: "cubic", rtt })),
      rate: 20,
      queue: "codel",
      limit: 1000,
      duration: 30,
      versus: { controller: null, queue: "fq-codel", ecn: null },
    },
  },
  mixed: {
    label: "Vegas, Reno",
    about:
      "Vegas gives way when the queue grows, and Reno fills the queue. In the second run all flows are Vegas.",
    settings: {
      profile: "rfc5681",
      flows: ["vegas", "reno", "vegas", "reno"].map((controller) => ({ controller, rtt: 40 })),
      queue: "droptail",
      limit: 60,
      ecn: false,
      duration: 30,
      versus: { controller: "vegas", queue: null, ecn: null },
    },
  },
  "ecn-proxy": {
    label: "ECN proxy",
    question: "Can a router give ECN to hosts that do not ask for it?",
    about:
      "Three uploads of hosts without ECN meet a RED queue, which drops their packets. In the second run a proxy on " +
      "the router speaks ECN for them: the queue marks instead, and nothing is lost.",
    files: ["course/without-proxy.toml", "course/with-proxy.toml"],
  },
  "split-ack": {
    label: "Split ACKs",
    question: "Does a server's window grow with ACKs or with acknowledged bytes?",
    about:
      "The client acknowledges each segment in four parts. A server that counts ACKs (RFC 2581) takes them for four " +
      "times the success, and its window explodes; one that counts bytes (RFC 3465), the second run, does not notice.",
    files: ["course/counts-acks.toml", "course/counts-bytes.toml"],
  },
  tou: {
    label: "TCP over UDP",
    question: "Does TCP inside UDP keep TCP's window?",
    about:
      "ToU runs this engine over UDP. On a path that loses one packet in a hundred, Reno's window stays near ten " +
      "segments, as Lee 2009 saw with TCP and with ToU. The second run is CUBIC, ToU's own default.",
    files: ["course/lossy-reno.toml", "course/lossy-cubic.toml"],
  },
  dctcp: {
    label: "DCTCP",
    about:
      "Two flows in a data centre share 1 Gbit/s, with a round trip of 100 µs. The switch marks every packet beyond 20 " +
      "that wait, and DCTCP slows down by the share of marked packets: the queue stays short and the link full. In " +
      "the second run CUBIC fills the switch's buffer of 100 packets.",
    files: ["examples/dctcp_gigabit.toml", "examples/cubic_gigabit.toml"],
  },
  l4s: {
    label: "L4S",
    about:
      "A flow of Prague and one of CUBIC share 50 Mbit/s behind DualPI2. Prague's packets wait in a queue of their own, " +
      "which marks them after a millisecond; CUBIC's wait for some 15 ms. In the second run both are CUBIC, and wait.",
    settings: {
      profile: "linux",
      flows: ["prague", "cubic"].map((controller) => ({ controller, rtt: 20 })),
      rate: 50,
      queue: "dualpi2",
      limit: 1000,
      target: 15,
      duration: 30,
      versus: { controller: "cubic", queue: null, ecn: null },
    },
  },
  home: {
    label: "Home router",
    about:
      "A television plays video; from 20 s on a phone uploads photos through the same router. The requests of the " +
      "video wait behind the upload, for 400 ms, and it takes a lower bitrate. In the second run FQ-CoDel has a " +
      "queue for each flow.",
    files: ["ready/home-droptail.toml", "ready/home-fq-codel.toml"],
  },
  rivals: {
    label: "CUBIC, BBR",
    about:
      "A transfer of 20 MB by CUBIC beside one of 30 MB, over 20 Mbit/s and 80 ms: a test of C4's authors, with CUBIC " +
      "in C4's place. The other one is of CUBIC, in the second run of BBR version 3.",
    files: ["c4/cubic-long.toml", "c4/bbr-long.toml"],
  },
  changes: {
    label: "Rates that change",
    about:
      "A transfer of 7 MB over a link that has 5 Mbit/s and then 10, and in the second run 10 Mbit/s, 5 for two seconds, " +
      "and 10 again. How soon does the window follow?",
    files: ["c4/low-and-up.toml", "c4/drop-and-back.toml"],
  },
};

/** The settings of a preset, a copy of one's own. */
export function preset(name) {
  return structuredClone({ ...DEFAULTS, ...PRESETS[name].settings });
}

/** The preset that settings are, whatever their seed; `undefined` if they are none. */
export function presetOf(settings) {
  const same = (name) => toParameters(preset(name)) === toParameters({ ...settings, seed: DEFAULTS.seed });
  return Object.keys(PRESETS).find((name) => PRESETS[name].settings && same(name));
}

/** The settings of the second run as if they were of the first; null without a second run. */
export function second(settings) {
  if (!settings.versus) return null;
  const { controller, queue, ecn } = settings.versus;
  const flows = settings.flows.map((flow) => ({ ...flow, controller: controller ?? flow.controller }));
  return { ...settings, flows, queue: queue ?? settings.queue, ecn: ecn ?? settings.ecn, versus: null };
}

/** Changes the number of flows; new ones have the controller of the last. */
export function resize(flows, count) {
  const kept = flows.slice(0, count);
  while (kept.length < count) {
    const controller = flows.at(-1)?.controller ?? "new-ecn";
    kept.push({ controller, rtt: MORE_RTTS[kept.length] });
  }
  return kept;
}

/** A number within its range; its default if it is none. */
export function clamp(name, value) {
  const { least, most, whole } = NUMBERS[name];
  const number = Math.min(most, Math.max(least, value));
  return whole ? Math.round(number) : number;
}

/** A name for a run: what its flows and its queue are. */
export function title(settings) {
  const controllers = [...new Set(settings.flows.map((flow) => CONTROLLERS[flow.controller]))];
  const ecn = settings.ecn ? "ECN" : "no ECN";
  return `${controllers.join(" and ")}, ${QUEUES[settings.queue].label}, ${ecn}`;
}

/** The settings as the parameters of a link, all of them. */
export function toParameters(settings) {
  const flows = settings.flows.map(({ controller, rtt }) => `${controller}:${rtt}`);
  const parameters = new URLSearchParams({ flows: flows.join(","), profile: settings.profile });
  parameters.set("queue", settings.queue);
  parameters.set("ecn", settings.ecn ? "on" : "off");
  for (const name of ["rate", "duration", "seed", ...QUEUES_NUMBERS]) parameters.set(name, settings[name]);
  const { versus } = settings;
  parameters.set("versus", versus ? "on" : "off");
  if (versus?.controller) parameters.set("versus-controller", versus.controller);
  if (versus?.queue) parameters.set("versus-queue", versus.queue);
  if (versus && versus.ecn !== null) parameters.set("versus-ecn", versus.ecn ? "on" : "off");
  return parameters.toString().replaceAll("%3A", ":").replaceAll("%2C", ",");
}

const QUEUES_NUMBERS = ["min", "max", "pMax", "limit", "target"];

/**
 * The settings of a link's parameters. A parameter that is missing has its default, and one that cannot
 * be used is named in `problems`.
 */
export function fromParameters(parameters) {
  const problems = [];
  const settings = structuredClone(DEFAULTS);
  const reader = new Reader(parameters, problems);
  if (parameters.has("preset")) {
    const name = reader.choice("preset", PRESETS, null);
    if (name && PRESETS[name].settings) Object.assign(settings, preset(name));
  }
  settings.profile = reader.choice("profile", PROFILES, settings.profile);
  settings.queue = reader.choice("queue", QUEUES, settings.queue);
  settings.ecn = reader.flag("ecn", settings.ecn);
  for (const name of ["rate", "duration", "seed", ...QUEUES_NUMBERS]) {
    settings[name] = reader.number(name, settings[name]);
  }
  settings.flows = reader.flows(settings.flows);
  const versus = settings.versus ?? { controller: null, queue: null, ecn: null };
  settings.versus = reader.flag("versus", true)
    ? {
        controller: reader.choice("versus-controller", CONTROLLERS, reader.own ? null : versus.controller),
        queue: reader.choice("versus-queue", QUEUES, reader.own ? null : versus.queue),
        ecn: reader.flag("versus-ecn", reader.own ? null : versus.ecn),
      }
    : null;
  return { settings, problems };
}

/** Reads parameters one by one, and notes those that cannot be used. */
class Reader {
  constructor(parameters, problems) {
    this.parameters = parameters;
    this.problems = problems;
    // A link that says what differs in the second run says all of it.
    this.own = parameters.has("versus");
  }

  refuse(name, expected) {
    this.problems.push(`${name}=${this.parameters.get(name)}: expected ${expected}`);
  }

  choice(name, choices, otherwise) {
    const value = this.parameters.get(name);
    if (value === null) return otherwise;
    if (Object.hasOwn(choices, value)) return value;
    this.refuse(name, `one of ${Object.keys(choices).join(", ")}`);
    return otherwise;
  }

  flag(name, otherwise) {
    const value = this.choice(name, { on: true, off: true }, null);
    return value === null ? otherwise : value === "on";
  }

  number(name, otherwise) {
    const text = this.parameters.get(name);
    if (text === null) return otherwise;
    const { least, most } = NUMBERS[name];
    const value = text.trim() === "" ? Number.NaN : Number(text);
    if (value >= least && value <= most) return clamp(name, value);
    this.refuse(name, `a number from ${least} to ${most}`);
    return otherwise;
  }

  flows(otherwise) {
    const text = this.parameters.get("flows");
    if (text === null) return otherwise;
    const flows = text.split(",").map((entry) => {
      const [controller, rtt] = entry.split(":");
      return { controller, rtt: Number(rtt) };
    });
    const { least, most } = NUMBERS.rtt;
    const good = ({ controller, rtt }) => Object.hasOwn(CONTROLLERS, controller) && rtt >= least && rtt <= most;
    if (flows.length <= MOST_FLOWS && flows.every(good)) return flows;
    this.refuse("flows", `1 to ${MOST_FLOWS} of CONTROLLER:RTT with ${least} to ${most} ms, separated by commas`);
    return otherwise;
  }
}
