// The forms of an activity without a device around them: the card of the Lock Screen, and the Dynamic Island.

import { h } from "../view.js";
import { island } from "./phone.js";
import { draw } from "./pieces.js";

/** @import { Presentations } from "../renderers/types.d.ts" */
/** @import { Look, PhoneModel } from "./phone.js" */

/** Draws the card of the Lock Screen. @param {Presentations} shown @param {Look} look */
export const lockCard = (shown, look) => h("div", { class: "island-card" }, h("div", { class: `activity-card is-${look}` }, draw(shown.lockScreen)));

/** Draws the compact, minimal and expanded forms, one under another. @param {Presentations} shown */
export function islandForms(shown) {
  /** @type {PhoneModel} */
  const model = {
    view: "home", clock: "", date: "", banners: [], app: "", badge: 0, hue: 0, connected: true, words: { stale: "", ended: "", offline: "" },
    activities: [{ key: "", shown, look: "started", app: "" }],
  };
  return h("div", { class: "island-forms" }, /** @type {const} */ (["home", "minimal", "expanded"]).map((view) =>
    h("div", { class: `is-${view}` }, island({ ...model, view }))));
}
