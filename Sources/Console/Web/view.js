// A view layer: elements whose parts follow signals, keyed lists, and lists of which only the visible rows exist.
// scripts/lint console caps the length of this file and signals.js; docs/decisions/0069 explains why they exist.

import { computed, effect, isReadable, onDispose, read, Scope, signal, untrack } from "./signals.js";
export { computed, effect, flush, onDispose, read, Scope, signal, untrack } from "./signals.js";

/** @import { Child, Props, Reactive, Readable } from "./types.d.ts" */

const properties = new Set(["value", "checked", "indeterminate", "selected", "scrollTop"]);
const forbidden = /^\s*(javascript|vbscript|data:(?!image\/))/i;
/** @param {any} element @param {string} name @param {any} value */
function assign(element, name, value) {
  if (properties.has(name)) element[name] = value ?? "";
  else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each ?? "");
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (/^(srcdoc$|on)/.test(name) || (/href$|^src$/.test(name) && forbidden.test(value))) element.removeAttribute(name);
  else element.setAttribute(name, value === true && !name.startsWith("aria-") ? "" : String(value));
}

/** @template {Element} E @param {E} element @param {Props | null} props @param {Child[]} children @returns {E} */
function build(element, props, children) {
  for (const child of children) append(element, child);
  for (const [name, value] of Object.entries(props ?? {})) {
    if (name === "ref") value(element);
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (typeof value === "function" || isReadable(value)) effect(() => assign(element, name, read(value)));
    else assign(element, name, value);
  }
  return element;
}
/**
 * Creates an element. Functions and signals among its properties and children are followed. Text is always text.
 *
 * @template {keyof HTMLElementTagNameMap} Tag
 * @param {Tag} tag @param {Props | null} [props] @param {Child[]} children @returns {HTMLElementTagNameMap[Tag]}
 */
export const h = (tag, props = null, ...children) => build(document.createElement(tag), props, children);
/** Creates an SVG element. @param {string} tag @param {Props | null} [props] @param {Child[]} children @returns {SVGElement} */
export const svg = (tag, props = null, ...children) =>
  build(/** @type {SVGElement} */ (document.createElementNS("http://www.w3.org/2000/svg", tag)), props, children);

/** Appends a child and keeps it current. @param {Node} parent @param {Child} child */
export function append(parent, child) {
  if (Array.isArray(child)) for (const each of child) append(parent, each);
  else if (typeof child === "function" || isReadable(child)) {
    const end = parent.appendChild(document.createComment(""));
    /** @type {Node[]} */
    let nodes = [];
    effect(() => { nodes = place(end, nodes, resolve(child, nodes)); });
  } else for (const node of resolve(child, [])) parent.appendChild(node);
}
/** Returns the nodes of a child; a lone text keeps its node. @param {Child} child @param {Node[]} old @returns {Node[]} */
function resolve(child, old) {
  if (Array.isArray(child)) return child.flatMap((each) => resolve(each, []));
  if (typeof child === "function" || isReadable(child)) return resolve(read(/** @type {any} */ (child)), old);
  if (child === null || child === undefined || typeof child === "boolean") return [];
  if (child instanceof Node) return [child];
  if (old.length !== 1 || old[0]?.nodeType !== 3) return [document.createTextNode(String(child))];
  if (old[0].nodeValue !== String(child)) old[0].nodeValue = String(child);
  return old;
}
/**
 * Replaces nodes before `end`, moving as few as possible.
 *
 * @param {Node | null} end @param {Node[]} old @param {Node[]} next @param {Node | null | undefined} [parent]
 */
function place(end, old, next, parent = end?.parentNode) {
  if (!parent) return next;
  const kept = new Set(next), places = new Map(old.map((node, index) => [node, index]));
  for (const node of old) if (!kept.has(node) && node.parentNode === parent) parent.removeChild(node);
  // The longest increasing run of old places stays where it is.
  /** @type {number[]} */ const tails = [];
  /** @type {number[]} */ const before = [];
  const order = next.map((node) => places.get(node) ?? -1);
  order.forEach((place, index) => {
    if (place < 0) return;
    let low = 0, high = tails.length;
    while (low < high) { const middle = (low + high) >> 1; (order[tails[middle]] < place) ? low = middle + 1 : high = middle; }
    before[index] = low > 0 ? tails[low - 1] : -1;
    tails[low] = index;
  });
  const staying = new Set();
  for (let index = tails.at(-1) ?? -1; index >= 0; index = before[index]) staying.add(index);
  let following = end;
  for (let index = next.length - 1; index >= 0; index--) {
    if (!staying.has(index)) parent.insertBefore(next[index], following);
    following = next[index];
  }
  return next;
}

/**
 * Follows a list: keeps the row of each key, and moves as few as possible. Use the result once, as a child.
 *
 * @template T
 * @param {Reactive<readonly T[]>} list
 * @param {(item: T) => unknown} key If a key repeats, the last item with it is shown.
 * @param {(item: Readable<T>) => Node} row Called once a key; the item changes with the list.
 */
export function each(list, key, row) {
  const home = new Scope();
  /** @type {Map<unknown, { item: { value: T }, scope: Scope, node: Node }>} */
  let rows = new Map();
  return () => {
    /** @type {typeof rows} */
    const next = new Map();
    for (const value of read(list)) {
      const id = key(value);
      let entry = next.get(id) ?? rows.get(id);
      if (entry) entry.item.value = value;
      else {
        const item = signal(value), scope = new Scope(home);
        entry = { item, scope, node: scope.run(() => row(item)) };
      }
      next.set(id, entry);
    }
    for (const [id, { scope }] of rows) if (!next.has(id)) scope.dispose();
    rows = next;
    return Array.from(rows.values(), ({ node }) => node);
  };
}

