// Time: a track for each warp, a box for each instruction, lines where barriers complete.

const TRACK = 18;
const HEAD = 16;
const LEFT = 52;

class Timeline {
  /** @param {View} view */
  constructor(view) {
    this.view = view;
    /** Warps side by side between barriers, as a GPU may run them; else in the emulator's order. */
    this.parallel = true;
    this.canvas = /** @type {HTMLCanvasElement} */ (el("canvas", {
      class: "timeline", tabindex: 0, role: "img",
      onpointerdown: (event) => this.press(event), onpointermove: (event) => this.move(event),
      onpointerup: () => { this.drag = null; }, onwheel: (event) => this.wheel(event),
    }));
    this.element = el("div", { class: "scroll" }, this.canvas);
    this.drag = null;
    /** What was drawn last, and of what. @type {{key: string, x: Uint32Array, marked: Set<number>, canvas: HTMLCanvasElement} | null} */
    this.drawn = null;
  }

  /** Places the steps of a new session. */
  load() {
    const { columns } = this.view;
    const warps = this.view.warps;
    this.lists = Array.from({ length: warps }, () => /** @type {number[]} */ ([]));
    for (let step = 0; step < columns.at.length; step++) this.lists[columns.warp[step]].push(step);
    this.lists = this.lists.map((list) => Uint32Array.from(list));
    this.place();
    this.fit();
  }

  /** Where each step is drawn, and where phases begin. */
  place() {
    const { warp, releases, at } = this.view.columns;
    this.x = new Uint32Array(at.length);
    this.phaseStarts = [0];
    if (this.parallel) {
      const used = new Uint32Array(this.view.warps);
      let [start, phase] = [0, 0];
      for (let step = 0; step < at.length; step++) {
        while (phase < releases.length && releases[phase] <= step) {
          start += Math.max(...used);
          this.phaseStarts.push(start);
          used.fill(0);
          phase++;
        }
        this.x[step] = start + used[warp[step]]++;
      }
      this.end = start + Math.max(1, ...used);
    } else {
      this.x.forEach((_, step) => { this.x[step] = step; });
      this.phaseStarts.push(...releases);
      this.end = Math.max(1, at.length);
    }
  }

  toggle() {
    this.parallel = !this.parallel;
    this.place();
    this.fit();
    this.reveal();
  }

  /** The whole time, or as much as can be read. */
  fit() {
    this.first = 0;
    this.scale = Math.max(this.width() / this.end, Math.min(14, this.width() / Math.min(this.end, 60)));
    if (this.end > 4000) this.scale = this.width() / this.end;
  }

  width() {
    return Math.max(100, (this.element.clientWidth || 900) - LEFT);
  }

  /** @param {number} factor */
  zoom(factor, centre = this.width() / 2) {
    const time = this.first + centre / this.scale;
    this.scale = Math.min(60, Math.max(this.width() / this.end, this.scale * factor));
    this.first = time - centre / this.scale;
    this.draw();
  }

  /** Moves so that the current step is seen. */
  reveal() {
    if (this.view.step === null) return;
    const [time, room] = [this.x[this.view.step], this.width() / this.scale];
    if (time < this.first || time + 1 > this.first + room) this.first = time - room / 2;
    this.draw();
  }

  /** What a step is drawn as. @param {number} step */
  sort(step) {
    const { kind, wavefronts, neededWavefronts, sectors, neededSectors } = this.view.columns;
    if (kind[step] & KIND.barrier) return BARRIER;
    if (wavefronts[step] > neededWavefronts[step]) return CONFLICT;
    if (kind[step] & (KIND.readsShared | KIND.writesShared)) return SHARED;
    if (sectors[step] > neededSectors[step]) return WASTED;
    if (kind[step] & (KIND.readsGlobal | KIND.writesGlobal)) return GLOBAL;
    return COMPUTE;
  }

