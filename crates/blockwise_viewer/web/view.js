// One launch: its session, the current step, and all panels.

class View {
  /** @param {Engine} engine @param {Trace} data @param {number} number @param {() => void} moved */
  constructor(engine, data, number, moved) {
    this.engine = engine;
    this.data = data;
    this.number = number;
    this.moved = moved;
    this.launch = structuredClone(data.launches[number]);
    this.ptx = data.ptx[this.launch.ptx].text;
    this.sources = data.sources;
    this.numbers = this.launch.arguments.some((text) => text.includes("f64[")) ? "f64" : this.launch.arguments.some((text) => text.includes("f32[")) ? "f32" : "u32";
    this.session = -1;
    /** @type {number | null} */
    this.step = null;
    /** @type {Set<number>} */
    this.marked = new Set();
    /** The two ends of the finding that is shown. @type {number[]} */
    this.ends = [];
    /** The number of the finding that is shown. @type {number | undefined} */
    this.shown = undefined;
    /** Its steps in its block. @type {{before: number | null, step: number | null}} */
    this.found = { before: null, step: null };
    this.timeline = new Timeline(this);
    this.memory = new SharedMemory(this);
    this.outputs = new OutputPanel(this);
    this.access = new AccessPanel(this);
    this.source = new SourcePanel(this);
    this.head = el("div", { class: "head" });
    this.controls = el("div", { class: "controls", role: "toolbar", "aria-label": "steps" });
    this.findings = el("section", { class: "findings" });
    this.hero = new Hero(this);
    this.totals = el("section", { class: "totals" });
    this.play = new Play(this);
    this.element = el("article", { class: "view", "data-view": number, "aria-label": this.launch.name },
      this.head, this.hero.element, this.findings, this.controls, this.timeline.element, el("div", { class: "grid" }, this.outputs.element, this.memory.element, this.access.element),
      this.source.element, this.totals, this.play.element);
  }

  /** Runs the launch and shows it. Throws when it is refused. */
  open() {
    const { session, summary } = this.engine.ask({ open: { launch: this.launch, ptx: this.ptx } });
    if (this.session >= 0) this.engine.ask({ close: { session: this.session } });
    this.session = session;
    this.marked = new Set();
    this.load(summary);
    this.outputs.load();
  }

  /** @param {number} block */
  show(block) {
    if (block !== this.summary.block.number) this.load(this.engine.ask({ show: { session: this.session, block } }).summary);
  }

  load(summary) {
    this.summary = summary;
    this.shortenFiles();
    const names = /** @type {const} */ (["at", "warp", "pc", "lanes", "kind", "wavefronts", "neededWavefronts", "sectors", "neededSectors", "releases"]);
    this.columns = /** @type {any} */ (Object.fromEntries(names.map((name) => [name, this.engine.column(this.session, name)])));
    this.warps = Math.ceil(this.launch.block.reduce((all, extent) => all * extent, 1) / 32);
    [this.step, this.stepState, this.ends] = [null, null, []];
    this.timeline.load();
    this.memory.load();
    this.source.load();
    this.play.load();
    this.tell();
    this.toolbar();
  }

  /** The first and last line of the kernel in the PTX. @returns {[number, number]} */
  kernelLines() {
    const lines = this.ptx.split("\n");
    const name = this.launch.kernel.replace(/[$]/g, "\\$&");
    const first = lines.findIndex((line) => new RegExp(`\\.entry\\s+${name}\\s*(\\(|$)`).test(line));
    // The brace that closes the body: inline assembly has its own.
    let open = 0;
    const closes = (/** @type {string} */ line) => {
      const code = line.split("//")[0];
      open += code.split("{").length - code.split("}").length;
      return open === 0 && code.includes("}");
    };
    const end = lines.findIndex((line, at) => at > first && closes(line));
    return [Math.max(0, first) + 1, end < 0 ? lines.length : end + 1];
  }

