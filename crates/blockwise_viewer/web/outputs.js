// Outputs that the launch left partly unwritten: every element as the launch leaves it, and who
// wrote it.

class OutputPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** @type {OutputMemory[]} */
    this.outputs = [];
    this.element = el("section", { class: "outputs", hidden: true });
  }

  /** Makes the outputs of a new session. */
  load() {
    const { outputs, findings } = this.view.summary;
    this.outputs = outputs.map((/** @type {Output} */ output, /** @type {number} */ number) => new OutputMemory(this.view, output, number));
    this.element.hidden = outputs.length === 0;
    this.element.replaceChildren(
      el("h3", {}, "Output as the launch leaves it"),
      el("p", { class: "note" }, "coloured by the block that wrote it last · hatched: nobody wrote it · frame: touched by this step · click: to the step that wrote it"),
      ...this.outputs.flatMap((memory) => [el("p", {}, findings[memory.output.finding].message), memory.array.element]));
  }

  /** Draws what the current step touches. */
  update() {
    this.outputs.forEach((memory) => memory.update());
  }

  /** Shows the first gap of the output that a finding is about. @param {number} finding */
  reveal(finding) {
    this.outputs.find((memory) => memory.output.finding === finding)?.reveal();
  }
}

class OutputMemory {
  /** @param {View} view @param {Output} output @param {number} number */
  constructor(view, output, number) {
    const { engine, session } = view;
    this.view = view;
    this.output = output;
    this.bytes = new DataView(engine.column(session, "outputBytes", number).buffer);
    this.writers = engine.column(session, "outputSteps", number);
    this.blocks = engine.column(session, "outputBlocks", number);
    this.threads = engine.column(session, "outputThreads", number);
    const name = output.left_out ? `its first ${counted(output.size, "byte")}; ${counted(output.left_out, "byte")} are not shown` : "output";
    this.array = new ArrayView(this, { name, start: 0, size: output.size, row_bytes: output.row_bytes });
  }

  update() {
    this.touched = new Map();
    for (const access of this.view.stepState?.accesses ?? []) {
      if (access.space !== "global") continue;
      for (const [lane, address] of access.lanes) {
        const start = address - this.output.address;
        for (let at = start; at < start + access.size; at += 4) if (at >= 0 && at < this.output.size) this.touched.set(at >> 2, [lane, access.way]);
      }
    }
    this.array.draw();
  }

  /** @param {number} word */
  writer(word) {
    if (this.writers[word] === NOBODY) return "nobody wrote it";
    return `written by thread ${this.threads[word]} of block ${this.blocks[word]} in step ${this.writers[word]} of the launch`;
  }

  /** @param {number} word */
  group(word) {
    return this.blocks[word];
  }

  /** @param {number} at @param {number} size */
  where(at, size) {
    return `element ${at / size}`;
  }

  /** Goes to the step that wrote a word. @param {number} word */
  jump(word) {
    if (this.writers[word] === NOBODY) return;
    this.view.show(this.blocks[word]);
    const step = this.view.stepAt(this.writers[word]);
    if (step !== null) this.view.go(step);
  }

  /** Scrolls to the first element that nobody wrote, and says who wrote the one before. */
  reveal() {
    const gap = this.writers.indexOf(NOBODY);
    if (gap < 0) return;
    this.array.reveal(4 * gap);
  }
}
