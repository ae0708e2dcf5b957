// Builds what the frames draw from a phone's screens.

import { islandForms } from "../../devices/forms.js";
import { phone as phoneFrame } from "../../devices/phone.js";
import { present } from "../../renderers/registry.js";
import { textOf } from "../../renderers/values.js";
import { computed, h, untrack } from "../../view.js";
import { activitiesOf, alertsOf, appName, badgeOf } from "./wall.js";

/** @import { Context, Readable } from "../../types.d.ts" */
/** @import { PhoneModel, View } from "../../devices/phone.js" */
/** @import { Words } from "../../renderers/types.d.ts" */
/** @import { Phone } from "./wall.js" */
/** @import { T } from "./devices.js" */

/**
 * @param {object} options
 * @param {Context} options.context @param {T} options.t @param {Words} options.words
 * @param {Phone} options.phone @param {View} options.view @param {number} options.nowMs
 * @returns {PhoneModel & { ticks: boolean }}
 */
export function modelOf({ context, t, words, phone, view, nowMs }) {
  const activities = activitiesOf(phone, nowMs).map(({ screen, state, look }) => ({
    key: screen.id ?? "", look, app: appName(screen.app),
    shown: present({
      attributesType: screen.attributesType, attributesJson: screen.attributesJson, stateJson: state.contentStateJson,
      words, nowMs: look === "ended" ? Date.parse(state.showTime ?? "") || nowMs : nowMs,
    }),
  }));
  return {
    view, activities, app: appName(phone.app), badge: badgeOf(phone), hue: phone.hue, connected: phone.connected,
    ...context.format.device(nowMs),
    banners: alertsOf(phone).map(({ state, alert }) => ({
      app: appName(phone.app), title: textOf(alert.title), subtitle: textOf(alert.subtitle), body: textOf(alert.body),
      time: context.format.ago(state.showTime),
    })),
    words: { stale: t.looks.stale, ended: t.looks.ended, offline: t.offline },
    ticks: activities.some(({ shown, look }) => shown.ticks && look !== "ended"),
  };
}

/** Describes what a phone shows, for screen readers. @param {PhoneModel} model @param {T} t @param {string} name */
export function labelOf(model, t, name) {
  const activities = model.activities.map(({ shown, look }) => `${look === "started" ? "" : `${t.looks[look]}: `}${shown.spoken}`);
  const banners = model.banners.map(({ title, subtitle, body }) => [title, subtitle, body].filter(Boolean).join(", "));
  const badge = model.badge > 0 ? [t.badge(model.badge)] : [];
  return [t.phoneOf(name), ...(activities.length + banners.length > 0 ? [...activities, ...banners] : [t.nothingShown]), ...badge].join(". ");
}

/**
 * Draws a phone that follows its screens and the time. It is drawn each second only if something on it runs.
 *
 * @param {object} options
 * @param {Context} options.context @param {T} options.t @param {Words} options.words
 * @param {Readable<Phone>} options.phone @param {() => View} options.view
 * @param {() => number} options.nowMs
 */
export function livePhone({ context, t, words, phone, view, nowMs }) {
  /** @type {boolean} */
  let ticks = true;
  const moment = computed(() => {
    const now = nowMs(), looks = activitiesOf(phone.value, now).map(({ look }) => look).join();
    return ticks ? String(now) : `${Math.floor(now / 30_000)} ${looks}`;
  });
  const model = computed(() => {
    void moment.value;
    const made = modelOf({ context, t, words, phone: phone.value, view: view(), nowMs: untrack(nowMs) });
    ticks = made.ticks;
    return made;
  });
  return phoneFrame(() => model.value, () => labelOf(model.value, t, phone.value.name));
}

/** Draws the three forms of the Dynamic Island, one under another. @param {() => PhoneModel} model @param {T} t */
export const islandStrip = (model, t) => h("div", { class: "island-strip", role: "img", "aria-label": () => `${t.island}: ${model().activities[0]?.shown.spoken ?? t.nothingShown}` },
  h("div", { "aria-hidden": "true" }, () => { const shown = model().activities[0]?.shown; return shown ? islandForms(shown) : null; }));