  /** A line table may name one file in two ways, whole and from a folder on: it is shown once. */
  shortenFiles() {
    const places = this.summary.code.flatMap((instruction) => [...instruction.frames, ...(instruction.source ? [instruction.source] : [])]);
    const names = [...new Set(places.map((place) => place.file))].sort((a, b) => a.length - b.length);
    for (const place of places) place.file = names.find((name) => place.file === name || place.file.endsWith(`/${name}`)) ?? place.file;
  }

  /** Heading, totals and findings. */
  tell() {
    const { summary, launch } = this;
    const { total, profile } = summary;
    const [grid, block] = [launch.grid.join("×"), launch.block.join("×")];
    this.costs(total, profile);
    const left = summary.block.left_out ? `; ${counted(summary.block.left_out, "further step")} of it are not shown` : "";
    const others = summary.blocks > 1 ? `Shown: block ${summary.block.index.join(", ")} of ${summary.blocks}, with ${counted(this.columns.at.length, "step")} of its own${left}. Not shown: the other blocks; choose one below.` : `Shown: the only block${left}.`;
    // The finding says what the fault does, and where.
    const isTold = summary.findings.some((/** @type {Finding} */ finding) => summary.fault?.startsWith(finding.message.split(": element ")[0]));
    this.head.replaceChildren(
      el("h2", {}, launch.name),
      el("p", {}, el("code", {}, launch.kernel), ` · grid ${grid} · block ${block} · ${launch.seed === null ? "the emulator's own order of threads" : `order of seed ${launch.seed}`} · ${counted(summary.steps, "step")} in all`),
      el("p", { class: "note" }, others),
      ...(summary.fault ? [el("p", { class: "bad" }, isTold ? "The launch ended in this error." : `The launch ended in a fault: ${summary.fault}`)] : []),
      ...summary.notices.map((/** @type {string} */ text) => el("p", { class: "note" }, text)));
    const items = summary.findings.map((/** @type {Finding} */ finding, /** @type {number} */ number) => this.finding(finding, number));
    this.findings.replaceChildren(...(items.length > 1 ? [el("h3", {}, `All ${items.length} findings`)] : []), el("ol", { hidden: items.length < 2 }, ...items));
  }

  /** What the memory accesses of the launch cost, and what they would cost at least. */
  costs(total, profile) {
    const head = ["", "taken", "needed", "too many"].map((text) => el("th", {}, text));
    const row = (/** @type {string} */ label, /** @type {[string, (spent: Spent) => number][]} */ cells) => el("tr", {}, el("th", {}, label),
      ...cells.map(([name, of]) => el("td", { "data-total": name }, `${of(total)}`)));
    const wavefronts = row("wavefronts of shared memory", [["wavefronts", (spent) => spent.wavefronts], ["wavefronts needed", (spent) => spent.needed_wavefronts],
      ["bank conflicts", (spent) => spent.wavefronts - spent.needed_wavefronts]]);
    const sectors = row("sectors of global memory, 32 bytes each", [["sectors", (spent) => spent.sectors], ["sectors needed", (spent) => spent.needed_sectors],
      ["sectors beyond", (spent) => spent.sectors - spent.needed_sectors]]);
    const names = /** @type {const} */ (["wavefronts", "needed_wavefronts", "sectors", "needed_sectors"]);
    const differs = profile && names.some((name) => total[name] !== profile[name]);
    this.totals.replaceChildren(el("h3", {}, "Memory accesses of the whole launch"), el("table", {}, el("tr", {}, ...head), wavefronts, sectors),
      ...(differs ? [el("p", { class: "note" }, `In the emulator's own order of threads, which \u201cblockwise profile\u201d counts, they take ${profile.wavefronts} wavefronts and ${profile.sectors} sectors.`)] : []));
  }

  /** @param {Finding} finding @param {number} number */
  finding(finding, number) {
    const site = (/** @type {Site} */ site) => {
      const at = site.place.source ? `${site.place.source.file}:${site.place.source.line}` : `PTX line ${site.place.ptx_line}`;
      const who = site.thread ? `thread ${site.thread.join(", ")} of block ${site.block.join(", ")}` : `block ${site.block.join(", ")}`;
      return el("li", {}, `${site.what}, ${at}, ${who}`);
    };
    return el("li", { class: `finding ${finding.severity}`, "data-rule": finding.rule },
      el("button", { type: "button", onclick: () => this.goToFinding(number) }, `${finding.severity}: ${finding.message}`),
      el("ul", {}, site(finding.site), ...finding.others.map(site)),
      finding.hint ? el("p", { class: "hint" }, `hint: ${finding.hint}`) : null);
  }

