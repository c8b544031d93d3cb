// The page: its state, what changes it, and the runs that follow.

import { Controls, element } from "./controls.js";
import { fromFiles, fromFragment, toFragment, viewOf } from "./link.js";
import { KINDS, greatest, play } from "./plots.js";
import { Results } from "./results.js";
import { toToml } from "./scenario.js";
import { PRESETS, preset, presetOf, second, title } from "./settings.js";
import { Simulator } from "./simulator.js";
import { Texts, problemList } from "./texts.js";

const DEBOUNCE_MS = 120;

const query = new URLSearchParams(location.search);
const embedded = query.has("embed");
const find = (id) => document.getElementById(id);

class Page {
  /** Settings of the sliders. */
  settings = preset("new-ecn");
  /** Scenario texts in place of the settings, if someone has edited them. */
  texts = null;
  /** The name of the example that the page shows, if it is one. */
  preset;
  /** How the page around an iframe wants it. */
  view = viewOf("");
  runs = [];
  simulators = [new Simulator(), new Simulator()];
  // Files do not end the runs that are shown.
  filesSimulator = new Simulator();
  #timer;
  #stopPlaying;
  #remembered = 0;

  constructor() {
    this.controls = new Controls(find("controls"), () => this.changed());
    this.editor = new Texts(find("texts"), (texts) => this.edited(texts));
    find("run").addEventListener("click", () => (embedded ? this.another() : this.simulate()));
    find("play").addEventListener("click", () => this.play());
    find("copy").addEventListener("click", () => this.copy());
    find("back").addEventListener("click", () => this.leaveTexts());
    find("files").addEventListener("click", () => this.listFiles());
    addEventListener("hashchange", () => this.load());
    matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => this.runs.forEach((run) => run.redraw()));
  }

  /** Takes the state of the address, and runs it. */
  async load() {
    const fragment = location.hash.slice(1);
    if (embedded) this.view = viewOf(fragment);
    this.offerPresets();
    const state = await fromFragment(fragment);
    this.notices = state.problems.map((problem) => `This link was not understood whole. ${problem}.`);
    this.take(state);
    this.show();
    if (this.view.wait) return this.wait();
    await this.simulate();
  }

  take({ settings, texts, preset }) {
    this.texts = texts ?? null;
    if (settings) this.settings = settings;
    this.preset = preset;
  }

  /** The buttons of the examples; in an iframe those of the papers, if the page around it asks for them. */
  offerPresets() {
    const { choose } = this.view;
    const offered = Object.entries(PRESETS).filter(([, { question }]) => !choose || question);
    const buttons = offered.map(([name, { label, question }]) => {
      const button = element("button", { type: "button", textContent: choose ? question : label });
      button.addEventListener("click", () => this.choose(name));
      button.dataset.preset = name;
      return button;
    });
    find("presets").replaceChildren(...buttons);
    find("presets").classList.toggle("choose", choose);
  }

  /** Says what to do, for a reader who shall think first. */
  wait() {
    find("status").textContent = "Answer the question first, then press Run.";
    document.body.dataset.state = "waiting";
    announceHeight();
  }

  async choose(name) {
    if (PRESETS[name].files) this.take(await fromFiles(name));
    else this.take({ settings: preset(name), preset: name });
    this.show();
    this.changed();
  }

  leaveTexts() {
    this.take({ preset: presetOf(this.settings) });
    this.show();
    this.changed();
    find("rate").focus();
  }

  edited(texts) {
    const first = !this.texts;
    this.take({ texts });
    if (first) this.controls.show(this.settings, false);
    find("edited").hidden = false;
    this.schedule();
  }

  changed() {
    if (!this.texts) this.preset = presetOf(this.settings);
    this.editor.show(this.currentTexts(), this.titles());
    this.schedule();
  }

  show() {
    this.controls.show(this.settings, !this.texts);
    this.editor.show(this.currentTexts(), this.titles());
    find("edited").hidden = !this.texts;
  }

  currentTexts() {
    if (this.texts) return this.texts;
    return [this.settings, second(this.settings)].filter(Boolean).map(toToml);
  }

  titles() {
    if (this.texts) return this.texts.map((_, index) => (index === 0 ? "Scenario" : "Second scenario"));
    return [this.settings, second(this.settings)].filter(Boolean).map(title);
  }

  /** A run soon, unless another change comes before it. */
  schedule() {
    this.notices = [];
    clearTimeout(this.#timer);
    document.body.dataset.state = "running";
    this.#timer = setTimeout(() => this.simulate(), DEBOUNCE_MS);
  }

  /** The same scenario with the next seed. */
  another() {
    if (document.body.dataset.state === "waiting") return this.simulate();
    if (this.texts) this.texts = this.texts.map(nextSeed);
    else this.settings.seed++;
    return this.simulate();
  }

  async simulate() {
    clearTimeout(this.#timer);
    this.#stopPlaying?.();
    this.remember();
    const texts = this.currentTexts();
    const titles = this.titles();
    const parts = texts.map(() => 0);
    this.explain();
    document.body.dataset.state = "running";
    const shown = (index) => (part) => {
      parts[index] = part;
      find("progress").hidden = false;
      find("progress").value = Math.min(...parts);
    };
    const answers = await Promise.all(
      this.simulators.map((simulator, index) =>
        texts[index] === undefined ? simulator.cancel() : simulator.run(texts[index], { progress: shown(index) }),
      ),
    );
    // Another run has taken the place of this one.
    if (answers.slice(0, texts.length).includes(undefined)) return;
    find("progress").hidden = true;
    this.present(titles, answers.slice(0, texts.length));
  }

  /** Says which example the page shows, and what to see in it. */
  explain() {
    const { about } = PRESETS[this.preset] ?? {};
    find("about").textContent = about && !this.view.wait ? about : "";
    for (const button of find("presets").children) {
      button.setAttribute("aria-pressed", String(button.dataset.preset === this.preset));
    }
  }

  present(titles, answers) {
    const problems = answers.flatMap((answer, index) => problemList(answer, index, answers.length, this.editor));
    const notices = (this.notices ?? []).map((textContent) => element("p", { textContent }));
    find("problems").replaceChildren(...notices, ...problems);
    this.editor.mark(answers.map((answer) => Boolean(answer.problems)));
    if (problems.length > 0) {
      find("status").textContent = "";
      document.body.dataset.state = "refused";
      return;
    }
    const outcomes = answers.map((answer) => answer.outcome);
    find("problems").append(...warningList(outcomes));
    this.fit(outcomes.length);
    const tops = Object.fromEntries(Object.keys(KINDS).map((kind) => [kind, greatest(kind, outcomes)]));
    const heading = (index) => (this.texts ? outcomes[index].summary.name : titles[index]);
    this.runs.forEach((run, index) => run.show(heading(index), outcomes[index], tops));
    this.outcomes = outcomes;
    find("status").textContent = report(answers);
    document.body.dataset.state = "done";
    announceHeight();
  }

  /** As many sections as there are runs. */
  fit(count) {
    while (this.runs.length > count) {
      const run = this.runs.pop();
      run.destroy();
      run.section.remove();
    }
    while (this.runs.length < count) {
      const run = new Results(this.runs.length, this.view.kinds);
      this.runs.push(run);
      find("runs").append(run.section);
    }
    find("runs").className = count === 1 ? "one" : "two";
  }

  /** Puts the state into the address, without a new entry of the history. */
  async remember() {
    const turn = ++this.#remembered;
    const { settings, texts, preset } = this;
    const fragment = await toFragment({ settings, texts, preset });
    if (turn !== this.#remembered) return;
    history.replaceState(null, "", `${location.pathname}${location.search}#${fragment}${this.view.text}`);
    find("open").href = `${location.pathname}#${fragment}`;
  }

  async copy() {
    await this.remember();
    try {
      await navigator.clipboard.writeText(location.href);
      find("status").textContent = "The link is copied. It carries the whole scenario.";
    } catch {
      find("status").textContent = "The browser does not let pages copy: the link is in the address bar.";
    }
  }

  play() {
    if (this.#stopPlaying) return this.#stopPlaying();
    const plots = this.runs.flatMap((run) => run.plots);
    find("play").textContent = "Stop";
    this.#stopPlaying = play(plots, () => {
      this.#stopPlaying = undefined;
      find("play").textContent = "Play";
    });
  }

  /** Runs once more for the files, and lists them. */
  async listFiles() {
    const texts = this.currentTexts();
    find("status").textContent = "";
    const answers = [];
    for (const text of texts) answers.push(await this.filesSimulator.run(text, { files: true }));
    const lists = answers.map((answer, index) => {
      const list = element("ul");
      if (texts.length > 1) list.setAttribute("aria-label", this.titles()[index]);
      for (const [name, contents] of answer?.files ?? []) {
        const item = element("li");
        const link = element("a", { textContent: name, download: name });
        link.href = URL.createObjectURL(new Blob([contents], { type: "text/plain" }));
        item.append(link);
        list.append(item);
      }
      return list;
    });
    find("saved").querySelectorAll("a").forEach((link) => URL.revokeObjectURL(link.href));
    find("saved").replaceChildren(...lists);
  }
}

/** A scenario's text with its seed raised by one; 2 where it names none, as 1 is the default. */
function nextSeed(text) {
  const line = /^seed *= *(\d+)/m;
  const found = text.match(line);
  return found ? text.replace(line, `seed = ${Number(found[1]) + 1}`) : `seed = 2\n${text}`;
}

/** The simulator's warnings about the runs, such as marks that cannot come. */
function warningList(outcomes) {
  const warnings = new Set(outcomes.flatMap(({ summary }) => summary.warnings ?? []));
  return [...warnings].map((warning) => element("p", { textContent: `Warning: ${warning}.` }));
}

function report(answers) {
  const { summary } = answers[0].outcome;
  const seconds = Math.max(...answers.map((answer) => answer.seconds));
  const indices = answers.map(({ outcome }) => outcome.summary.fairness_index.steady?.toFixed(3) ?? "unknown");
  const index = embedded ? `Seed ${summary.seed}. ` : "";
  const fairness = `Fairness index ${indices.join(" against ")}.`;
  return `${index}${fairness} ${summary.duration_s} s simulated in ${seconds.toFixed(2)} s.`;
}

/** Lets the page around an iframe set its height (docs/internals/playground.md). */
function announceHeight() {
  if (!embedded || window.parent === window) return;
  window.parent.postMessage({ type: "windlass-playground", height: document.documentElement.scrollHeight }, "*");
}

if (embedded) {
  document.body.classList.add("embed");
  new ResizeObserver(announceHeight).observe(document.body);
}
const theme = query.get("theme");
if (theme === "dark" || theme === "light") document.documentElement.dataset.theme = theme;
new Page().load();