/**
 * Shows one of two parts. Each is made anew when the condition changes, and kept otherwise.
 *
 * @param {Reactive<unknown>} condition
 * @param {() => Child} then
 * @param {() => Child} [otherwise]
 */
export function show(condition, then, otherwise = () => null) {
  const home = new Scope(), truth = computed(() => Boolean(read(condition)));
  /** @type {Child} */
  let shown;
  /** @type {boolean | undefined} */
  let last;
  return () => {
    if (truth.value !== last) {
      last = truth.value;
      home.clear();
      shown = home.run(last ? then : otherwise);
    }
    return shown;
  };
}

/**
 * Shows a part, and another one in its place once it has failed, also in a later effect.
 *
 * @param {() => Child} part
 * @param {(error: unknown) => Child} fallback
 */
export function boundary(part, fallback) {
  const failure = signal(/** @type {{ error: unknown } | undefined} */ (undefined)), home = new Scope();
  home.handle = (error) => { failure.value ??= { error }; };
  /** @type {Child} */
  let shown;
  try { shown = home.run(() => h("div", { class: "boundary" }, part)); } catch (error) { failure.value = { error }; }
  return show(() => failure.value, () => (home.clear(), fallback(failure.value?.error)), () => shown);
}

/**
 * Creates a scrolling list of which only the visible rows exist; rows are used again. All rows have the same height.
 * Rows that are added above the visible ones do not move these, unless the list is at its top.
 *
 * @template T
 * @param {object} options
 * @param {Reactive<readonly T[]>} options.rows
 * @param {number} options.rowPx
 * @param {(item: T) => unknown} options.key
 * @param {(item: Readable<T>, index: Readable<number>) => HTMLElement} options.row Called once an element, whose item changes.
 * @param {Props} [options.props] Of the list's element.
 * @param {Readable<number>} [options.reveal] The index of a row to scroll to when it changes.
 * @param {(first: number, end: number) => void} [options.onRange] Receives the range of rows that exist.
 */
export function virtualList({ rows, rowPx, key, row, props, reveal, onRange }) {
  const items = computed(() => read(rows)), top = signal(0), heightPx = signal(0), home = new Scope();
  const inner = h("div", { class: "virtual-rows" });
  const spacer = h("div", { class: "virtual-space", style: () => ({ "block-size": `${items.value.length * rowPx}px` }) }, inner);
  const list = h("div", { role: "list", tabindex: 0, ...props, class: `virtual ${props?.class ?? ""}` }, spacer);
  list.addEventListener("scroll", () => { top.value = list.scrollTop; }, { passive: true });
  const observer = new ResizeObserver(() => { heightPx.value = list.clientHeight; });
  observer.observe(list);
  onDispose(() => observer.disconnect());
  /** @typedef {{ item: { value: T }, index: { value: number }, node: HTMLElement }} Slot @type {Map<unknown, Slot>} */
  let slots = new Map();
  /** @type {unknown} */
  let firstKey;
  let first = 0;
  effect(() => {
    const all = items.value, offset = untrack(() => list.scrollTop);
    // The first visible row is looked for near its old place: rows come and go mostly at the ends.
    if (offset <= 0 || firstKey === undefined || (all[first] && key(all[first]) === firstKey)) return;
    const from = Math.max(0, first - 500);
    const place = all.slice(from, first + 2000).findIndex((item) => key(item) === firstKey);
    if (place < 0) return;
    spacer.style.setProperty("block-size", `${all.length * rowPx}px`);
    list.scrollTop = top.value = offset + (from + place - first) * rowPx;
  });
  effect(() => {
    const all = items.value, begin = Math.max(0, Math.min(Math.floor(top.value / rowPx), all.length - 1));
    const from = Math.max(0, begin - 4), end = Math.min(all.length, begin + Math.ceil(heightPx.value / rowPx) + 5);
    [first, firstKey] = [begin, all[begin] && key(all[begin])];
    const wanted = all.slice(from, end), keys = new Set(wanted.map(key));
    const free = [...slots].filter(([id]) => !keys.has(id)).map(([, slot]) => slot);
    /** @type {typeof slots} */
    const next = new Map();
    wanted.forEach((value, offset) => {
      const id = key(value), slot = slots.get(id) ?? free.pop();
      if (slot) [slot.item.value, slot.index.value] = [value, from + offset];
      const item = slot?.item ?? signal(value), index = slot?.index ?? signal(from + offset);
      next.set(id, slot ?? { item, index, node: home.run(() => row(item, index)) });
    });
    const old = Array.from(inner.childNodes), nodes = Array.from(next.values(), ({ node }) => node);
    place(null, old, nodes, inner);
    slots = new Map([...next, ...free.map((slot, number) => /** @type {[unknown, Slot]} */ ([`free ${number}`, slot]))]);
    inner.style.setProperty("transform", `translateY(${from * rowPx}px)`);
    onRange?.(from, end);
  });
  if (reveal) effect(() => {
    const start = reveal.value * rowPx, offset = untrack(() => list.scrollTop), seen = untrack(() => list.clientHeight);
    if (reveal.value < 0) return;
    if (start < offset) list.scrollTop = start;
    else if (start + rowPx > offset + seen) list.scrollTop = start + rowPx - seen;
  });
  return list;
}