  draw() {
    const height = HEAD + TRACK * this.view.warps + 4;
    const { context, width } = fitted(this.canvas, height);
    this.first = Math.max(0, Math.min(this.first, this.end - this.width() / this.scale));
    context.drawImage(this.tracks(width, height), 0, 0, width, height);
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT, height);
    context.clip();
    this.cursor(context, (time) => this.toX(time), height);
    this.describe();
  }

  /** @param {number} time */
  toX(time) {
    return LEFT + (time - this.first) * this.scale;
  }

  /** All but the cursor: a step redraws nothing of it while the same time is shown. @param {number} width @param {number} height */
  tracks(width, height) {
    const key = [width, height, this.first, this.scale, isDark(), devicePixelRatio].join(" ");
    const { marked } = this.view;
    const known = this.drawn;
    if (known?.key === key && known.x === this.x && known.marked === marked) return known.canvas;
    const canvas = document.createElement("canvas");
    const { context } = sized(canvas, width, height);
    const last = this.first + this.width() / this.scale;
    const toX = (/** @type {number} */ time) => this.toX(time);
    context.fillStyle = color("dim");
    for (let warp = 0; warp < this.view.warps; warp++) context.fillText(`warp ${warp}`, 2, HEAD + TRACK * (warp + 0.5));
    this.phases(context, toX, width, height);
    context.beginPath();
    context.rect(LEFT, 0, width - LEFT, height);
    context.clip();
    for (let warp = 0; warp < this.view.warps; warp++) this.track(context, warp, toX, last);
    this.drawn = { key, x: this.x, marked, canvas };
    this.canvas.dataset.drawings = `${Number(this.canvas.dataset.drawings ?? 0) + 1}`;
    return canvas;
  }

  /** @param {CanvasRenderingContext2D} context @param {(time: number) => number} toX @param {number} width @param {number} height */
  phases(context, toX, width, height) {
    this.phaseStarts.forEach((start, phase) => {
      const [left, right] = [toX(start), toX(this.phaseStarts[phase + 1] ?? this.end)];
      if (right < LEFT || left > width) return;
      if (left >= LEFT && phase > 0) {
        context.fillStyle = color("barrier");
        context.fillRect(left - 0.5, 0, 1, height);
      }
      if (right - left > 60) {
        context.fillStyle = color("dim");
        context.fillText(`phase ${phase}`, Math.max(left, LEFT) + 4, HEAD / 2);
      }
    });
  }

  /** @param {CanvasRenderingContext2D} context @param {number} warp @param {(time: number) => number} toX @param {number} last */
  track(context, warp, toX, last) {
    const list = this.lists[warp];
    const top = HEAD + TRACK * warp;
    const colors = SORTS.map((sort) => color(sort.name));
    const { kind, wavefronts } = this.view.columns;
    // Steps of a warp are in the order of time.
    let [low, high] = [0, list.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.x[list[middle]] + 1 < this.first) low = middle + 1;
      else high = middle;
    }
    let [pixel, best, marked] = [-1, -1, false];
    const paint = () => {
      if (best < 0) return;
      const tall = best === COMPUTE ? 6 : TRACK - 4;
      context.fillStyle = colors[best];
      context.fillRect(pixel, top + (TRACK - tall) / 2, Math.max(1, this.scale - 1), tall);
      if (marked) {
        context.fillStyle = color("mark");
        context.fillRect(pixel, top + TRACK - 3, Math.max(1, this.scale - 1), 3);
      }
    };
    for (let at = low; at < list.length && this.x[list[at]] <= last; at++) {
      const step = list[at];
      const [x, sort] = [Math.floor(toX(this.x[step])), this.sort(step)];
      if (x !== pixel) {
        paint();
        [pixel, best, marked] = [x, -1, false];
      }
      best = Math.max(best, sort);
      marked ||= this.view.marked.has(this.view.columns.pc[step]);
      if (this.scale >= 10) {
        paint();
        best = -1;
        const letter = sort === CONFLICT ? `${wavefronts[step]}` : SORTS[sort].letter;
        context.fillStyle = color("on");
        // A number that is cut would read as another one.
        const fits = context.measureText(letter).width <= this.scale - 3;
        const text = kind[step] & KIND.waits ? "…" : fits ? letter : SORTS[sort].letter;
        if (text) context.fillText(text, x + 2, top + TRACK / 2);
      }
      if (kind[step] & KIND.barrier && at + 1 < list.length) this.wait(context, x + this.scale, toX(this.x[list[at + 1]]), top);
    }
    paint();
  }

  /** A warp waits for a barrier: a dashed line. @param {CanvasRenderingContext2D} context @param {number} left @param {number} right @param {number} top */
  wait(context, left, right, top) {
    if (right - left < 3) return;
    context.strokeStyle = color("barrier");
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(left, top + TRACK / 2);
    context.lineTo(right, top + TRACK / 2);
    context.stroke();
    context.setLineDash([]);
  }

  /** The current step, and the two ends of a finding with the edge that is missing between them. */
  cursor(context, toX, height) {
    const middle = (/** @type {number} */ step) => [
      toX(this.x[step]) + this.scale / 2, HEAD + TRACK * (this.view.columns.warp[step] + 0.5),
    ];
    const ends = this.view.ends;
    if (ends.length === 2) {
      const [[x1, y1], [x2, y2]] = ends.map(middle);
      context.strokeStyle = color("finding");
      context.lineWidth = 2;
      context.setLineDash([6, 4]);
      context.beginPath();
      context.moveTo(x1, y1);
      context.lineTo(x2, y2);
      context.stroke();
      context.setLineDash([]);
      ends.forEach((step) => this.box(context, toX, step, color("finding")));
      // Above the tracks, where it covers no access.
      const label = "no order";
      const wide = context.measureText(label).width + 6;
      const left = Math.max(LEFT, Math.min((x1 + x2 - wide) / 2, this.canvas.clientWidth - wide));
      context.fillStyle = color("paper");
      context.fillRect(left, 0, wide, HEAD - 1);
      context.fillStyle = color("finding");
      context.fillText(label, left + 3, HEAD / 2);
      context.lineWidth = 1;
    }
    if (this.view.step === null) return;
    const [x] = middle(this.view.step);
    context.fillStyle = color("cursor");
    context.fillRect(x - 0.5, 0, 1, height);
    this.box(context, toX, this.view.step, color("cursor"));
  }

  box(context, toX, step, stroke) {
    context.strokeStyle = stroke;
    context.lineWidth = 2;
    const top = HEAD + TRACK * this.view.columns.warp[step];
    context.strokeRect(toX(this.x[step]) - 2, top + 1, Math.max(4, this.scale + 2), TRACK - 2);
    context.lineWidth = 1;
  }

  describe() {
    const steps = this.view.columns.at.length;
    this.canvas.setAttribute("aria-label", `${counted(this.view.warps, "warp")}, ${counted(steps, "step")}, ${counted(this.phaseStarts.length, "phase")}`);
  }

  /** The step nearest to a place. @param {PointerEvent} event */
  at(event) {
    const warp = Math.floor((event.offsetY - HEAD) / TRACK);
    const list = this.lists[warp];
    if (!list?.length || event.offsetX < LEFT) return null;
    const time = this.first + (event.offsetX - LEFT) / this.scale;
    let [low, high] = [0, list.length - 1];
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (this.x[list[middle]] <= time) low = middle;
      else high = middle - 1;
    }
    return list[low];
  }

  press(event) {
    this.drag = { x: event.offsetX, first: this.first };
    const step = this.at(event);
    if (step !== null) this.view.go(step);
  }

  move(event) {
    if (!this.drag || Math.abs(event.offsetX - this.drag.x) < 4) return;
    this.first = this.drag.first - (event.offsetX - this.drag.x) / this.scale;
    this.draw();
  }

  wheel(event) {
    event.preventDefault();
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) {
      this.first += (event.deltaX || event.deltaY) / this.scale;
      this.draw();
    } else {
      this.zoom(event.deltaY < 0 ? 1.25 : 0.8, event.offsetX - LEFT);
    }
  }
}
