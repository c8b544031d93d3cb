"use strict";
(() => {
  // The plotting library and the curves are packed, as they are most of the page.
  async function unpack(id) {
    const packed = atob(document.getElementById(id).textContent);
    const bytes = Uint8Array.from(packed, (char) => char.charCodeAt(0));
    const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
    return new Response(plain).text();
  }
  let specs = {};
  const ready = (async () => {
    specs = JSON.parse(await unpack("specs"));
    // A script element runs the library.
    const script = document.createElement("script");
    script.textContent = await unpack("library");
    document.head.append(script);
  })();
  // On a narrow screen rows are cards. These need headings beside the cells, and roles, as the layout
  // takes those of a table away. In the markup they would be a fifth of a long page.
  for (const table of document.querySelectorAll(".verdicts")) {
    const headings = [...table.tHead.rows[0].cells].map((cell) => cell.textContent);
    table.setAttribute("role", "table");
    for (const part of [table.tHead, ...table.tBodies]) part.setAttribute("role", "rowgroup");
    for (const row of table.rows) {
      row.setAttribute("role", "row");
      for (const cell of row.cells) {
        const heading = { row: "rowheader", col: "columnheader" }[cell.scope];
        cell.setAttribute("role", heading ?? "cell");
        if (!heading) cell.dataset.label = headings[cell.cellIndex];
      }
    }
    table.classList.add("cards");
  }
  const dark = matchMedia("(prefers-color-scheme: dark)");
  // A finger that drags over a plot means to scroll the page; the buttons zoom.
  const touch = matchMedia("(pointer: coarse)").matches;
  const narrow = matchMedia("(max-width: 40rem)");

  // Where colours are taken from: the page, or what stands for paper while a figure is saved.
  let palette = document.documentElement;
  const colour = (name) => getComputedStyle(palette).getPropertyValue(`--${name}`).trim();
  const traceColour = (place) => colour(typeof place === "number" ? `s${place}` : place);

  function themed(trace) {
    const paint = traceColour(trace.meta.colour);
    const copy = { ...trace };
    if (trace.type === "bar") {
      copy.marker = { color: paint };
    } else {
      copy.line = { ...trace.line, color: paint };
      if (trace.mode !== "lines") copy.marker = { ...trace.marker, color: paint };
    }
    if (trace.error_y) {
      copy.error_y = { ...trace.error_y, color: trace.type === "bar" ? colour("ink") : paint };
    }
    return copy;
  }

  function axisOf(axis) {
    const title = axis.title && { ...axis.title, font: { size: 13 }, standoff: 8 };
    return {
      gridcolor: colour("grid"), linecolor: colour("line"), zerolinecolor: colour("line"),
      automargin: true, ...axis, title,
    };
  }

  // On a screen the title of the y axis lies above it: turned by a right angle it takes the width that a
  // phone lacks, and Plotly does not come to an end where its margins leave no room.
  function aboveAxis(title) {
    const at = { xref: "paper", x: 0, xanchor: "left", yref: "paper", y: 1, yanchor: "bottom" };
    return { ...at, text: title.text, align: "left", showarrow: false, font: { size: 13 } };
  }

  function layoutOf(spec, onPaper = false) {
    const { title, ...yaxis } = spec.layout.yaxis;
    const above = onPaper || !title ? [] : [aboveAxis(title)];
    const lines = above.length ? title.text.split("<br>").length : 1;
    const font = { family: getComputedStyle(document.body).fontFamily, size: 13, color: colour("ink") };
    return {
      ...spec.layout,
      font,
      paper_bgcolor: "rgba(0,0,0,0)",
      plot_bgcolor: "rgba(0,0,0,0)",
      // The buttons have a line of their own where the axis's title would lie below them.
      margin: { l: 48, r: 8, t: 14 + 18 * lines + (touch || narrow.matches ? 20 : 0), b: 40 },
      annotations: [...(spec.layout.annotations ?? []), ...above],
      legend: { orientation: "h", x: 0, yref: "container", y: 0, yanchor: "bottom" },
      hoverlabel: { bgcolor: colour("card"), bordercolor: colour("line"), font },
      modebar: { bgcolor: "rgba(0,0,0,0)", color: colour("soft"), activecolor: colour("accent") },
      dragmode: touch ? false : "zoom",
      xaxis: axisOf(spec.layout.xaxis),
      yaxis: axisOf(onPaper ? spec.layout.yaxis : yaxis),
      // The reader's zoom survives a change of theme.
      uirevision: "kept",
    };
  }

  const config = {
    responsive: true,
    displaylogo: false,
    displayModeBar: touch ? true : "hover",
    // Named one by one: the library's own choice has a button that sends the chart away.
    modeBarButtons: [["zoom2d", "pan2d"], ["zoomIn2d", "zoomOut2d", "resetScale2d"], ["toImage"]],
    plotlyServerURL: "",
  };

  // On a narrow screen a heat map is as wide as its figures and names need, and its box scrolls.
  function widenHeatMap(div, { data: [trace], layout }) {
    if (trace.type !== "heatmap" || !narrow.matches) return;
    const letters = (labels) => Math.max(...labels.flatMap((label) => label.split("<br>")).map((line) => line.length));
    const column = Math.max(34, 8 * letters(layout.xaxis.ticktext ?? trace.x));
    const names = 8 * letters(layout.yaxis.ticktext ?? trace.y);
    div.style.minWidth = `${column * new Set(trace.x).size + names + 100}px`;
    const box = div.parentElement;
    box.classList.add("scroll");
    // A keyboard scrolls what has the focus.
    box.tabIndex = 0;
    box.setAttribute("role", "region");
    box.setAttribute("aria-label", div.getAttribute("aria-label"));
  }

  const plots = [...document.querySelectorAll("[data-spec]")];
  const draw = async (div) => {
    await ready;
    const spec = specs[div.dataset.spec];
    const entries = spec.data.filter((trace) => trace.showlegend !== false).length;
    // Where each entry of a long legend takes a line, the plot keeps its height.
    if (narrow.matches && entries > 3) div.style.height = `calc(21rem + ${24 * (entries - 3)}px)`;
    widenHeatMap(div, spec);
    return Plotly.react(div, spec.data.map(themed), layoutOf(spec), config);
  };

  // Plots below the fold are drawn when they come near: a phone opens the page at once.
  const near = new IntersectionObserver((entries) => {
    for (const entry of entries.filter((e) => e.isIntersecting)) {
      near.unobserve(entry.target);
      draw(entry.target);
    }
  }, { rootMargin: "600px" });
  plots.forEach((div) => near.observe(div));

  const redraw = () => plots.filter((div) => div.data).forEach(draw);
  dark.addEventListener("change", redraw);
  addEventListener("beforeprint", () => plots.forEach(draw));

  for (const button of document.querySelectorAll("[data-until]")) {
    button.addEventListener("click", () => {
      const figure = button.closest("figure");
      for (const other of figure.querySelectorAll("[data-until]")) {
        other.setAttribute("aria-pressed", String(other === button));
      }
      const [from, until] = [Number(button.dataset.from), Number(button.dataset.until)];
      figure.querySelectorAll("[data-spec]").forEach((div) => zoom(div, from, until));
    });
  }

  async function zoom(div, from, until) {
    if (!div.data) await draw(div);
    if (!until) {
      const top = specs[div.dataset.spec].layout.yaxis.range;
      return Plotly.relayout(div, { "xaxis.autorange": true, "yaxis.range": [...top] });
    }
    const figure = div.closest("figure");
    const highest = Math.max(...[...figure.querySelectorAll("[data-spec]")]
      .flatMap((other) => specs[other.dataset.spec].data)
      .map((trace) => highestWithin(trace, from, until)));
    return Plotly.relayout(div, { "xaxis.range": [from, until], "yaxis.range": [0, highest * 1.04] });
  }

  function highestWithin(trace, from, until) {
    let highest = 0;
    trace.y.forEach((value, place) => {
      if (trace.x[place] >= from && trace.x[place] <= until && value > highest) highest = value;
    });
    return highest;
  }

  function save(name, type, text) {
    const link = document.createElement("a");
    link.href = URL.createObjectURL(new Blob([text], { type }));
    link.download = name;
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  // As the lab writes data/*.csv.
  function csvOf(divs) {
    const plain = (value) => (typeof value === "string" ? value.replaceAll("<br>", ", ") : value);
    const cell = (value) => {
      const text = value === null || value === undefined ? "" : String(value);
      return /[",\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
    };
    const rows = [["panel", "curve", "x", "y", "sd"]];
    for (const div of divs) {
      for (const trace of specs[div.dataset.spec].data) {
        const reference = trace.showlegend === false && !trace.hovertemplate;
        // In a heat map the curve is the row of a cell.
        const curve = (place) => plain(trace.z ? trace.y[place] : trace.name) + (reference ? " (reference)" : "");
        (trace.z ?? trace.y).forEach((y, place) => {
          if (y === null) return;
          const spread = trace.error_y ? trace.error_y.array[place] : null;
          rows.push([div.dataset.label, curve(place), plain(trace.x[place]), y, spread]);
        });
      }
    }
    return rows.map((row) => row.map(cell).join(",") + "\n").join("");
  }

  // A drawing for a paper: light, of a fixed size, with nothing of the screen's zoom.
  function paperFigure(div, width, height) {
    const paper = document.createElement("div");
    paper.className = "for-paper";
    paper.hidden = true;
    document.body.append(paper);
    palette = paper;
    const spec = specs[div.dataset.spec];
    const layout = { ...layoutOf(spec, true), width, height, paper_bgcolor: "#fff" };
    layout.title = { text: div.dataset.label, font: { size: 15 } };
    layout.margin = { l: 60, r: 20, t: 44, b: 50 };
    const made = { data: spec.data.map(themed), layout };
    palette = document.documentElement;
    paper.remove();
    return structuredClone(made);
  }

  async function saveFigure(figure, kind) {
    await ready;
    const name = figure.id.replace(/^f-/, "");
    const divs = [...figure.querySelectorAll("[data-spec]")];
    if (kind === "csv") return save(`${name}.csv`, "text/csv", csvOf(divs));
    // One file a figure: its panels one below the other.
    const [width, height] = [720, 450];
    const panels = [];
    for (const div of divs) {
      const address = await Plotly.toImage(paperFigure(div, width, height), { format: "svg", width, height });
      const drawing = decodeURIComponent(address.slice(address.indexOf(",") + 1));
      panels.push(drawing.replace("<svg ", `<svg y="${panels.length * height}" `));
    }
    const size = `width="${width}" height="${height * panels.length}"`;
    const open = `<svg xmlns="http://www.w3.org/2000/svg" ${size}>`;
    save(`${name}.svg`, "image/svg+xml", `${open}${panels.join("")}</svg>\n`);
  }

  for (const button of document.querySelectorAll("[data-save]")) {
    button.addEventListener("click", () => saveFigure(button.closest("figure"), button.dataset.save));
  }

  // For tests: every plot at once, or those of some figures.
  window.drawPlots = (ids) =>
    Promise.all(plots.filter((div) => !ids || ids.includes(div.closest("figure").id.slice(2))).map(draw));
})();
