// Change the launch, and run it again in the page.

class Play {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.element = el("details", { class: "play" });
  }

  load() {
    const { view } = this;
    const { launch } = view;
    const field = (/** @type {string} */ name, /** @type {string} */ value) => el("label", {}, `${name} `, el("input", { name, value, spellcheck: "false" }));
    const [first, last] = view.kernelLines();
    const lines = view.ptx.split("\n").slice(first - 1, last);
    this.problem = el("p", { class: "bad", role: "alert" });
    const form = /** @type {HTMLFormElement} */ (el("form", { onsubmit: (/** @type {Event} */ event) => { event.preventDefault(); this.run(form, [first, last]); } },
      el("p", {}, field("grid", launch.grid.join(",")), field("block", launch.block.join(",")), field("shared", `${launch.shared_bytes}`),
        field("seed", launch.seed === null ? "" : `${launch.seed}`), el("span", { class: "note" }, "no seed: the emulator's own order")),
      ...launch.arguments.map((text, at) => el("p", {}, el("label", {}, `argument ${at + 1} `, el("input", { name: "argument", value: text, class: "wide", spellcheck: "false" })))),
      el("p", {}, el("label", {}, `PTX, lines ${first} to ${last}`, el("textarea", { name: "ptx", rows: 14, spellcheck: "false" }, lines.join("\n")))),
      el("p", {}, el("button", { type: "submit" }, "Run again under the detectors"), " ", el("button", { type: "button", onclick: () => this.reset() }, "As it was")), this.problem));
    const open = this.element.hasAttribute("open");
    this.element.replaceChildren(el("summary", {}, "Play: change sizes, inputs, the order of threads or the PTX"), form);
    this.element.toggleAttribute("open", open);
  }

  /** @param {HTMLFormElement} form @param {[number, number]} range */
  run(form, [first, last]) {
    const { view } = this;
    const before = { launch: view.launch, ptx: view.ptx };
    const values = new FormData(form);
    const text = (/** @type {string} */ name) => `${values.get(name) ?? ""}`.trim();
    /** @type {Record<string, number[]>} */
    const numbers = Object.fromEntries(["grid", "block", "shared", "seed"].map((name) => [name, text(name).split(",").map(Number)]));
    for (const [name, row] of Object.entries(numbers)) {
      if (row.every((number) => Number.isSafeInteger(number) && number >= 0)) continue;
      this.problem.textContent = `${name}: whole numbers below 2⁵³, such as ${name === "grid" || name === "block" ? "4,2" : "7"}`;
      return;
    }
    const extents = (/** @type {string} */ name) => [...numbers[name], 1, 1].slice(0, 3);
    const lines = view.ptx.split("\n");
    lines.splice(first - 1, last - first + 1, ...`${values.get("ptx") ?? ""}`.replaceAll("\r", "").split("\n"));
    view.ptx = lines.join("\n");
    view.launch = {
      ...view.launch, grid: extents("grid"), block: extents("block"), shared_bytes: numbers.shared[0],
      seed: text("seed") === "" ? null : numbers.seed[0], arguments: values.getAll("argument").map(String),
    };
    this.open(before);
  }

  reset() {
    const { view } = this;
    const before = { launch: view.launch, ptx: view.ptx };
    view.launch = structuredClone(view.data.launches[view.number]);
    view.ptx = view.data.ptx[view.launch.ptx].text;
    this.open(before);
  }

  /** Runs; what is refused is said, and the launch before stays. */
  open(before) {
    const { view } = this;
    try {
      view.open();
      if (view.summary.findings.length) view.goToFinding(0);
      else view.go(0);
    } catch (problem) {
      Object.assign(view, before);
      this.problem.textContent = `${problem instanceof Error ? problem.message : problem}`;
    }
  }
}
