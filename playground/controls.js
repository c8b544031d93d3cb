// The form: sliders and choices for the settings.

import { CONTROLLERS, MOST_FLOWS, NUMBERS, PROFILES, QUEUES, clamp, resize } from "./settings.js";

const SLIDER_STEPS = 200;

/** The form's fields. `changed` is called with the settings after each change by the user. */
export class Controls {
  constructor(form, changed) {
    // On a small screen the groups would hide the plots.
    this.open = !matchMedia("(max-width: 760px)").matches;
    this.shown = new Map();
    this.form = form;
    this.changed = changed;
    form.addEventListener("submit", (event) => event.preventDefault());
  }

  /** Shows settings; the form changes this object from then on. */
  show(settings, enabled) {
    this.settings = settings;
    const focused = this.form.contains(document.activeElement) ? document.activeElement.id : null;
    const all = element("fieldset", { className: "all", disabled: !enabled });
    all.append(element("legend", { className: "hidden", textContent: "Settings" }));
    all.append(this.#flows(), this.#link(), this.#queue(), this.#versus());
    const note = "These sliders rest: the scenario is the text below.";
    this.form.replaceChildren(...(enabled ? [] : [element("p", { textContent: note })]), all);
    if (focused) document.getElementById(focused)?.focus();
  }

  /** A change that also changes which fields there are. */
  #rebuild() {
    this.show(this.settings, true);
    this.changed(this.settings);
  }

