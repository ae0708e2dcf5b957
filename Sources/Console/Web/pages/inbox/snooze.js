// The dialog that puts notifications off until a time.

import { NotificationsService as Service } from "../../../sdk/generated/campanile.notifications.v1.js";
import { openDialog } from "../../parts.js";
import { h } from "../../view.js";
import { en } from "./forms.en.js";
import { it } from "./forms.it.js";

/** @import { Context } from "../../types.d.ts" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */
/** @typedef {import("./model.js").Model} Model */

/** @type {Record<"en" | "it", import("../../types.d.ts").Texts<typeof en>>} */
const forms = { en, it };

/** @param {Context} context @param {T} t @param {Model} model @param {string[]} ids */
export function openSnooze({ client, format, notify, t: shell, language }, t, model, ids) {
  const f = forms[language];
  /** @param {number} day @param {number} hour */
  const at = (day, hour) => {
    const date = new Date();
    date.setDate(date.getDate() + day);
    date.setHours(hour, 0, 0, 0);
    return date;
  };
  /** @param {Date} until */
  const snooze = (until) => model.attempt(async () => {
    for (const notificationId of ids) await client.call(Service.snoozeNotification, { notificationId, releaseTime: until.toISOString() });
    notify(t.snoozedUntil(format.full(until)));
  });
  const evening = at(0, 19), choices = /** @type {[string, Date][]} */ ([[f.snoozes.hour, new Date(Date.now() + 3_600_000)],
    ...(evening.getTime() > Date.now() ? [[f.snoozes.evening, evening]] : []), [f.snoozes.morning, at(1, 8)]]);
  openDialog(shell, t.snooze, (close) => h("form", {
    class: "stack",
    onsubmit: (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      close();
      void snooze(new Date(String(new FormData(/** @type {HTMLFormElement} */ (event.target)).get("until"))));
    },
  }, choices.map(([text, until]) => h("button", { type: "button", onclick: () => {
    close();
    void snooze(until);
  } }, text, h("span", { class: "muted" }, format.full(until)))),
  h("label", { for: "snooze-until" }, f.snoozes.other), h("div", { class: "row" }, h("input", { id: "snooze-until", type: "datetime-local", name: "until", required: true, min: local(Date.now() + 60_000) }),
    h("button", { class: "primary" }, t.snooze))));
}

/** Returns a time as inputs of dates have it. @param {number} ms */
const local = (ms) => new Date(ms - new Date(ms).getTimezoneOffset() * 60_000).toISOString().slice(0, 16);