  /** The thread's number of a site, or nothing. @param {Site} site */
  thread(site) {
    const [x, y] = this.launch.block;
    return site.thread ? site.thread[0] + x * (site.thread[1] + y * site.thread[2]) : null;
  }

  /** The number of a site's block. @param {Site} site */
  blockOf(site) {
    const [x, y] = this.launch.grid;
    return site.block[0] + x * (site.block[1] + y * site.block[2]);
  }

  /** Opens the page where something happens. */
  begin() {
    if (this.summary.findings.length) return this.goToFinding(0);
    const { kind, wavefronts, neededWavefronts } = this.columns;
    const memory = KIND.readsShared | KIND.writesShared;
    const first = (/** @type {(step: number) => boolean} */ is) => kind.findIndex((_, step) => is(step));
    const steps = [first((step) => wavefronts[step] > neededWavefronts[step]), first((step) => (kind[step] & memory) !== 0),
      first((step) => (kind[step] & (KIND.readsGlobal | KIND.writesGlobal)) !== 0), 0];
    return this.go(/** @type {number} */ (steps.find((step) => step >= 0)));
  }

  /** Opens a finding at its step. @param {number} number */
  goToFinding(number) {
    const finding = this.summary.findings[number];
    this.show(this.blockOf(finding.site));
    this.shown = number;
    this.found = { before: /** @type {number | null} */ (null), step: /** @type {number | null} */ (null) };
    const at = this.stepAt(finding.step);
    if (at === null) return this.hero.update();
    // What a barrier waits for in vain is found when the others have ended: the page goes to where
    // it was reached.
    const step = this.executed(finding.site, at) ?? at;
    // Of a race, the other access: nothing orders the two.
    const other = finding.rule.startsWith("race") && finding.others.find((site) => this.blockOf(site) === this.summary.block.number && site.thread);
    const before = other ? this.executed(other, this.pairs(other, step) ? step : step - 1) : null;
    this.ends = before === null ? [] : [before, step];
    this.found = { before, step };
    this.go(step);
    this.outputs.reveal(number);
  }

  /** The last step up to another that executed a site's instruction, by its thread where it names one. @param {Site} site @param {number} end */
  executed(site, end) {
    const thread = this.thread(site);
    const pcs = new Set(this.source.pcs.get(`ptx:${site.place.ptx_line}`));
    const { warp, lanes, pc } = this.columns;
    for (let step = end; step >= 0; step--) {
      const its = thread === null || (warp[step] === thread >> 5 && (lanes[step] >>> (thread & 31)) & 1);
      if (its && pcs.has(pc[step])) return step;
    }
    return null;
  }

  /** Whether both ends are lanes of one step. */
  pairs(site, end) {
    return this.summary.findings.some((finding) => this.stepAt(finding.step) === end && finding.others.includes(site) && this.thread(finding.site) !== this.thread(site));
  }

  /** The step of the block that is, or comes before, one of the launch. @param {number} at */
  stepAt(at) {
    const step = lowerBound(this.columns.at, at + 1) - 1;
    return step >= 0 ? step : null;
  }

  /** @param {number} step */
  phaseOf(step) {
    return lowerBound(this.columns.releases, step + 1);
  }

  /** Makes a step the current one. @param {number} step */
  go(step) {
    const last = this.columns.at.length - 1;
    if (last < 0) return;
    this.step = Math.max(0, Math.min(last, step));
    if (!this.ends.includes(this.step)) this.ends = [];
    this.stepState = this.engine.ask({ step: { session: this.session, step: this.step } });
    this.memory.update();
    this.outputs.update();
    this.access.update();
    this.source.update();
    this.timeline.reveal();
    this.place.textContent = `step ${this.step} of 0 to ${last}`;
    this.say("");
    this.hero.update();
    this.element.dataset.step = `${this.step}`;
    this.moved();
  }

