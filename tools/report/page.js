// The page: its sections, its drawing, and a check of itself.

function runSection(run, index, alone) {
  const from = run.checkpoint === null ?
    null :
    html("p", {class: "muted"},
      `The checkpoint after step ${format(run.checkpoint.step)}${
        run.metrics.best !== null && run.metrics.best.step === run.checkpoint.step ? ", the best of the run" : ""}.`);
  const parts =
    [
      sampleBlock(run), ...predictionBlock(run.predictions), ...learnedBlock(run.learned), ...learnedBlock(run.mixing)
    ].filter((part) => part !== null);
  if (parts.length === 0 && run.notes.length === 0) return null;
  return html("section", {}, html("h2", {}, alone ? "The model" : runKey(index), alone ? "" : " " + run.name), from,
    ...run.notes.map((text) => html("p", {class: "note"}, text + ".")), ...parts);
}

function showPage({title, runs}) {
  const alone = runs.length === 1;
  const main = document.querySelector("main");
  main.replaceChildren(html("header", {}, html("h1", {}, title),
                         html("p", {class: "muted"}, alone ? runs[0].folder : `${runs.length} runs`)),
    summary(runs), curveSection(runs), settingsSection(runs),
    ...runs.map((run, index) => runSection(run, index, alone)).filter((section) => section !== null));
  drawAll();
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
  let width = main.clientWidth;
  new ResizeObserver(() => {
    if (main.clientWidth !== width) drawAll();
    width = main.clientWidth;
  }).observe(main);
  reportItself();
}

function drawAll() {
  for (const each of figures) each.draw();
}

// Describes a fault of a figure's drawing; empty if there is none.
function fault({element, boxes}) {
  if (boxes.length === 0) return element.querySelector("i, td, canvas") === null ? "empty" : "";
  for (const box of boxes) {
    const drawing = box.querySelector("svg");
    if (drawing === null || drawing.querySelector(".mark") === null) return "empty";
    for (const mark of drawing.querySelectorAll("*")) {
      for (const {name, value} of mark.attributes)
        if (name !== "href" && name !== "aria-label" && /NaN|undefined|Infinity/.test(value))
          return `${name} is ${value.slice(0, 40)}`;
      if (mark.tagName === "path" && mark.classList.contains("mark") && !mark.getAttribute("d"))
        return "a line without points";
    }
    const {width} = drawing.getBoundingClientRect(), left = drawing.getBoundingClientRect().left;
    for (const text of drawing.querySelectorAll("text")) {
      const at = text.getBoundingClientRect();
      if (at.left < left - 3 || at.right > left + width + 3) return `"${text.textContent}" is cut off`;
    }
  }
  return "";
}

// For a test in a browser. Reports on the root element the number of figures, of drawn figures and of errors, and
// whether the page fits into the window; and on each figure its fault.
function reportItself() {
  const root = document.documentElement;
  let drawn = 0;
  for (const each of figures) {
    const what = fault(each);
    each.element.dataset.drawn = what === "" ? "yes" : what;
    drawn += what === "" ? 1 : 0;
  }
  Object.assign(root.dataset,
    {figures: figures.length, drawn, errors: errors.length, fits: root.scrollWidth <= root.clientWidth ? "yes" : "no"});
}
