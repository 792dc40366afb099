// Starts the page: data, emulator, views, keyboard, links and theme.

/** @type {View[]} */
const views = [];
/** The view that keys go to. */
let active = 0;

/** The place in the page's fragment: view, block, warp and step. */
function writeLink() {
  const view = views[active];
  if (view?.step === null || view?.step === undefined) return;
  const warp = view.columns.warp[view.step];
  history.replaceState(null, "", `#view=${active}&block=${view.summary.block.number}&warp=${warp}&step=${view.step}`);
}

function followLink() {
  const place = new URLSearchParams(location.hash.slice(1));
  if (!place.has("step")) return false;
  active = Math.min(views.length - 1, Number(place.get("view") ?? 0));
  const view = views[active];
  view.show(Number(place.get("block") ?? 0));
  view.go(Number(place.get("step")));
  return true;
}

/** @type {Record<string, [string, number]>} */
const KEYS = {
  ArrowLeft: ["step", -1], ArrowRight: ["step", 1], b: ["barrier", 1], B: ["barrier", -1], c: ["conflict", 1], C: ["conflict", -1],
  f: ["finding", 1], F: ["finding", -1], "+": ["zoom", 1], "=": ["zoom", 1], "-": ["zoom", -1], Home: ["end", -1], End: ["end", 1], p: ["layout", 1],
};

function onKey(/** @type {KeyboardEvent} */ event) {
  const target = /** @type {HTMLElement} */ (event.target);
  if (target.closest("input, textarea, select") || event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.key === "t") return switchTheme();
  const known = KEYS[event.key];
  if (!known) return;
  event.preventDefault();
  const [name, direction] = known;
  views[active]?.command(name === "step" && event.shiftKey ? "warp" : name, direction);
}

function switchTheme() {
  document.documentElement.dataset.theme = isDark() ? "light" : "dark";
  redraw();
}

function redraw() {
  for (const view of views) {
    view.timeline.draw();
    view.memory.draw();
    view.outputs.update();
  }
}

async function start() {
  const began = performance.now();
  const room = /** @type {HTMLElement} */ (document.getElementById("views"));
  try {
    const engine = await Engine.start(await embedded("module"));
    const data = /** @type {Trace} */ (JSON.parse(new TextDecoder().decode(await embedded("data"))));
    engine.ask({ files: data.files });
    room.replaceChildren();
    data.launches.forEach((_, number) => {
      const view = new View(engine, data, number, () => { active = number; writeLink(); });
      views.push(view);
      view.element.addEventListener("pointerdown", () => { active = number; });
      view.element.addEventListener("focusin", () => { active = number; });
      room.append(view.element);
      view.open();
    });
    const linked = followLink();
    [...views].reverse().forEach((view) => {
      if (linked && view === views[active]) return;
      view.begin();
    });
    if (linked) followLink();
    document.documentElement.dataset.opened = `${Math.round(performance.now() - began)}`;
  } catch (problem) {
    room.replaceChildren(el("p", { class: "bad", role: "alert" }, `The launch cannot be shown: ${problem instanceof Error ? problem.message : problem}`));
    document.documentElement.dataset.opened = "failed";
  }
}

document.addEventListener("keydown", onKey);
document.getElementById("theme")?.addEventListener("click", switchTheme);
addEventListener("hashchange", followLink);
addEventListener("resize", redraw);
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
start();
