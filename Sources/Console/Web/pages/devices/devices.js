// The wall: every phone and watch that the suite pushes to, as it looks now.

import { empty, failure, gapMark, keep, later, skeleton, styles, tag } from "../../parts.js";
import { computed, each, effect, h, onDispose, show, signal } from "../../view.js";
import { createModel } from "./model.js";
import { activitiesOf, alertsOf, appName } from "./wall.js";

/** @import { Context, Page, Readable } from "../../types.d.ts" */
/** @import { View } from "../../devices/phone.js" */
/** @import { Model } from "./model.js" */
/** @import { Phone } from "./wall.js" */
/** @import { Words } from "../../renderers/types.d.ts" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

await Promise.all([styles(new URL("../../devices/devices.css", import.meta.url)), styles(new URL("wall.css", import.meta.url))]);

const shownMax = 24;
const views = /** @type {const} */ (["lock", "home", "expanded", "minimal"]);
/** Codes of a gateway that reaches no simulator. */
const absent = new Set(["UNIMPLEMENTED", "NOT_FOUND"]);

/** @type {Page} */
export const page = {
  path: "devices",
  render: (context) => h("div", { class: "page devices-page" },
    later(() => texts(context.language), ({ t, words }) => content(context, t, words))),
};

/** Loads the texts of one language. @param {"en" | "it"} language @returns {Promise<{ t: T, words: Words }>} */
async function texts(language) {
  if (language === "it") {
    const [{ it: t }, { it: words }] = await Promise.all([import("./texts.it.js"), import("../../renderers/texts.it.js")]);
    return { t, words };
  }
  const [{ en: t }, { en: words }] = await Promise.all([import("./texts.en.js"), import("../../renderers/texts.en.js")]);
  return { t, words };
}

/** @param {Context} context @param {T} t @param {Words} words */
function content(context, t, words) {
  const model = createModel(context), { route, navigate } = context;
  const query = computed(() => route.value.query);
  /** @param {Record<string, string | undefined>} change */
  const change = (change) => navigate("devices", { ...query.value, ...change }, { replace: true });
  const view = computed(() => /** @type {View} */ (views.find((name) => name === query.value["view"]) ?? "lock"));
  const app = computed(() => query.value["app"] ?? "");
  const apps = computed(() => [...new Set(model.phones.value.map(({ app }) => app))].sort());
  const phones = computed(() => model.phones.value.filter((phone) => app.value === "" || phone.app === app.value));
  const open = computed(() => model.phones.value.find(({ id }) => id === query.value["device"])), more = signal(0);
  const shown = computed(() => phones.value.slice(0, shownMax + more.value));
  const code = computed(() => /** @type {{ code?: string }} */ (model.error.value ?? {}).code ?? "");

  const head = h("header", { class: "page-head" }, h("h1", null, context.t.pages.devices),
    show(() => apps.value.length > 1, () => h("select", { class: "app-filter", "aria-label": t.app, value: () => app.value,
      onchange: (/** @type {any} */ { target }) => change({ app: target.value || undefined }) },
    h("option", { value: "" }, t.allApps), () => apps.value.map((each) => h("option", { value: each, selected: each === app.value }, each)))),
    h("div", { class: "segments", role: "group", "aria-label": t.views }, views.map((name) => h("button", {
      type: "button", "aria-pressed": () => String(view.value === name), onclick: () => change({ view: name === "lock" ? undefined : name }) }, t.view[name]))));
  const wall = () => h("div", { class: "device-split", "data-open": () => String(open.value !== undefined) },
    h("div", { class: "stack device-main" },
      h("ul", { class: "wall", "aria-label": context.t.pages.devices }, each(shown, ({ id }) => id, (phone) =>
        tile({ context, t, words, model, phone, view: () => view.value, open: (id) => change({ device: id }), isOpen: (id) => open.value?.id === id }))),
      show(() => phones.value.length > shown.value.length, () => h("button", { type: "button", class: "wall-more",
        onclick: () => { more.value += shownMax; } }, () => t.moreDevices(phones.value.length - shown.value.length)))),
    show(() => open.value, () => later(() => import("./panel.js"), ({ panel }) => panel({ context, t, words, model, phone: keep(open), view: () => view.value,
      close: () => change({ device: undefined }) }))));

  return [head,
    gapMark(context, model.gapMs),
    show(() => absent.has(code.value), () => noSimulator(t), () => show(() => model.error.value,
      () => failure(context, model.error.value, model.load),
      () => show(() => model.isLoading.value && model.phones.value.length === 0, () => skeleton(context.t.loading, 6), () => [
        h("div", { class: "faults-place" }, later(() => import("./faults.js"), ({ faultBar }) => faultBar(context, t, model))),
        show(() => model.phones.value.length > 0, wall, () => empty("devices", t.emptyTitle, t.emptyText,
          h("a", { class: "button", href: context.href("activities") }, t.toActivities))),
      ])))];
}

/** @param {T} t */
const noSimulator = (t) => empty("devices", t.noSimulatorTitle, t.noSimulatorText, h("pre", { tabindex: 0 }, "campanile up"));

/**
 * @param {object} options
 * @param {Context} options.context @param {T} options.t @param {import("../../renderers/types.d.ts").Words} options.words @param {Model} options.model
 * @param {Readable<Phone>} options.phone @param {() => View} options.view
 * @param {(id: string) => void} options.open @param {(id: string) => boolean} options.isOpen
 */
function tile({ context, t, words, model, phone, view, open, isOpen }) {
  const nowMs = () => model.nowMs.value, hasAlert = computed(() => alertsOf(phone.value).length > 0), isNew = signal(false);
  const look = computed(() => activitiesOf(phone.value, nowMs())[0]?.look);
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let timer;
  let updateMs = phone.value.updateMs;
  onDispose(() => clearTimeout(timer));
  // A phone that has just received a push is marked for a moment.
  effect(() => {
    if (phone.value.updateMs === updateMs) return;
    updateMs = phone.value.updateMs;
    isNew.value = true;
    clearTimeout(timer);
    timer = setTimeout(() => { isNew.value = false; }, 900);
  });
  return h("li", { class: "tile", "data-phone": () => phone.value.id, "data-new": () => String(isNew.value), "data-open": () => String(isOpen(phone.value.id)) },
    h("div", { class: "row tile-devices" }, h("div", { class: "phone-place" },
      later(() => import("./drawing.js"), ({ livePhone }) => livePhone({ context, t, words, phone, view, nowMs }))),
      show(hasAlert, () => h("div", { class: "watch-place" }, later(() => import("./watch.js"), ({ liveWatch }) => liveWatch({ context, t, words, phone, nowMs }))))),
    h("div", { class: "row tile-caption" },
      h("button", { type: "button", class: "quiet ellipsis", "aria-label": () => t.open(phone.value.name), onclick: () => open(phone.value.id) },
        h("strong", { class: "ellipsis", dir: "auto" }, () => phone.value.name)),
      h("span", { class: "muted ellipsis grow" }, () => appName(phone.value.app)),
      () => !phone.value.connected && tag("bad", t.offline),
      () => look.value && tag(look.value === "started" ? "good" : look.value === "stale" ? "warn" : "", t.looks[look.value])));
}
