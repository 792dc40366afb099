// Shared memory in its shape: who wrote each element, when, and what stands there.

const NOBODY = 0xffffffff;

/** Wider rows would not fit into a canvas. */
const MOST_COLUMNS = 1024;

/** How bytes are shown: size, the text of a value, and its most letters. @type {Record<string, [number, (view: DataView, at: number) => string, number]>} */
const TYPES = {
  f32: [4, (view, at) => shortFloat(view.getFloat32(at, true)), 9],
  u32: [4, (view, at) => `${view.getUint32(at, true)}`, 10],
  i32: [4, (view, at) => `${view.getInt32(at, true)}`, 11],
  hex: [4, (view, at) => view.getUint32(at, true).toString(16), 8],
  f64: [8, (view, at) => shortFloat(view.getFloat64(at, true)), 10],
  i64: [8, (view, at) => `${view.getBigInt64(at, true)}`, 20],
};

/** @param {number} value */
const shortFloat = (value) => (Number.isInteger(value) && Math.abs(value) < 1e6 ? `${value}` : value.toPrecision(3));

/** The width of a letter in a cell. */
const LETTER = 6.2;

/** A value's text in so many letters: floats with fewer digits, what does not fit ends in "…", never in a digit that is not its last. @param {string} text @param {number} letters */
const inLetters = (text, letters) => {
  const fewer = /[.e]/.test(text) ? [2, 1].map((digits) => `${Number(Number(text).toPrecision(digits))}`) : [];
  return [text, ...fewer].find((text) => text.length <= letters) ?? `${text.slice(0, Math.max(0, letters - 1))}…`;
};

class SharedMemory {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    this.by = "warp";
    this.element = el("section", { class: "memory" });
  }

  /** Makes the arrays of a new session. */
  load() {
    const choose = /** @type {HTMLSelectElement} */ (el("select", { onchange: () => { this.by = choose.value; this.draw(); } },
      ...["warp", "lane", "phase"].map((by) => el("option", { value: by, selected: by === this.by }, by))));
    this.arrays = this.view.summary.arrays.map((array) => new ArrayView(this, array));
    this.element.replaceChildren(
      el("h3", {}, "Shared memory"),
      el("p", { class: "note" }, this.arrays.length ? el("label", {}, "colour by the last writer's ", choose) : "This kernel has no shared memory.",
        this.arrays.length ? " · hatched: nobody wrote it yet · frame: touched by this step" : null),
      ...this.arrays.map((array) => array.element));
  }

  /** Reads memory as it is after the current step. */
  update() {
    const { engine, session, step } = this.view;
    if (step === null || !this.arrays.length) return;
    this.bytes = new DataView(engine.column(session, "memory").buffer);
    this.writers = engine.column(session, "writerSteps", step);
    this.lanes = engine.column(session, "writerLanes", step);
    this.draw();
  }

  draw() {
    if (!this.bytes) return;
    this.touched = new Map();
    for (const access of this.view.stepState?.accesses ?? []) {
      if (access.space !== "shared") continue;
      for (const [lane, address] of access.lanes) {
        for (let at = address; at < address + access.size; at += 4) this.touched.set(at >> 2, [lane, access.kind]);
      }
    }
    this.arrays.forEach((array) => array.draw());
  }

  /** The step that wrote a word last, as words. @param {number} word */
  writer(word) {
    const step = this.writers[word];
    if (step === NOBODY) return "nobody wrote it yet";
    const warp = this.view.columns.warp[step];
    return `written by warp ${warp}, lane ${this.lanes[word]} (thread ${warp * 32 + this.lanes[word]}) in step ${step}, phase ${this.view.phaseOf(step)}`;
  }

  /** @param {number} word */
  group(word) {
    const step = this.writers[word];
    if (this.by === "lane") return this.lanes[word];
    return this.by === "phase" ? this.view.phaseOf(step) : this.view.columns.warp[step];
  }

  /** What else there is to say of an element's place in its array. @param {number} at */
  where(at) {
    return `bank ${(at >> 2) % 32}`;
  }

  /** Goes to the step that wrote a word last. @param {number} word */
  jump(word) {
    if (this.writers && this.writers[word] !== NOBODY) this.view.go(this.writers[word]);
  }
}

/** An array as cells: one of shared memory, or an output. */
class ArrayView {
  /** @param {SharedMemory | OutputMemory} memory @param {SharedArray} array */
  constructor(memory, array) {
    this.memory = memory;
    this.array = array;
    this.type = memory.view.numbers;
    const row = Math.floor((array.row_bytes ?? 0) / TYPES[this.type][0]);
    this.columns = row >= 1 && row <= MOST_COLUMNS ? row : 32;
    const type = /** @type {HTMLSelectElement} */ (el("select", { onchange: () => { this.type = type.value; this.draw(); } },
      ...Object.keys(TYPES).map((name) => el("option", { value: name, selected: name === this.type }, name))));
    const columns = /** @type {HTMLInputElement} */ (el("input", {
      type: "number", min: 1, max: MOST_COLUMNS, value: this.columns, class: "columns",
      oninput: () => { this.columns = Math.max(1, Math.min(MOST_COLUMNS, columns.valueAsNumber || 32)); this.draw(); },
    }));
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", { role: "img", onpointermove: (event) => this.hover(event), onclick: (event) => this.click(event) }));
    this.spacer = el("div", { class: "spacer" }, this.canvas);
    this.scroll = el("div", { class: "cells", tabindex: 0, onscroll: () => this.draw() }, this.spacer);
    this.readout = el("p", { class: "note readout", "aria-live": "polite" }, " ");
    this.shape = el("span", {});
    const how = this.columns === row ? "rows as the accesses show them" : "rows of 32";
    this.element = el("div", { class: "array", "data-start": array.start, "data-bytes": array.size },
      el("p", {}, el("b", {}, array.name), " ", this.shape, ", ", counted(array.size, "byte"), " · ", el("label", {}, "as ", type), " · ",
        el("label", {}, "columns ", columns), el("span", { class: "note" }, ` (${how})`)),
      this.scroll, this.readout);
  }

