// The first screen: what happened, where, by which threads, in which lines, at which address.

class Hero {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.element = el("section", { class: "hero", "aria-live": "polite" });
    /** What is shown: it is made anew for another finding only. */
    this.key = "";
  }

  update() {
    const { view } = this;
    const { findings } = view.summary;
    const number = findings.length ? view.shown ?? 0 : null;
    const key = `${view.session} ${view.summary.block.number} ${number} ${view.found.step}`;
    if (number === null || key !== this.key) this.load(number);
    this.key = key;
    for (const [step, site] of this.sites ?? []) site.classList.toggle("here", step === view.step);
    view.findings.querySelectorAll(".finding").forEach((item, at) => item.classList.toggle("shown", at === number));
  }

  /** @param {number | null} number */
  load(number) {
    const { view } = this;
    /** The sites by their steps. @type {[number | null, HTMLElement][]} */
    this.sites = [];
    if (number === null) {
      this.element.className = "hero";
      const { wavefronts, needed_wavefronts } = view.summary.total;
      const many = wavefronts - needed_wavefronts;
      const conflicts = many > 0 ? `, but bank conflicts: ${counted(many, "wavefront")} too many` : "";
      this.element.replaceChildren(el("h3", {}, `No findings${conflicts}`), this.step("This step", view.step, null));
      return;
    }
    const finding = view.summary.findings[number];
    const count = view.summary.findings.length;
    this.element.className = `hero ${finding.severity}`;
    const places = [finding.site, ...finding.others];
    const titles = places.map((_, at) => (places.length === 1 ? "Here" : at === 0 ? "This access" : "and the other one"));
    // Of a race the page knows both steps: they are the ends of its line in the timeline.
    const mine = view.blockOf(finding.site) === view.summary.block.number;
    const { before, step: own } = mine ? view.found : { before: null, step: null };
    const panels = places.map((site, at) => {
      const known = view.blockOf(site) === view.summary.block.number;
      const step = at === 0 ? own : at === 1 && before !== null ? before : known && own !== null && site.thread ? view.executed(site, own) : null;
      return this.step(`${titles[at]}: ${site.what}`, step, site);
    });
    this.element.replaceChildren(
      el("h3", {}, `${count > 1 ? `Finding ${number + 1} of ${count}, ` : ""}${finding.severity}: ${finding.message}`),
      el("div", { class: "sites" }, ...panels),
      finding.hint ? el("p", { class: "hint" }, `what helps: ${finding.hint}`) : null,
      el("div", { class: "go" },
        el("button", { type: "button", class: "primary", onclick: () => view.command("step", -1) }, "◀ the step before"),
        ...(count > 1 ? [el("button", { type: "button", onclick: () => view.command("finding", 1) }, "next finding (f)")] : [])));
  }

  /** A site of a finding, or a step of its own. @param {string} title @param {number | null} step @param {Site | null} site */
  step(title, step, site) {
    const { view } = this;
    const code = step === null ? null : view.source.byPc.get(view.columns.pc[step]);
    const source = site ? site.place.source : code?.source;
    const line = site ? site.place.ptx_line : code?.line;
    const rows = [];
    const row = (/** @type {string} */ name, /** @type {string} */ text) => rows.push(el("dt", {}, name), el("dd", {}, text));
    row("where", source ? `${source.file}, line ${source.line}` : `PTX, line ${line}`);
    if (site?.thread) row("who", `thread ${site.thread.join(", ")} of block ${site.block.join(", ")}: warp ${/** @type {number} */ (view.thread(site)) >> 5}, lane ${/** @type {number} */ (view.thread(site)) & 31}`);
    else if (site) row("who", `block ${site.block.join(", ")}`);
    else if (step !== null) row("who", view.stepText().split(": ")[1]);
    // An access that faults takes no place in the step: the finding knows its address.
    const target = site?.target;
    const address = (step === null ? null : this.address(step, site)) ?? (target ? `${target.space} memory, ${target.address}, ${target.size} bytes` : null);
    if (address) row("address", address);
    if (step !== null) row("when", `step ${step} of block ${view.summary.block.index.join(", ")}`);
    const panel = el("div", { class: "site" }, el("h4", {}, title), this.code(source, line), el("dl", {}, ...rows),
      step !== null && site ? el("button", { type: "button", onclick: () => view.go(step) }, `go to step ${step}`) : null);
    this.sites?.push([step, panel]);
    return panel;
  }

  /** A line between its neighbours: the source's where the page has it. */
  code(source, ptxLine) {
    const same = (/** @type {string} */ a, /** @type {string} */ b) => a === b || a.endsWith(`/${b}`) || b.endsWith(`/${a}`);
    const file = source && this.view.sources.find((known) => same(known.file, source.file));
    const lines = (file ? file.text : this.view.ptx).split("\n");
    const at = (file ? source.line : ptxLine) - 1;
    const shown = [at - 1, at, at + 1].filter((line) => lines[line]?.trim());
    const indent = Math.min(...shown.map((line) => lines[line].length - lines[line].trimStart().length));
    return el("pre", {}, ...shown.map((line) => el(line === at ? "b" : "span", {}, `${`${line + 1}`.padStart(5)}  ${lines[line].slice(indent)}\n`)));
  }

  /** What the thread of a site accesses in a step. @param {number} step @param {Site | null} site */
  address(step, site) {
    const { view } = this;
    const ask = (/** @type {number} */ step) => view.engine.ask({ step: { session: view.session, step } });
    const state = step === view.step ? view.stepState : ask(step);
    // The memory that the page shows is that of the step asked for last.
    if (step !== view.step && view.step !== null) ask(view.step);
    const lane = site ? view.thread(site) : null;
    for (const access of state?.accesses ?? []) {
      const its = access.lanes.find(([number]) => lane === null || number === (lane & 31));
      if (its) return `${access.space} memory, 0x${its[1].toString(16)}, ${access.size} bytes${lane === null ? ` in lane ${its[0]}` : ""}`;
    }
    return null;
  }
}
