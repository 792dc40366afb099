// The access of the current step: banks and passes of shared memory, sectors of global memory,
// registers.

class AccessPanel {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.element = el("section", { class: "access", "aria-live": "polite" });
    /** Which lists are open; a step keeps them so. @type {Map<string, boolean>} */
    this.open = new Map([["lanes", true]]);
  }

  update() {
    const state = this.view.stepState;
    if (!state) return;
    const parts = state.accesses.flatMap((access) => {
      if (access.space === "shared") return [this.shared(access)];
      return access.space === "global" ? [this.global(access)] : [];
    });
    if (!parts.length) parts.push(el("p", { class: "note" }, "This step touches neither shared nor global memory."));
    const registers = state.registers.map(([name, value]) => el("span", { class: "register" }, `${name} = ${value}`));
    this.element.replaceChildren(el("h3", {}, "This step"), el("p", { class: "readout" }, this.view.stepText()), ...parts,
      this.list("registers", {}, el("summary", {}, `registers of lane ${state.lane}`), el("div", { class: "registers" }, ...registers)),
      state.printed ? el("pre", { class: "printed" }, state.printed) : "");
  }

  /** A list that stays open or closed. @param {string} name */
  list(name, attributes, ...children) {
    const list = /** @type {HTMLDetailsElement} */ (el("details", attributes, ...children));
    list.open = this.open.get(name) ?? false;
    list.addEventListener("toggle", () => this.open.set(name, list.open));
    return list;
  }

  /** What each lane reads or leaves there. @param {Access} access */
  lanes(access) {
    const items = access.lanes.map(([lane, address, bytes]) => el("span", { class: "register" }, `lane ${lane}: 0x${address.toString(16)} = 0x${littleEndian(bytes)}`));
    return this.list("lanes", { class: "lanes" }, el("summary", {}, "lanes with addresses and values"), el("div", { class: "registers" }, ...items));
  }

  /** @param {Access} access */
  shared(access) {
    const { wavefronts, neededWavefronts } = this.view.columns;
    const step = /** @type {number} */ (this.view.step);
    const [taken, needed] = [wavefronts[step], neededWavefronts[step]];
    const most = Math.max(0, ...access.passes.flat().map(([, , lanes]) => lanesOf(lanes).length));
    const verdict = taken > needed
      ? `bank conflict: ${counted(taken, "wavefront")}, ${needed} would do`
      : `no conflict: ${counted(taken, "wavefront")}`;
    const cast = most > 1 ? `; broadcast: one word goes to ${most} lanes` : "";
    const header = el("tr", {}, el("th", {}, "№"), ...Array.from({ length: 32 }, (_, bank) => el("th", {}, `${bank}`)));
    const rows = access.passes.map((pass, number) => {
      const banks = new Map(pass.map(([bank, word, lanes]) => [bank, [word, lanes]]));
      const cells = Array.from({ length: 32 }, (_, bank) => {
        const served = banks.get(bank);
        if (!served) return el("td", {});
        const [word, mask] = served;
        const lanes = lanesOf(mask);
        const text = lanes.length > 1 ? `${lanes[0]}+${lanes.length - 1}` : `${lanes[0]}`;
        return el("td", { class: lanes.length > 1 ? "served broadcast" : "served", title: `byte ${word}: lanes ${rangesOf(mask)}` }, text);
      });
      return el("tr", {}, el("th", {}, `${number + 1}`), ...cells);
    });
    return el("div", { class: "banks" },
      el("p", {}, el("b", { class: taken > needed ? "bad" : "good" }, `${access.kind} of shared memory, ${access.size} bytes a lane: ${verdict}`), cast),
      el("div", { class: "scroll" }, el("table", {}, el("caption", {}, "a row for each wavefront, a column for each bank: the lanes that it serves"), header, ...rows)), this.lanes(access));
  }

  /** @param {Access} access */
  global(access) {
    const used = access.sectors.reduce((sum, [, bits]) => sum + lanesOf(bits).length, 0);
    const bytes = 32 * access.sectors.length;
    const rows = access.sectors.map(([address, bits]) => {
      const cells = Array.from({ length: 8 }, (_, word) => {
        const part = (bits >>> (4 * word)) & 15;
        return el("td", { class: part ? "served" : "unused" }, part ? "■" : "·");
      });
      return el("tr", {}, el("th", {}, `0x${address.toString(16)}`), ...cells, el("td", {}, `${lanesOf(bits).length} of 32 bytes`));
    });
    const wasted = access.touched > access.needed;
    return el("div", { class: "sectors" },
      el("p", {}, el("b", { class: wasted ? "bad" : "good" },
        `${access.kind} of global memory, ${access.size} bytes a lane: ${counted(access.touched, "sector")}, ${access.needed} would do`),
        `; ${used} of ${bytes} bytes used, ${bytes - used} moved for nothing`),
      el("div", { class: "scroll tall" }, el("table", {}, el("caption", {}, "sectors of 32 bytes, a square for each word used"), ...rows)), this.lanes(access));
  }
}

/** Bytes in memory as a number's digits. @param {string} bytes */
const littleEndian = (bytes) => (bytes.match(/../g) ?? []).reverse().join("");
