// Short notices at the edge of the window, which may be undone for ten seconds.

import { each, h, signal } from "./view.js";
import { iconButton } from "./parts.js";

/** @import { NoticeOptions, Texts } from "./types.d.ts" */

const undoMs = 10_000;
const infoMs = 5000;

export function createToasts() {
  /** @typedef {{ id: number, text: string } & NoticeOptions} Toast */
  const toasts = signal(/** @type {Toast[]} */ ([]));
  let next = 1;
  /** @param {number} id */
  const remove = (id) => { toasts.value = toasts.value.filter((toast) => toast.id !== id); };

  /** @param {string} text @param {NoticeOptions} [options] */
  const notify = (text, options = {}) => {
    const id = next++;
    toasts.value = [...toasts.value.slice(-3), { id, text, ...options }];
    const wait = () => setTimeout(() => {
      // A notice remains while it is pointed at or holds the focus.
      if (document.querySelector(`[data-toast="${id}"]:is(:hover, :focus-within)`)) wait();
      else remove(id);
    }, options.undo ? undoMs : infoMs);
    wait();
  };

  /** @param {Texts<typeof import("./texts/en.js").en>} t */
  const view = (t) => h("div", { class: "toasts", role: "status", "aria-live": "polite" }, each(toasts, ({ id }) => id, (toast) => {
    const { id, text, undo, kind } = toast.value;
    return h("div", { class: `toast ${kind ?? ""}`, "data-toast": String(id) }, h("span", { class: "grow" }, text),
      undo && h("button", {
        type: "button", class: "quiet",
        onclick: async () => {
          remove(id);
          await undo();
        },
      }, t.undo), iconButton("close", t.dismiss, { onclick: () => remove(id) }));
  }));
  return { notify, view };
}
