// An editor for a JSON object, and the meter of the push's size.

import { h, signal } from "../../view.js";
import { fault, measure, refusedMeasure } from "./meter.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { Draft } from "./meter.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/**
 * @param {object} options
 * @param {T} options.t @param {string} options.label @param {{ value: string }} options.text
 */
export function jsonEditor({ t, label, text }) {
  const problem = () => ({ "": "", syntax: t.editor.syntax, object: t.editor.object })[fault(text.value)];
  const id = `json-${crypto.randomUUID()}`;
  return h("div", { class: "field json-editor" },
    h("div", { class: "row" }, h("label", { for: id, class: "grow" }, label), h("button", {
      type: "button", class: "quiet", disabled: () => problem() !== "", onclick: () => { text.value = JSON.stringify(JSON.parse(text.value), null, 2); } }, t.editor.format)),
    h("textarea", {
      id, class: "mono", rows: 8, spellcheck: "false", autocomplete: "off", value: () => text.value, "aria-invalid": () => String(problem() !== ""),
      "aria-describedby": `${id}-problem`, oninput: (/** @type {any} */ { target }) => { text.value = target.value; },
    }),
    h("small", { id: `${id}-problem`, class: "invalid", role: "status" }, problem));
}

/**
 * Creates a meter for a draft. `refused` has what the service has counted, until the draft changes.
 *
 * @param {Context} context @param {T} t @param {() => Draft} draft
 */
export function payloadMeter({ format }, t, draft) {
  const refused = signal(/** @type {{ draft: string, size: number, limit: number, excess: number } | undefined} */ (undefined));
  const now = () => {
    const made = draft();
    return refused.value?.draft === JSON.stringify(made) ? { ...refused.value, isRefused: true } : { ...measure(made), isRefused: false };
  };
  const node = h("div", { class: "payload-meter", "data-excess": () => String(now().excess > 0) },
    h("div", { class: "meter-track", role: "meter", "aria-label": t.editor.meter, "aria-valuemin": 0, "aria-valuemax": () => String(now().limit),
      "aria-valuenow": () => String(Math.min(now().limit, now().size)), "aria-valuetext": () => t.editor.size(format.number(now().size), format.number(now().limit)) },
    // The part beyond the limit has its own colour behind a mark.
    h("span", { class: "meter-part", style: () => ({ "inline-size": `${100 * Math.min(now().size, now().limit) / Math.max(now().size, now().limit)}%` }) }),
    h("span", { class: "meter-excess", style: () => ({ "inline-size": `${100 * now().excess / Math.max(now().size, now().limit)}%` }) })),
    h("span", { class: "row wrap" }, h("span", { class: "muted grow" }, () => t.editor.size(format.number(now().size), format.number(now().limit))),
      () => now().excess > 0 && h("strong", { class: "meter-over", role: "alert" }, t.editor.excess(format.number(now().excess)), now().isRefused ? ` · ${t.editor.refused}` : "")));
  return {
    node,
    /** Makes a call. A refusal of the size is shown here. @param {() => Promise<unknown>} run */
    attempt: async (run) => {
      const sent = JSON.stringify(draft());
      try {
        await run();
      } catch (error) {
        const measured = refusedMeasure(error);
        if (!measured) throw error;
        refused.value = { ...measured, draft: sent };
      }
    },
  };
}
