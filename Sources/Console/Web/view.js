// A view layer: elements whose parts follow signals, and keyed lists.
// scripts/lint console caps the length of this file and signals.js; docs/decisions/0069 explains why they exist.

import { computed, effect, isReadable, read, Scope, signal } from "./signals.js";
export { computed, effect, flush, onDispose, read, Scope, signal, untrack } from "./signals.js";
export { virtualList } from "./virtual.js";

/** @import { Child, Props, Reactive, Readable } from "./types.d.ts" */

const properties = new Set(["value", "checked", "indeterminate", "selected", "scrollTop"]);
const forbidden = /^(javascript|vbscript|data:(?!image\/))/i;
// Browsers leave these characters out of URLs.
// deno-lint-ignore no-control-regex
const ignored = /[\u0000-\u0020]/g;
/** @param {any} element @param {string} name @param {any} value */
function assign(element, name, value) {
  if (properties.has(name)) element[name] = value ?? "";
  else if (name === "style") for (const [key, each] of Object.entries(value)) element.style.setProperty(key, each ?? "");
  else if (value === null || value === undefined || value === false) element.removeAttribute(name);
  else if (/^(srcdoc$|on)/.test(name) || (/href$|^src$/.test(name) && forbidden.test(String(value).replace(ignored, "")))) element.removeAttribute(name);
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
    const end = parent.appendChild(document.createComment("")), root = tree(child);
    /** @type {Node[]} */
    let nodes = [];
    effect(() => { nodes = place(end, nodes, nodesOf(root)); });
  } else for (const node of nodesOf(tree(child))) parent.appendChild(node);
}
/** Returns the nodes of a child, with computed ones in between. @param {any} child @returns {any} */
function tree(child) {
  if (Array.isArray(child)) return child.map(tree);
  if (child === null || child === undefined || typeof child === "boolean") return [];
  if (child instanceof Node) return child;
  if (typeof child !== "function" && !isReadable(child)) return document.createTextNode(String(child));
  // Each function is computed by itself, so that what is around it remains when it changes. A lone text keeps its node.
  /** @type {Text | undefined} */
  let text;
  return computed(() => {
    const value = read(child);
    if (typeof value !== "string" && typeof value !== "number") return tree(value);
    text ??= document.createTextNode("");
    if (text.nodeValue !== String(value)) text.nodeValue = String(value);
    return text;
  });
}
/** @param {any} tree @returns {Node[]} */
const nodesOf = (tree) => Array.isArray(tree) ? tree.flatMap(nodesOf) : isReadable(tree) ? nodesOf(tree.value) : [tree];

/**
 * Replaces nodes before `end`, moving as few as possible.
 *
 * @param {Node | null} end @param {Node[]} old @param {Node[]} next @param {Node | null | undefined} [parent]
 */
export function place(end, old, next, parent = end?.parentNode) {
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
