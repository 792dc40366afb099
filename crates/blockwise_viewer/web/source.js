// Rust and PTX side by side, with what each line costs. A line leads to its accesses, and a step to
// its line.

/** What the heat column counts. @type {Record<string, [string, (spent: Spent) => number]>} */
const HEAT = {
  extra: ["wavefronts beyond needed", (spent) => spent.wavefronts - spent.needed_wavefronts],
  wavefronts: ["wavefronts", (spent) => spent.wavefronts],
  sectors: ["sectors", (spent) => spent.sectors],
  steps: ["warp instructions", (spent) => spent.steps],
};

class SourcePanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.heat = "steps";
    this.element = el("section", { class: "source" });
  }

  load() {
    const { summary, ptx, sources } = this.view;
    this.byPc = new Map(summary.code.map((instruction) => [instruction.pc, instruction]));
    /** @type {Map<string, number[]>} */
    this.pcs = new Map();
    for (const instruction of summary.code) {
      this.note(`ptx:${instruction.line}`, instruction.pc);
      for (const frame of instruction.frames) this.note(`${frame.file}:${frame.line}`, instruction.pc);
    }
    const total = summary.total;
    if (total.wavefronts > total.needed_wavefronts) this.heat = "extra";
    else if (total.wavefronts > 0) this.heat = "wavefronts";
    const choose = /** @type {HTMLSelectElement} */ (el("select", { onchange: () => { this.heat = choose.value; this.load(); this.update(); } },
      ...Object.entries(HEAT).map(([name, [label]]) => el("option", { value: name, selected: name === this.heat }, /** @type {string} */ (label)))));
    this.rows = new Map();
    /** The rows of the current step. @type {HTMLElement[]} */
    this.current = [];
    this.marked = null;
    const files = sources.filter((source) => [...this.pcs.keys()].some((key) => key.startsWith(`${source.file}:`)));
    const panes = files.map((source) => this.pane(source.file, source.file, this.window(source)));
    const [first, last] = this.view.kernelLines();
    const lines = ptx.split("\n").slice(first - 1, last).map((text, at) => /** @type {[number, string]} */ ([first + at, text]));
    panes.push(this.pane("PTX", "ptx", lines));
    this.frames = el("p", { class: "note" }, " ");
    this.element.replaceChildren(
      el("h3", {}, "Source"), el("p", { class: "note" }, el("label", {}, "cost of each line in the whole launch: ", choose), " · click a line to go to its next step"),
      this.frames, el("div", { class: "panes" }, ...panes));
  }

  note(key, pc) {
    const known = this.pcs.get(key);
    if (known?.at(-1) === pc) return;
    if (known) known.push(pc);
    else this.pcs.set(key, [pc]);
  }

  /** The lines of a file around those that run. @param {{file: string, text: string}} source @returns {[number, string][]} */
  window(source) {
    const used = [...this.pcs.keys()].filter((key) => key.startsWith(`${source.file}:`)).map((key) => Number(key.slice(source.file.length + 1)));
    const near = new Set(used.flatMap((line) => Array.from({ length: 13 }, (_, at) => line - 6 + at)));
    return source.text.split("\n").map((text, at) => /** @type {[number, string]} */ ([at + 1, text])).filter(([line]) => near.has(line));
  }

  /** @param {string} title @param {string} file @param {[number, string][]} lines */
  pane(title, file, lines) {
    const [, measure] = HEAT[this.heat];
    const costOf = (/** @type {string} */ key) => (this.pcs.get(key) ?? []).reduce((sum, pc) => {
      const spent = this.view.summary.spent[pc];
      return sum + (spent ? measure(spent) : 0);
    }, 0);
    const costs = lines.map(([line]) => costOf(`${file}:${line}`));
    const most = Math.max(1, ...costs);
    const rows = lines.map(([line, text], at) => {
      const key = `${file}:${line}`;
      const runs = this.pcs.has(key);
      const row = el("button", { type: "button", class: "line", disabled: !runs, "data-line": key, onclick: () => this.pick(key) },
        el("span", { class: "heat", style: `--heat: ${costs[at] / most}` }, costs[at] ? costs[at].toLocaleString("en") : ""),
        el("span", { class: "number" }, `${line}`), el("code", {}, text || " "));
      this.rows.set(key, row);
      return row;
    });
    return el("div", { class: "pane" }, el("h4", {}, title), el("div", { class: "lines" }, ...rows));
  }

  /** Marks the steps of a line, and goes to the next of them. @param {string} key */
  pick(key) {
    const pcs = new Set(this.pcs.get(key));
    this.view.marked = pcs;
    const { pc } = this.view.columns;
    const start = (this.view.step ?? -1) + 1;
    for (let at = 0; at < pc.length; at++) {
      const step = (start + at) % pc.length;
      if (pcs.has(pc[step])) return this.view.go(step);
    }
    this.view.timeline.draw();
  }

  /** Marks the lines that were picked, if they are others than before. */
  mark() {
    const { marked } = this.view;
    if (this.marked === marked) return;
    this.marked = marked;
    for (const [key, pcs] of this.pcs) this.rows.get(key)?.classList.toggle("marked", pcs.some((pc) => marked.has(pc)));
  }

  update() {
    const step = this.view.step;
    if (step === null) return;
    for (const row of this.current) row.classList.remove("now");
    this.current = [];
    this.mark();
    const instruction = this.byPc.get(this.view.columns.pc[step]);
    if (!instruction) return;
    const frames = instruction.frames.map((frame) => `${frame.file}:${frame.line}`);
    this.frames.textContent = frames.length > 1 ? `inlined: ${frames.join(" ← ")}` : frames[0] ?? "the PTX has no line table";
    const own = instruction.source ? `${instruction.source.file}:${instruction.source.line}` : "";
    for (const key of [`ptx:${instruction.line}`, ...frames]) {
      const row = this.rows.get(key);
      if (!row) continue;
      row.classList.add("now");
      this.current.push(row);
      if (key === own || key.startsWith("ptx:")) {
        const box = /** @type {HTMLElement} */ (row.parentElement);
        const top = row.offsetTop;
        if (top < box.scrollTop || top > box.scrollTop + box.clientHeight - 24) box.scrollTop = top - box.clientHeight / 2;
      }
    }
  }
}
