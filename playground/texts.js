// The scenarios as TOML: shown, edited, saved; and what is wrong with them.

import { element } from "./controls.js";

/** One or two text fields. `edited` is called with all texts after each change by the user. */
export class Texts {
  #fields = [];

  constructor(parent, edited) {
    this.parent = parent;
    this.edited = edited;
  }

  show(texts, titles) {
    while (this.#fields.length > texts.length) this.#fields.pop().box.remove();
    while (this.#fields.length < texts.length) this.#fields.push(this.#field(this.#fields.length));
    this.#fields.forEach(({ area, label }, index) => {
      label.textContent = titles[index];
      // Not while someone types in it.
      if (area.value !== texts[index]) area.value = texts[index];
      area.rows = Math.min(40, texts[index].split("\n").length + 1);
    });
  }

  /** Says which texts have problems. */
  mark(wrong) {
    this.#fields.forEach(({ area }, index) => area.setAttribute("aria-invalid", String(wrong[index] ?? false)));
  }

  /** Puts the cursor to a line and column, both counted from 1, of a text. */
  go(index, line, column) {
    const { area } = this.#fields[index];
    const lines = area.value.split("\n");
    const start = lines.slice(0, line - 1).reduce((sum, text) => sum + text.length + 1, 0);
    area.focus();
    area.setSelectionRange(start + column - 1, start + (lines[line - 1] ?? "").length);
    const height = area.scrollHeight / lines.length;
    area.scrollTop = Math.max(0, (line - 3) * height);
  }

  #field(index) {
    const box = element("div", { className: "text" });
    const id = `text-${index}`;
    const label = element("label", { htmlFor: id });
    const area = element("textarea", { id, spellcheck: false, wrap: "off" });
    area.addEventListener("input", () => this.edited(this.#fields.map((field) => field.area.value)));
    const save = element("button", { type: "button", textContent: "Download TOML", id: `save-${index}` });
    save.setAttribute("aria-describedby", id);
    save.addEventListener("click", () => download(`playground${index === 0 ? "" : "-second"}.toml`, area.value));
    box.append(label, area, save);
    this.parent.append(box);
    return { box, label, area };
  }
}

function download(name, text) {
  const link = element("a", { download: name });
  link.href = URL.createObjectURL(new Blob([text], { type: "application/toml" }));
  link.click();
  URL.revokeObjectURL(link.href);
}

/** The elements that say why there is no result of a run; none if there is one. */
export function problemList(answer, index, count, texts) {
  if (answer.failure) {
    const advice = "The simulator ended without a result. A shorter run or a lower rate takes less memory.";
    return [element("p", { textContent: `${advice} (${answer.failure})` })];
  }
  if (!answer.problems) return [];
  const which = count > 1 ? (index === 0 ? "first scenario" : "second scenario") : "scenario";
  const list = element("ul");
  for (const problem of answer.problems) list.append(item(problem, index, texts));
  return [element("p", { textContent: `The ${which} cannot be run:` }), list];
}

function item({ place, key, message }, index, texts) {
  const line = element("li");
  const found = place.match(/:(\d+):(\d+)$/);
  if (found) {
    const [row, column] = [Number(found[1]), Number(found[2])];
    const button = element("button", { type: "button", className: "place", textContent: `line ${row}, column ${column}` });
    button.addEventListener("click", () => texts.go(index, row, column));
    line.append(button, " ");
  }
  if (key) line.append(element("code", { textContent: key }), ": ");
  line.append(message);
  return line;
}
