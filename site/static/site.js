// The playground takes a web server, which files opened from a disk lack.
const served = location.protocol !== "file:";
const HINT = "Here runs the playground, if a web server hands out the site: python3 -m http.server --directory out/site";

/** Frames of the playground: each as high as the page in it says (docs/internals/playground.md). */
function showPlaygrounds() {
  for (const frame of document.querySelectorAll("iframe.playground")) {
    if (served) frame.src = frame.dataset.src;
    else frame.replaceWith(Object.assign(document.createElement("p"), { textContent: HINT }));
  }
}

addEventListener("message", ({ data, source }) => {
  if (data?.type !== "windlass-playground" || !(data.height > 0)) return;
  for (const frame of document.querySelectorAll("iframe.playground")) {
    // Two pixels more, for the border.
    if (frame.contentWindow === source) frame.style.height = `${data.height + 2}px`;
  }
});

document.addEventListener("DOMContentLoaded", showPlaygrounds);

// Boxes that scroll sideways must be reachable by the keyboard (WCAG 2.1, 2.1.1).
document.addEventListener("DOMContentLoaded", () => {
  for (const box of document.querySelectorAll(".highlight pre, .table-wrapper")) {
    box.tabIndex = 0;
    box.setAttribute("role", "region");
  }
  // The titles of the navigation's parts are headings without a level in Sphinx's output.
  for (const title of document.querySelectorAll("p.caption[role=heading]")) {
    title.setAttribute("aria-level", "2");
  }
  // Two landmarks of one kind need names (WAI-ARIA 1.2, section 5.3.4).
  document.querySelector(".sidebar-drawer")?.setAttribute("aria-label", "All pages");
  document.querySelector(".toc-drawer")?.setAttribute("aria-label", "On this page");
  // The corner of a table with names on two sides is no heading.
  for (const corner of document.querySelectorAll("th.head")) {
    if (!corner.textContent.trim()) corner.replaceWith(document.createElement("td"));
  }
  if (!document.querySelector("h1")) {
    const title = document.createElement("h1");
    title.textContent = document.title.split(" - ")[0];
    document.querySelector("article")?.prepend(title);
  }
  document.querySelectorAll(".table-wrapper").forEach((box, index) => {
    box.setAttribute("aria-label", `Table ${index + 1}`);
  });
  document.querySelectorAll(".highlight pre").forEach((box, index) => {
    box.setAttribute("aria-label", `Example ${index + 1}`);
  });
});
