"use strict";
(async () => {
  const packed = atob(document.getElementById("data").textContent);
  const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  const data = JSON.parse(await new Response(plain).text());
  const names = Object.keys(data.controllers);
  const form = document.getElementById("choice");
  const grid = document.getElementById("grid");
  const panel = document.getElementById("cell");
  let chosen = null;

  function fill(name, options) {
    const select = form.elements[name];
    for (const [value, label] of options) select.add(new Option(label, value));
  }
  fill("measure", data.measures.map(({ label, unit }, place) => [place, unit ? `${label} (${unit})` : label]));
  fill("queue", Object.entries(data.queues));
  for (const name of ["rate", "rtt", "ratio"]) fill(name, data[`${name}s`].map((value) => [value, value]));

  // The fragment keeps the choice, so that a link shows the same cell.
  function restore() {
    const given = new URLSearchParams(location.hash.slice(1));
    for (const select of form.elements) {
      const value = given.get(select.name);
      if (value !== null && [...select.options].some((option) => option.value === value)) select.value = value;
    }
    const pair = given.get("pair")?.split(",") ?? [];
    chosen = pair.length === 2 && pair.every((name) => names.includes(name)) ? pair : null;
    return given.size > 0;
  }
  function keep() {
    const parts = [...form.elements].map((select) => `${select.name}=${encodeURIComponent(select.value)}`);
    if (chosen) parts.push(`pair=${chosen.join(",")}`);
    history.replaceState(null, "", `#${parts.join("&")}`);
  }

  const value = (name) => form.elements[name].value;
  const path = () => `${value("queue")}-${value("rate")}M-${value("rtt")}ms-x${value("ratio")}`;

  // On equal paths a pair is run once: in the other order the figures of its flows change places.
  function figuresOf([first, second]) {
    const straight = data.cells[`${first}+${second}-${path()}`];
    if (straight || value("ratio") !== "1") return straight;
    const turned = data.cells[`${second}+${first}-${path()}`];
    return turned && data.measures.map((measure) => otherWay(measure, turned));
  }
  function otherWay({ key }, turned) {
    const other = key.endsWith("_first") ? key.replace(/first$/, "second") : key.replace(/second$/, "first");
    const figure = turned[data.measures.findIndex((measure) => measure.key === other)];
    return figure && key === "share" ? [Number((1 - figure[0]).toPrecision(4)), ...figure.slice(1)] : figure;
  }

  const digits = (number) => {
    const size = Math.abs(number);
    if (size !== 0 && size < 0.001) return number.toExponential(1);
    return number.toFixed(size >= 100 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3);
  };

  // Blue where a figure is best, orange where it is worst; a share is best in its middle.
  function colour(measure, number, most) {
    const place = Math.min(1, Math.max(0, number / (measure.most ?? most)));
    if (measure.good === "middle") {
      const off = 2 * Math.abs(place - 0.5);
      return `hsl(${place < 0.5 ? 210 : 28} 85% ${96 - 46 * off}%)`;
    }
    const bad = measure.good === "low" ? place : 1 - place;
    return `hsl(28 85% ${97 - 45 * bad}%)`;
  }

  function draw() {
    const place = Number(value("measure"));
    const measure = data.measures[place];
    const all = names.map((first) => names.map((second) => figuresOf([first, second])));
    const most = Math.max(1e-9, ...all.flat().map((figures) => figures?.[place]?.[0] ?? 0));
    grid.replaceChildren();
    const head = grid.createTHead().insertRow();
    head.append(heading("", "col"), ...names.map((name) => heading(data.controllers[name], "col")));
    const body = grid.createTBody();
    names.forEach((first, row) => {
      const line = body.insertRow();
      line.append(heading(data.controllers[first], "row"));
      names.forEach((second, column) => {
        const cell = line.insertCell();
        const figure = all[row][column]?.[place];
        if (!figure) {
          cell.className = "empty";
          cell.textContent = "–";
          return;
        }
        cell.append(button([first, second], figure[0], measure, most));
      });
    });
    document.getElementById("scale").textContent = {
      middle: "A half is equal. Blue: the first flow has less; orange: it has more.",
      low: "The darker, the higher; low is good.",
      high: "The darker, the lower; high is good.",
    }[measure.good];
    show();
    keep();
  }
  function heading(text, scope) {
    const cell = document.createElement("th");
    cell.scope = scope;
    cell.textContent = text;
    return cell;
  }
  function button(pair, number, measure, most) {
    const made = document.createElement("button");
    made.type = "button";
    made.textContent = digits(number);
    made.style.background = colour(measure, number, most);
    made.style.color = "#14202b";
    made.title = pair.map((name) => data.controllers[name]).join(" and ");
    made.setAttribute("aria-pressed", String(chosen?.join("+") === pair.join("+")));
    made.setAttribute("aria-label", `${made.title}: ${made.textContent}`);
    made.addEventListener("click", () => {
      chosen = pair;
      draw();
      grid.querySelector("[aria-pressed=true]").focus();
    });
    return made;
  }

  // The scenario file, from the parts that the lab puts together for its runs.
  function scenarioOf([first, second]) {
    const [rate, rtt, ratio] = ["rate", "rtt", "ratio"].map(value);
    const { head, queue, links, flow } = data.scenario;
    return [
      `name = "${first}+${second}-${path()}"\n`,
      head[`${rate}-${rtt}`],
      queue[`${value("queue")}-${rate}-${rtt}`],
      links[`${rate}-${rtt}-${ratio}`],
      flow[`${first}-1`],
      flow[`${second}-2`],
    ].join("");
  }
  // Raw DEFLATE in base64url, as docs/internals/playground.md has it.
  async function packedText(text) {
    const stream = new Blob([text]).stream().pipeThrough(new CompressionStream("deflate-raw"));
    const found = new Uint8Array(await new Response(stream).arrayBuffer());
    const letters = btoa(String.fromCharCode(...found));
    return letters.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  function element(tag, text = "", attributes = {}) {
    const made = document.createElement(tag);
    made.textContent = text;
    for (const [name, to] of Object.entries(attributes)) made.setAttribute(name, to);
    return made;
  }
  async function show() {
    const figures = chosen && figuresOf(chosen);
    if (!figures) {
      panel.replaceChildren(element("p", chosen ? "This cell was not run." : "No cell is chosen.", { class: "soft" }));
      return;
    }
    const list = element("dl");
    data.measures.forEach(({ label, unit }, place) => {
      const figure = figures[place];
      const text = figure ? `${digits(figure[0])}${figure[1] === null ? "" : ` ± ${digits(figure[1])}`} ${unit}` : "–";
      list.append(element("dt", label), element("dd", text));
    });
    const text = scenarioOf(chosen);
    const name = `${chosen.join("+")}-${path()}.toml`;
    const link = await packedText(text);
    const tools = element("div", "", { class: "tools" });
    tools.append(
      element("a", "Scenario file", { href: `data:application/toml;charset=utf-8,${encodeURIComponent(text)}`, download: name }),
      element("a", "Run it in the playground", { href: `${data.playground}#toml=${link}` }),
    );
    const folded = element("details");
    folded.append(element("summary", "The scenario"), element("pre", text, { tabindex: "0" }));
    const titles = chosen.map((each) => data.controllers[each]).join(" and ");
    const count = figures.find((figure) => figure)?.[2];
    panel.replaceChildren(
      element("h2", titles),
      element("p", `${data.queues[value("queue")]}, ${value("rate")} Mbit/s, ${value("rtt")} ms, ratio ${value("ratio")}; ` +
        `means of ${count} seeds and half of their 95 % intervals.`, { class: "soft" }),
      list, tools, folded,
    );
  }

  form.addEventListener("change", draw);
  addEventListener("hashchange", () => { restore(); draw(); });
  if (!restore()) {
    // The first cell that was run says which path is shown.
    const found = /-([\w.-]+?)-(\d+)M-(\d+)ms-x(\d+)$/.exec(Object.keys(data.cells)[0]?.split("+")[1] ?? "");
    if (found) [form.elements.rate.value, form.elements.rtt.value, form.elements.ratio.value] = found.slice(2);
  }
  draw();
})();
