// Signals, values computed from them, effects, and the scopes that end them. Pages import them from view.js.

/** @import { Reactive, Readable } from "./types.d.ts" */

/** @type {Computation | undefined} */
let reader;
/** @type {Scope | undefined} */
let owner;
let created = 0;
/** @type {Set<Computation>} */
const queue = new Set();

/** The effects, listeners and rows of a part of the page, which end together. */
export class Scope {
  /** @type {Set<Scope | (() => void)>} */
  ends = new Set();
  /** Receives errors of effects in this scope. @type {((error: unknown) => void) | undefined} */
  handle;

  /** @param {Scope | undefined} parent */
  constructor(parent = owner) {
    this.parent = parent;
    parent?.ends.add(this);
  }

  /** Calls a function whose effects belong to this scope, without tracking. @template T @param {() => T} run @returns {T} */
  run(run) {
    const [outerOwner, outerReader] = [owner, reader];
    [owner, reader] = [this, undefined];
    try { return run(); } finally { [owner, reader] = [outerOwner, outerReader]; }
  }

  dispose() {
    this.parent?.ends.delete(this);
    this.clear();
  }

  /** Ends what belongs to the scope, which may be used again. */
  clear() {
    const ends = [...this.ends].reverse();
    this.ends.clear();
    for (const end of ends) typeof end === "function" ? end() : end.dispose();
  }
}

/** @param {() => void} end Called when the surrounding effect runs again, or its part of the page is removed. */
export const onDispose = (end) => { owner?.ends.add(end); };

/** Reads signals without following them. @template T @param {() => T} run @returns {T} */
export function untrack(run) {
  const outer = reader;
  reader = undefined;
  try { return run(); } finally { reader = outer; }
}

/** @template T */
class Signal {
  version = 0;
  /** @type {Set<Computation>} */
  users = new Set();
  #value;
  /** @param {T} value */
  constructor(value) { this.#value = value; }
  get value() {
    reader?.follow(this);
    return this.#value;
  }
  set value(next) {
    if (Object.is(next, this.#value)) return;
    this.#value = next;
    this.version++;
    for (const user of [...this.users]) user.stale();
  }
  refresh() {}
}

class Computation {
  id = created++;
  version = 0;
  /** @type {Set<Computation>} */
  users = new Set();
  /** @type {Map<Signal<any> | Computation, number>} */
  sources = new Map();
  isStale = true;
  isDisposed = false;
  /** @type {any} */
  result;

  /**
   * @param {() => any} run
   * @param {boolean} isEffect
   */
  constructor(run, isEffect) {
    this.compute = run;
    this.isEffect = isEffect;
    this.scope = new Scope();
    owner?.ends.add(() => this.end());
  }
  get value() {
    this.refresh();
    reader?.follow(this);
    return this.result;
  }
  /** @param {Signal<any> | Computation} source */
  follow(source) {
    this.sources.set(source, source.version);
    source.users.add(this);
  }
  stale() {
    if (this.isStale || this.isDisposed) return;
    this.isStale = true;
    if (!this.isEffect) for (const user of [...this.users]) user.stale();
    else if (queue.add(this).size === 1) queueMicrotask(flush);
  }
  hasChanged() {
    for (const [source, version] of this.sources) {
      source.refresh();
      if (source.version !== version) return true;
    }
    return this.version === 0;
  }
  refresh() {
    if (!this.isStale || this.isDisposed) return;
    this.isStale = false;
    if (!this.hasChanged()) return;
    this.leave();
    const outer = [owner, reader];
    [owner, reader] = [this.scope, this];
    try {
      const result = this.compute();
      if (this.version === 0 || !Object.is(result, this.result)) this.version++;
      this.result = result;
    } finally {
      [owner, reader] = /** @type {[Scope | undefined, Computation | undefined]} */ (outer);
      if (this.version === 0) this.version = 1;
    }
  }
  /** Runs an effect, and hands its error to the nearest handler. */
  runEffect() {
    try { this.refresh(); } catch (error) {
      let scope = this.scope.parent;
      while (scope && !scope.handle) scope = scope.parent;
      if (!scope?.handle) throw error;
      scope.handle(error);
    }
  }
  leave() {
    this.scope.clear();
    for (const source of this.sources.keys()) source.users.delete(this);
    this.sources.clear();
  }
  end() {
    this.isDisposed = true;
    this.leave();
  }
}

/** Runs the effects that are due. Happens by itself in a microtask; tests call it. */
export function flush() {
  for (let round = 0; queue.size > 0; round++) {
    const due = [...queue].sort((a, b) => a.id - b.id);
    queue.clear();
    if (round === 100) throw new Error("an effect changes what it reads");
    for (const effect of due) try { effect.runEffect(); } catch (error) { reportError(error); }
  }
}

/** Creates a value that can be followed. @template T @param {T} value @returns {{ value: T }} */
export const signal = (value) => new Signal(value);
/** Creates a value computed from others, when it is read. @template T @param {() => T} run @returns {Readable<T>} */
export const computed = (run) => new Computation(run, false);
/** Runs a function now, and again after what it read has changed. Returns a function that ends it. @param {() => void} run */
export function effect(run) {
  const computation = new Computation(run, true);
  computation.runEffect();
  return () => computation.end();
}
/** @param {any} value @returns {value is Readable<any>} */
export const isReadable = (value) => value instanceof Signal || value instanceof Computation;
/** Returns the current value of what may be reactive. @template T @param {Reactive<T>} value @returns {T} */
export const read = (value) =>
  typeof value === "function" ? /** @type {() => T} */ (value)() : isReadable(value) ? value.value : /** @type {T} */ (value);
