// Colours by meaning, read from the style sheet so that light and dark are one list.

/** A canvas needs the colour that a variable means now: an element that wears it says so. @param {string} name */
function color(name) {
  const key = `${name} ${isDark()}`;
  let known = COLORS.get(key);
  if (!known) {
    const probe = el("span", { style: `color: var(--${name})` });
    document.body.append(probe);
    known = getComputedStyle(probe).color;
    probe.remove();
    COLORS.set(key, known);
  }
  return known;
}

/** @type {Map<string, string>} */
const COLORS = new Map();

/** What a step is drawn as, the most telling first. The letter says the same as the colour. */
const SORTS = [
  { name: "compute", label: "no memory", letter: "" },
  { name: "global", label: "global memory", letter: "g" },
  { name: "shared", label: "shared memory", letter: "s" },
  { name: "wasted", label: "global memory, more sectors than needed", letter: "G" },
  { name: "barrier", label: "barrier", letter: "|" },
  { name: "conflict", label: "bank conflict: wavefronts", letter: "×" },
];
const [COMPUTE, GLOBAL, SHARED, WASTED, BARRIER, CONFLICT] = SORTS.keys();

/** A colour for one of many: hues far apart for neighbours. @param {number} number @param {boolean} dark */
function oneOfMany(number, dark) {
  const hue = (number * 137.508) % 360;
  return `hsl(${hue.toFixed(0)} ${dark ? "45% 32%" : "70% 80%"})`;
}

/** @returns {boolean} */
function isDark() {
  const chosen = document.documentElement.dataset.theme;
  return chosen ? chosen === "dark" : matchMedia("(prefers-color-scheme: dark)").matches;
}

/**
 * Fits a canvas to its place on the screen and clears it.
 * @param {HTMLCanvasElement} canvas @param {number} height
 */
function fitted(canvas, height) {
  return sized(canvas, canvas.parentElement?.clientWidth || 300, height);
}

/**
 * Gives a canvas a size and clears it.
 * @param {HTMLCanvasElement} canvas @param {number} width @param {number} height
 */
function sized(canvas, width, height) {
  const ratio = devicePixelRatio || 1;
  canvas.width = Math.floor(width * ratio);
  canvas.height = Math.floor(height * ratio);
  canvas.style.width = `${width}px`;
  canvas.style.height = `${height}px`;
  const context = /** @type {CanvasRenderingContext2D} */ (canvas.getContext("2d"));
  context.setTransform(ratio, 0, 0, ratio, 0, 0);
  context.clearRect(0, 0, width, height);
  context.font = "11px ui-monospace, monospace";
  context.textBaseline = "middle";
  return { context, width, height };
}
