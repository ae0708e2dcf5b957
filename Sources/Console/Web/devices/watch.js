// A watch of 198 × 242 points with the long look of a notification: title, subtitle, image, body, three round buttons,
// and a button for each other action. The buttons work, so the watch is no picture but a group.

import { h } from "../view.js";
import { draw } from "./pieces.js";
import { symbolOf } from "./symbols.js";

/** @import { Piece } from "../renderers/types.d.ts" */

/**
 * @typedef {{ actionId: string, label: string, icon: string, color?: string | undefined, destructive?: boolean }} LookAction
 * @typedef {object} LongLookModel
 * @property {string} app
 * @property {string} title
 * @property {string} subtitle
 * @property {string} body
 * @property {string} image A name in place of the image, which is not loaded; empty for none.
 * @property {readonly LookAction[]} baseActions
 * @property {readonly LookAction[]} actions
 */

/** @param {LookAction} action @param {(actionId: string) => void} invoke @param {() => boolean} busy */
const roundButton = (action, invoke, busy) => h("button", {
  type: "button", class: "watch-round", disabled: busy, style: { "--own": action.color ?? "#8E8E93" }, "aria-label": action.label, title: action.label,
  onclick: () => invoke(action.actionId),
}, symbolOf(action.icon));

/** @param {LookAction} action @param {(actionId: string) => void} invoke @param {() => boolean} busy */
const wideButton = (action, invoke, busy) => h("button", {
  type: "button", class: `watch-wide ${action.destructive ? "is-destructive" : ""}`, disabled: busy, onclick: () => invoke(action.actionId),
}, action.label);

/** @param {LongLookModel} look @param {(actionId: string) => void} invoke @param {() => boolean} busy */
function longLook(look, invoke, busy) {
  return [
    h("div", { class: "watch-app" }, h("span", { class: "app-icon" }, (look.app[0] ?? "?").toUpperCase()), h("span", { class: "p-line1" }, look.app)),
    h("strong", { class: "watch-title", dir: "auto" }, look.title),
    look.subtitle ? h("span", { class: "watch-subtitle", dir: "auto" }, look.subtitle) : null,
    look.image ? h("span", { class: "watch-image", dir: "auto" }, look.image) : null,
    look.body ? h("p", { class: "watch-body", dir: "auto" }, look.body) : null,
    h("div", { class: "watch-buttons" }, look.baseActions.map((action) => roundButton(action, invoke, busy))),
    look.actions.map((action) => wideButton(action, invoke, busy)),
  ];
}

/**
 * Draws a watch. Follows the model.
 *
 * @param {object} options
 * @param {() => LongLookModel | undefined} options.look The long look; undefined shows the clock and the card of the Smart Stack.
 * @param {() => { clock: string, card?: Piece | undefined }} options.face
 * @param {() => string} options.label
 * @param {(actionId: string) => void} options.invoke
 * @param {() => boolean} [options.busy]
 */
export const watch = ({ look, face, label, invoke, busy = () => false }) => h("div", { class: "watch" },
  h("span", { class: "watch-crown" }),
  h("div", { class: "watch-screen", tabindex: 0, role: "group", "aria-label": label },
    () => {
      const shown = look();
      if (shown) return longLook(shown, invoke, busy);
      const { clock, card } = face();
      return h("div", { class: "watch-face", "aria-hidden": "true" }, h("span", { class: "watch-clock" }, clock),
        card ? h("div", { class: "watch-card" }, draw(card)) : null);
    }));
