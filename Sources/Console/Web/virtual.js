// A scrolling list of which only the visible rows exist.

import { computed, effect, onDispose, read, Scope, signal, untrack } from "./signals.js";
import { h, place } from "./view.js";

/** @import { Props, Reactive, Readable } from "./types.d.ts" */

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
