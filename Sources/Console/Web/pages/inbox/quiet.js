// Quiet hours: the week as a picture with a table behind it, and the windows that make it.

import { NotificationsService as Service } from "../../../sdk/generated/campanile.notifications.v1.js";
import { sending } from "../../forms.js";
import { field, iconButton, loaded, resource } from "../../parts.js";
import { h, svg } from "../../view.js";
import { quietWeek } from "./week.js";
import { en } from "./forms.en.js";
import { it } from "./forms.it.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { DayOfWeek, QuietWindow } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */
/** @typedef {import("../../types.d.ts").Texts<typeof en>} F */

/** @type {Record<"en" | "it", import("../../types.d.ts").Texts<typeof en>>} */
const forms = { en, it };

const days = /** @type {const} */ (["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"]);

/** @param {Context} context @param {T} t */
export function quietHours(context, t) {
  const { client, caller, notify, fail, language } = context;
  const f = forms[language];
  // 2024-01-01 was a Monday.
  const dayNames = days.map((_, index) => new Intl.DateTimeFormat(language, { weekday: "short", timeZone: "UTC" }).format(Date.UTC(2024, 0, 1 + index)));
  const settings = resource((signal) => client.call(Service.getUserSettings, {}, { signal }));
  /** @param {QuietWindow[]} windows @param {string | undefined} etag */
  const save = async (windows, etag) => {
    await client.call(Service.updateUserSettings, {
      settings: { quietHours: { windows }, ...(etag && { etag }) }, updateMask: "quietHours" });
    notify(f.quietTexts.saved);
    await settings.reload();
  };
  /** Shows an error, and reads again, because another page may have changed the windows. @param {unknown} error */
  const failed = (error) => {
    fail(error);
    void settings.reload();
  };
  const { isBusy, violation, onsubmit } = sending(failed, { start: "start", end: "end" });
  /** @param {QuietWindow} window */
  const label = ({ days: chosen = [], start, end }) =>
    `${chosen.length === 0 ? f.quietTexts.everyDay : chosen.map((day) => dayNames[days.findIndex((each) => day.endsWith(each))]).join(", ")} ${start}–${end}`;
  return h("div", { class: "page quiet" }, h("h2", { class: "title" }, t.quiet), h("p", { class: "muted" }, f.quietTexts.explanation),
    loaded(context, settings, ({ settings: { timeZone = "UTC", quietHours: { windows = [] } = {}, etag } = {} }) => [
      week(f, dayNames, windows), h("p", { class: "muted" }, f.quietTexts.zone(timeZone)),
      h("section", { class: "stack" }, h("h3", null, f.quietTexts.windows),
        windows.length === 0 ? h("p", { class: "muted" }, f.quietTexts.none) : h("ul", { class: "stack windows" }, windows.map((window) => h("li", { class: "row" },
          h("span", { class: "grow" }, label(window)), caller.may("notifications:write") && iconButton("close", f.quietTexts.remove(label(window)), {
            onclick: () => save(windows.filter((each) => each !== window), etag).catch(failed) }))))),
      caller.may("notifications:write") && h("form", {
        class: "stack card",
        onsubmit: onsubmit(async (values) => {
          const chosen = /** @type {DayOfWeek[]} */ (values.getAll("day"));
          // No day would mean every day.
          if (chosen.length === 0) return;
          await save([...windows, { start: String(values.get("start")), end: String(values.get("end")), ...(chosen.length < 7 && { days: chosen }) }], etag);
        }),
      }, h("h3", null, f.quietTexts.add),
      h("fieldset", { class: "field" }, h("legend", null, f.quietTexts.days), h("div", { class: "row wrap" }, days.map((day, index) => h("label", { class: "row" },
        h("input", { type: "checkbox", name: "day", value: `DAY_OF_WEEK_${day}`, checked: true }), dayNames[index])))),
      h("div", { class: "fields" }, field(f.quietTexts.from, h("input", { type: "time", name: "start", value: "22:00", required: true }), violation("start")),
        field(f.quietTexts.to, h("input", { type: "time", name: "end", value: "07:00", required: true }), violation("end"))),
      h("div", null, h("button", { class: "primary", disabled: isBusy }, f.quietTexts.add))),
    ]));
}

/** @param {F} f @param {string[]} dayNames @param {QuietWindow[]} windows */
function week(f, dayNames, windows) {
  const parts = quietWeek(windows), clock = (/** @type {number} */ minutes) =>
    `${String(Math.floor(minutes / 60)).padStart(2, "0")}:${String(minutes % 60).padStart(2, "0")}`;
  return h("figure", { class: "week" },
    svg("svg", { viewBox: "0 0 528 190", "aria-hidden": "true" },
      [0, 6, 12, 18, 24].map((hour) => [svg("line", { x1: 44 + hour * 20, x2: 44 + hour * 20, y1: 16, y2: 186 }),
        svg("text", { x: 44 + hour * 20, y: 10, "text-anchor": hour === 24 ? "end" : hour === 0 ? "start" : "middle" }, clock(hour * 60))]),
      dayNames.map((name, day) => [svg("text", { x: 0, y: 34 + day * 24 }, name),
        svg("rect", { class: "day", x: 44, y: 20 + day * 24, width: 480, height: 18, rx: 3 }),
        parts[day].map(([from, to]) => svg("rect", { class: "quiet-part", x: 44 + from / 3, y: 20 + day * 24, width: Math.max(2, (to - from) / 3), height: 18, rx: 3 }))])),
    h("table", { class: "hidden-text" }, h("thead", null, h("tr", null, h("th", null, f.quietTexts.day), h("th", null, f.quietTexts.hours))),
      h("tbody", null, dayNames.map((name, day) => h("tr", null, h("td", null, name),
        h("td", null, parts[day].map(([from, to]) => `${clock(from)}–${clock(to)}`).join(", ") || "–"))))));
}