  #flows() {
    const { settings } = this;
    const group = this.#group("Flows");
    const count = number("flows", { label: "Number of flows", unit: "", least: 1, most: MOST_FLOWS, whole: true });
    const rows = element("ol", { className: "flows" });
    const fill = () => rows.replaceChildren(...settings.flows.map((flow, index) => this.#flow(flow, index)));
    // The rows alone, as the slider must stay while it is dragged.
    const resized = (value) => {
      settings.flows = resize(settings.flows, value);
      fill();
      this.changed(settings);
    };
    group.append(count.field(settings.flows.length, resized));
    const kinds = new Set(settings.flows.map((flow) => flow.controller));
    const mixed = kinds.size > 1 ? { "": "mixed" } : {};
    group.append(
      choice("controllers", "Controller of all", { ...mixed, ...CONTROLLERS }, mixed[""] ? "" : [...kinds][0], (value) => {
        if (value) settings.flows.forEach((flow) => (flow.controller = value));
        this.#rebuild();
      }),
    );
    fill();
    group.append(rows);
    return group;
  }

  #flow(flow, index) {
    const row = element("li");
    const name = `Flow ${index + 1}`;
    row.append(element("span", { textContent: name }));
    row.style.setProperty("--mark", `var(--flow-${index})`);
    const select = choice(`controller-${index}`, `${name}: controller`, CONTROLLERS, flow.controller, (value) => {
      flow.controller = value;
      this.#rebuild();
    });
    const rtt = number(`rtt-${index}`, { ...NUMBERS.rtt, label: `${name}: round-trip time` });
    row.append(select, rtt.field(flow.rtt, (value) => this.#set(flow, "rtt", value)));
    return row;
  }

  #link() {
    const group = this.#group("Link and run");
    group.append(
      this.#number("rate"),
      this.#number("duration"),
      this.#number("seed"),
      choice("profile", "TCP", PROFILES, this.settings.profile, (value) => this.#set(this.settings, "profile", value)),
    );
    return group;
  }

  #queue() {
    const { settings } = this;
    const group = this.#group("Queue");
    const labels = Object.fromEntries(Object.entries(QUEUES).map(([name, { label }]) => [name, label]));
    group.append(
      choice("queue", "Discipline", labels, settings.queue, (value) => {
        settings.queue = value;
        this.#rebuild();
      }),
      checkbox("ecn", "ECN", settings.ecn, (value) => this.#set(settings, "ecn", value)),
    );
    const names = new Set(QUEUES[settings.queue].numbers);
    if (settings.versus?.queue) QUEUES[settings.versus.queue].numbers.forEach((name) => names.add(name));
    names.forEach((name) => group.append(this.#number(name)));
    return group;
  }

  #versus() {
    const { settings } = this;
    const group = this.#group("Compare with a second run");
    group.append(
      checkbox("versus", "Second run", settings.versus !== null, (value) => {
        settings.versus = value ? { controller: null, queue: null, ecn: null } : null;
        this.#rebuild();
      }),
    );
    if (!settings.versus) return group;
    const { versus } = settings;
    const labels = Object.fromEntries(Object.entries(QUEUES).map(([name, { label }]) => [name, label]));
    const set = (key) => (value) => {
      versus[key] = value || null;
      this.#rebuild();
    };
    group.append(
      choice("versus-controller", "Controller there", { "": "the same", ...CONTROLLERS }, versus.controller ?? "", set("controller")),
      choice("versus-queue", "Discipline there", { "": "the same", ...labels }, versus.queue ?? "", set("queue")),
      choice("versus-ecn", "ECN there", { "": "the same", on: "on", off: "off" }, flag(versus.ecn), (value) => {
        versus.ecn = value === "" ? null : value === "on";
        this.changed(settings);
      }),
    );
    return group;
  }

  /** A group that can be closed, and stays so when the form is built again. */
  #group(name) {
    const group = element("details", { open: this.shown.get(name) ?? this.open });
    group.append(element("summary", { textContent: name }));
    group.addEventListener("toggle", () => this.shown.set(name, group.open));
    return group;
  }

  #number(name) {
    return number(name, NUMBERS[name]).field(this.settings[name], (value) => this.#set(this.settings, name, value));
  }

  #set(target, key, value) {
    target[key] = value;
    this.changed(this.settings);
  }
}

function flag(value) {
  return value === null ? "" : value ? "on" : "off";
}

/** A number in two fields, for exact values and for sliding. Few whole values slide by ones, others by factors. */
function number(id, { label, unit, least, most, whole = false }) {
  const even = whole && most - least <= 10;
  const toSlider = (value) => (even ? value : (SLIDER_STEPS * Math.log(value / least)) / Math.log(most / least));
  const fromSlider = (position) => {
    if (even) return position;
    const value = least * (most / least) ** (position / SLIDER_STEPS);
    return whole ? Math.round(value) : Number(value.toPrecision(2));
  };
  const field = (value, changed) => {
    const box = element("div", { className: "field number" });
    const exact = element("input", { id, type: "number", min: least, max: most, step: whole ? 1 : "any", value });
    const slider = element("input", { id: `${id}-slider`, type: "range", min: even ? least : 0, max: even ? most : SLIDER_STEPS });
    slider.setAttribute("aria-label", `${label}, slider`);
    const follow = (value) => {
      slider.value = toSlider(value);
      slider.setAttribute("aria-valuetext", unit ? `${value} ${unit}` : String(value));
    };
    follow(value);
    slider.addEventListener("input", () => {
      const value = fromSlider(Number(slider.value));
      exact.value = value;
      slider.setAttribute("aria-valuetext", unit ? `${value} ${unit}` : String(value));
      changed(value);
    });
    exact.addEventListener("change", () => {
      const given = Number(exact.value);
      const known = id in NUMBERS ? clamp(id, given) : Math.min(most, Math.max(least, whole ? Math.round(given) : given));
      exact.value = known;
      follow(known);
      changed(known);
    });
    box.append(element("label", { htmlFor: id, textContent: label }), exact, element("span", { className: "unit", textContent: unit }), slider);
    return box;
  };
  return { field };
}

function choice(id, label, options, value, changed) {
  const box = element("div", { className: "field" });
  const select = element("select", { id });
  for (const [name, text] of Object.entries(options)) select.append(new Option(text, name, false, name === value));
  select.addEventListener("change", () => changed(select.value));
  box.append(element("label", { htmlFor: id, textContent: label }), select);
  return box;
}

function checkbox(id, label, value, changed) {
  const box = element("div", { className: "field check" });
  const input = element("input", { id, type: "checkbox", checked: value });
  input.addEventListener("change", () => changed(input.checked));
  box.append(input, element("label", { htmlFor: id, textContent: label }));
  return box;
}

/** An element with properties. */
export function element(tag, properties = {}) {
  return Object.assign(document.createElement(tag), properties);
}