  draw() {
    if (!this.memory.bytes) return;
    const size = TYPES[this.type][0];
    const elements = Math.floor(this.array.size / size);
    const rows = Math.ceil(elements / this.columns);
    this.shape.textContent = rows > 1 ? `[[${this.type}; ${this.columns}]; ${rows}]` : `[${this.type}; ${elements}]`;
    const room = this.scroll.clientWidth || 600;
    this.cell = Math.max(9, Math.min(Math.ceil(TYPES[this.type][2] * LETTER) + 4, Math.floor(room / this.columns)));
    this.canvas.dataset.cell = `${this.cell}`;
    const tall = Math.min(this.cell, 20);
    this.tall = tall;
    const shown = Math.min(rows, Math.floor(420 / tall));
    this.scroll.style.height = `${shown * tall + 16}px`;
    this.spacer.style.height = `${rows * tall}px`;
    this.spacer.style.width = `${Math.max(room - 2, this.columns * this.cell)}px`;
    const top = Math.min(Math.floor(this.scroll.scrollTop / tall), Math.max(0, rows - shown));
    this.canvas.style.top = `${top * tall}px`;
    const { context } = fitted(this.canvas, (shown + 1) * tall);
    const dark = isDark();
    const ink = color("ink");
    for (let row = top; row <= Math.min(rows - 1, top + shown); row++) {
      for (let column = 0; column < this.columns; column++) {
        const element = row * this.columns + column;
        if (element >= elements) break;
        this.element_(context, element, column * this.cell, (row - top) * tall, { dark, ink, size });
      }
    }
    const first = this.memory.touched ? [...this.memory.touched.keys()].filter((word) => this.owns(word)) : [];
    this.canvas.setAttribute("aria-label", `${this.array.name}: ${counted(first.length, "word")} touched by this step`);
  }

  /** @param {number} word */
  owns(word) {
    return word * 4 >= this.array.start && word * 4 < this.array.start + this.array.size;
  }

  element_(context, element, x, y, { dark, ink, size }) {
    const at = this.array.start + element * size;
    const word = at >> 2;
    const [width, height] = [this.cell - 1, this.tall - 1];
    const written = this.memory.writers[word] !== NOBODY;
    if (written) {
      context.fillStyle = oneOfMany(this.memory.group(word), dark);
      context.fillRect(x, y, width, height);
    } else {
      context.strokeStyle = color("line");
      context.beginPath();
      for (let slant = -height; slant < width; slant += 5) {
        context.moveTo(x + Math.max(0, slant), y + Math.max(0, -slant));
        context.lineTo(x + Math.min(width, slant + height), y + Math.min(height, width - slant));
      }
      context.stroke();
    }
    if (written && this.cell >= 26) {
      context.fillStyle = ink;
      const text = TYPES[this.type][1](this.memory.bytes, at);
      context.fillText(inLetters(text, Math.floor((width - 2) / LETTER)), x + 2, y + height / 2 + 1);
    }
    const touched = this.memory.touched.get(word);
    if (touched) {
      context.strokeStyle = color("cursor");
      context.lineWidth = 2;
      context.setLineDash(touched[1] === "read" ? [3, 2] : []);
      context.strokeRect(x + 1, y + 1, width - 2, height - 2);
      context.setLineDash([]);
      context.lineWidth = 1;
    }
  }

  /** The first byte of the element at a place. @param {PointerEvent} event */
  at(event) {
    const size = TYPES[this.type][0];
    const top = parseInt(this.canvas.style.top || "0", 10) / this.tall;
    const [column, row] = [Math.floor(event.offsetX / this.cell), Math.floor(event.offsetY / this.tall) + top];
    const at = (row * this.columns + column) * size;
    return column < this.columns && at + size <= this.array.size ? { at, row, column } : null;
  }

  hover(event) {
    const place = this.at(event);
    if (!place || !this.memory.bytes) return;
    this.readout.textContent = this.describe(place.at);
  }

  /** An element by its first byte: place, value and writer. @param {number} at */
  describe(at) {
    const [size, text] = TYPES[this.type];
    const element = at / size;
    const place = `[${Math.floor(element / this.columns)}][${element % this.columns}]`;
    const start = this.array.start + at;
    return `${place} = ${text(/** @type {DataView} */ (this.memory.bytes), start)}, ${this.memory.where(at, size)}: ${this.memory.writer(start >> 2)}`;
  }

  /** Scrolls to an element by its first byte, and describes it and the one before. @param {number} byte */
  reveal(byte) {
    const size = TYPES[this.type][0];
    const at = byte - (byte % size);
    this.scroll.scrollTop = Math.max(0, Math.floor(at / size / this.columns) - 2) * this.tall;
    this.readout.textContent = this.describe(at) + (at >= size ? ` · before it ${this.describe(at - size)}` : "");
  }

  /** Goes to the step that wrote the element. @param {PointerEvent} event */
  click(event) {
    const place = this.at(event);
    if (place) this.memory.jump((this.array.start + place.at) >> 2);
  }
}
