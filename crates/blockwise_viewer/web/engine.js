// The emulator as WebAssembly, and small helpers that every part uses.

/** @typedef {{steps: number, shared_requests: number, wavefronts: number, needed_wavefronts: number, global_requests: number, sectors: number, needed_sectors: number}} Spent */
/** @typedef {{file: string, line: number, column: number}} Source */
/** @typedef {{pc: number, line: number, source: Source | null, frames: Source[]}} Instruction */
/** @typedef {{what: string, place: {ptx_line: number, source: Source | null}, block: number[], thread: number[] | null, epoch: number, target: {space: string, address: string, size: number} | null}} Site */
/** @typedef {{rule: string, severity: string, message: string, site: Site, others: Site[], hint: string | null, count: number, step: number}} Finding */
/** @typedef {{name: string, start: number, size: number, row_bytes: number | null}} SharedArray */
/** @typedef {{finding: number, address: number, size: number, left_out: number, row_bytes: number | null}} Output */
/** @typedef {{space: string, kind: string, size: number, lanes: [number, number, string][], passes: [number, number, number][][], sectors: [number, number][], touched: number, needed: number}} Access */
/** @typedef {{accesses: Access[], registers: [string, string][], lane: number, printed: string}} StepState */
/** @typedef {{name: string, ptx: number, kernel: string, grid: number[], block: number[], shared_bytes: number, arguments: string[], seed: number | null, steps: number, detectors: object}} Launch */
/** @typedef {{title: string, launches: Launch[], ptx: {origin: string, text: string}[], files: object[], sources: {file: string, text: string}[]}} Trace */

/** What a step did, as bits; as in `timeline.rs`. */
const KIND = { readsShared: 1, writesShared: 2, readsGlobal: 4, writesGlobal: 8, barrier: 16, waits: 32 };

/** The columns of a session: number and type; as in `wasm.rs`. */
const COLUMNS = {
  at: [0, Uint32Array], warp: [1, Uint8Array], pc: [2, Uint32Array], lanes: [3, Uint32Array], kind: [4, Uint8Array],
  wavefronts: [5, Uint16Array], neededWavefronts: [6, Uint16Array], sectors: [7, Uint16Array],
  neededSectors: [8, Uint16Array], releases: [9, Uint32Array], memory: [10, Uint8Array],
  writerSteps: [11, Uint32Array], writerLanes: [12, Uint8Array],
  outputBytes: [13, Uint8Array], outputSteps: [14, Uint32Array], outputBlocks: [15, Uint32Array], outputThreads: [16, Uint16Array],
};

class Engine {
  /** @param {WebAssembly.Instance} instance */
  constructor(instance) {
    this.wasm = /** @type {any} */ (instance.exports);
  }

  /** @param {Uint8Array} module */
  static async start(module) {
    const bytes = /** @type {BufferSource} */ (module);
    const { instance } = await WebAssembly.instantiate(bytes, {});
    return new Engine(instance);
  }

  /** Asks the emulator; throws what it refuses. @param {object} request */
  ask(request) {
    const bytes = new TextEncoder().encode(JSON.stringify(request));
    // Memory may grow in any call: its buffer is asked for last.
    const room = this.wasm.room(bytes.length);
    new Uint8Array(this.wasm.memory.buffer, room, bytes.length).set(bytes);
    const length = this.wasm.ask();
    const start = this.wasm.reply();
    const reply = new Uint8Array(this.wasm.memory.buffer, start, length);
    const value = JSON.parse(new TextDecoder().decode(reply));
    if (value?.problem) throw new Error(value.hint ? `${value.problem} (${value.hint})` : value.problem);
    return value;
  }

  /** A column of a session, copied; of an output, `step` is its number. @param {number} session @param {keyof COLUMNS} name */
  column(session, name, step = 0) {
    const [number, Row] = /** @type {[number, any]} */ (COLUMNS[name]);
    const length = this.wasm.column(session, number, step);
    const start = this.wasm.reply();
    return new Row(this.wasm.memory.buffer.slice(start, start + length));
  }
}

/** @param {string} id */
async function embedded(id) {
  const text = document.getElementById(id)?.textContent ?? "";
  const decoded = atob(text);
  const bytes = new Uint8Array(decoded.length);
  for (let at = 0; at < bytes.length; at++) bytes[at] = decoded.charCodeAt(at);
  // Older type checkers do not know it.
  const { DecompressionStream } = /** @type {any} */ (globalThis);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Uint8Array(await new Response(stream).arrayBuffer());
}

/**
 * An element. Attributes that begin with "on" are listeners.
 * @param {string} tag @param {Record<string, any>} attributes @param {...(Node | string | null)} children
 */
function el(tag, attributes = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value === true) element.setAttribute(name, "");
    else if (value !== false && value !== null) element.setAttribute(name, String(value));
  }
  element.append(...children.filter((child) => child !== null));
  return element;
}

/** The first place in a sorted row whose number is not below `value`. @param {ArrayLike<number>} row @param {number} value */
function lowerBound(row, value) {
  let [low, high] = [0, row.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (row[middle] < value) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** @param {number} mask */
const lanesOf = (mask) => Array.from({ length: 32 }, (_, lane) => lane).filter((lane) => (mask >>> lane) & 1);

/** 0–3, 7 @param {number} mask */
function rangesOf(mask) {
  const parts = [];
  for (let lane = 0; lane < 32; lane++) {
    if (!((mask >>> lane) & 1)) continue;
    const first = lane;
    while (lane < 31 && (mask >>> (lane + 1)) & 1) lane++;
    parts.push(first === lane ? `${first}` : `${first}–${lane}`);
  }
  return parts.join(", ") || "none";
}

/** @param {number} count @param {string} one */
const counted = (count, one) => `${count.toLocaleString("en")} ${one}${count === 1 ? "" : "s"}`;