  /** @returns {string} */
  stepText() {
    const step = /** @type {number} */ (this.step);
    const { warp, lanes, kind } = this.columns;
    const waits = kind[step] & KIND.waits ? ", which wait here for others of their warp" : "";
    return `step ${step}, phase ${this.phaseOf(step)}: warp ${warp[step]}, lanes ${rangesOf(lanes[step])}${waits}`;
  }

  /** Says what a key or a button could not do. @param {string} text */
  say(text) {
    if (this.said) this.said.textContent = text;
  }

  /** Goes to the next step, or the one before, that fulfils a condition. @param {string} what @param {number} direction @param {(step: number) => boolean} is */
  search(what, direction, is) {
    const count = this.columns.at.length;
    for (let step = (this.step ?? -1) + direction; step >= 0 && step < count; step += direction) if (is(step)) return this.go(step);
    return this.say(`no ${what} ${direction > 0 ? "after" : "before"} this step`);
  }

  /** @param {string} name @param {number} direction */
  command(name, direction) {
    const warp = this.step === null ? 0 : this.columns.warp[this.step];
    const findings = this.summary.findings;
    switch (name) {
      case "step": return this.search("step", direction, () => true);
      case "warp": return this.search(`step of warp ${warp}`, direction, (step) => this.columns.warp[step] === warp);
      case "barrier": return this.search("barrier", direction, (step) => (this.columns.kind[step] & KIND.barrier) !== 0);
      case "conflict": return this.search("bank conflict", direction, (step) => this.columns.wavefronts[step] > this.columns.neededWavefronts[step]);
      case "finding": if (!findings.length) this.say("no finding in this launch"); else this.goToFinding(((this.shown ?? (direction > 0 ? -1 : 0)) + direction + findings.length) % findings.length); return undefined;
      case "end": return this.go(direction > 0 ? this.columns.at.length - 1 : 0);
      case "zoom": return this.timeline.zoom(direction > 0 ? 1.5 : 1 / 1.5);
      default: return this.timeline.toggle();
    }
  }

  toolbar() {
    const button = (/** @type {string} */ text, /** @type {string} */ label, /** @type {string} */ name, /** @type {number} */ way) =>
      el("button", { type: "button", title: label, "aria-label": label, "data-command": `${name}${way > 0 ? "+" : "-"}`, onclick: () => this.command(name, way) }, text);
    this.place = el("span", { class: "place", "aria-live": "polite" }, counted(this.columns.at.length, "step"));
    this.said = el("span", { class: "said", role: "status" });
    const block = /** @type {HTMLInputElement} */ (el("input", {
      type: "number", min: 0, max: this.summary.blocks - 1, value: this.summary.block.number, class: "block", disabled: this.summary.blocks === 1,
      onchange: () => { this.show(Math.max(0, Math.min(this.summary.blocks - 1, block.valueAsNumber || 0))); this.go(0); },
    }));
    this.controls.replaceChildren(
      button("|◀", "to the beginning", "end", -1), button("◀", "step back (←)", "step", -1), button("▶", "step (→)", "step", 1), button("▶|", "to the end", "end", 1), this.place, this.said,
      button("◀ barrier", "barrier before (B)", "barrier", -1), button("barrier ▶", "next barrier (b)", "barrier", 1),
      button("◀ conflict", "conflict before (C)", "conflict", -1), button("conflict ▶", "next conflict (c)", "conflict", 1),
      button("finding ▶", "next finding (f)", "finding", 1), button("−", "zoom out (-)", "zoom", -1), button("+", "zoom in (+)", "zoom", 1),
      button("layout", "warps side by side, or in the emulator's order (p)", "layout", 1),
      el("label", {}, "block ", block),
      el("span", { class: "legend" }, ...SORTS.slice(1).map((sort) => el("span", { class: `sort ${sort.name}` }, `${sort.letter} ${sort.label}`))));
  }
}
