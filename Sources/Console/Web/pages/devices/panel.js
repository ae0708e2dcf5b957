// One phone in full: all its forms, the last states of a token, the pushes behind them, its budget and what it ignored.

import { SimulatorService } from "../../../sdk/generated/campanile.simulator.v1.js";
import { phone as phoneFrame } from "../../devices/phone.js";
import { pretty } from "../../format.js";
import { icon, tag } from "../../parts.js";
import { computed, each, effect, h, onDispose, show, signal, untrack } from "../../view.js";
import { islandStrip, labelOf, modelOf } from "./drawing.js";
import * as scrubbing from "./scrubber.js";
import { budgetOf, discardsOf, lookOf } from "./wall.js";
import { liveWatch } from "./watch.js";

/** @import { Context, Readable } from "../../types.d.ts" */
/** @import { View } from "../../devices/phone.js" */
/** @import { SimulatedScreen } from "../../../sdk/generated/campanile.simulator.v1.js" */
/** @import { Words } from "../../renderers/types.d.ts" */
/** @import { Model } from "./model.js" */
/** @import { Phone } from "./wall.js" */
/** @import { T } from "./devices.js" */

/**
 * @param {object} options
 * @param {Context} options.context @param {T} options.t @param {Words} options.words @param {Model} options.model
 * @param {Readable<Phone>} options.phone @param {() => View} options.view
 * @param {() => void} options.close
 */
export function panel({ context, t, words, model, phone, view, close }) {
  const { client, format, href } = context;
  const chosen = signal(phone.value.screens[0]?.id ?? ""), screen = computed(() => phone.value.screens.find(({ id }) => id === chosen.value) ?? phone.value.screens[0]);
  const screenId = computed(() => screen.value?.id ?? ""), scrubber = signal(scrubbing.start);
  // The chosen token stays when another one gets a push. Once it is gone, the newest takes its place.
  effect(() => {
    if (screen.value && screen.value.id !== chosen.value) chosen.value = screen.value.id ?? "";
  });
  let abort = new AbortController();
  onDispose(() => abort.abort());
  // Another token: its states are read, and those that arrive are added.
  effect(() => {
    const id = screenId.value;
    abort.abort();
    abort = new AbortController();
    scrubber.value = scrubbing.start;
    client.call(SimulatorService.getScreen, { screenId: id }, { signal: abort.signal })
      .then(({ states }) => { scrubber.value = scrubbing.add(scrubber.value, states ?? []); }, () => {});
  });
  effect(() => {
    const state = screen.value?.state;
    if (state) scrubber.value = scrubbing.add(untrack(() => scrubber.value), [state]);
  });

  const isLive = computed(() => scrubber.value.number === undefined), state = computed(() => scrubbing.current(scrubber.value));
  // The phone as it is, or with the state that is looked at in place of the token's newest.
  const seen = computed(() => isLive.value ? phone.value : {
    ...phone.value, screens: phone.value.screens.map((each) => each.id === screenId.value ? { ...each, state: state.value } : each),
  });
  const moment = computed(() => isLive.value ? model.nowMs.value : scrubbing.momentMs(scrubber.value, untrack(() => model.nowMs.value)));
  const drawn = computed(() => modelOf({ context, t, words, phone: /** @type {Phone} */ (seen.value), view: view(), nowMs: moment.value }));
  const hasActivity = computed(() => drawn.value.activities.length > 0);

  return h("aside", { class: "device-panel stack", "aria-label": () => t.phoneOf(phone.value.name) },
    h("div", { class: "row" }, h("button", { type: "button", class: "quiet", onclick: close }, icon("back"), t.close),
      h("h2", { class: "grow ellipsis", dir: "auto" }, () => phone.value.name)),
    h("div", { class: "row wrap is-large device-pair" }, phoneFrame(() => drawn.value, () => labelOf(drawn.value, t, phone.value.name)),
      h("div", { class: "stack device-side" }, liveWatch({ context, t, words, phone: /** @type {Readable<Phone>} */ (seen), nowMs: () => moment.value }))),
    show(hasActivity, () => islandStrip(() => drawn.value, t)),
    states({ context, t, scrubber, screen, chosen, phone, isLive }),
    facts(context, t, phone), controls(context, t, model, phone, screen),
    show(() => state.value, () => h("details", null, h("summary", null, t.content), h("pre", { tabindex: 0, class: "device-json" }, () => pretty(state.value?.contentStateJson || state.value?.payloadJson)))),
    show(() => state.value?.apnsId, () => h("a", { href: () => href(`trace/${state.value?.apnsId ?? ""}`) }, t.toTrace)),
    h("span", { class: "muted" }, () => phone.value.updateMs ? t.lastPush(format.ago(phone.value.updateMs)) : ""));
}

/**
 * @param {{ context: Context, t: T, scrubber: { value: scrubbing.Scrubber }, screen: Readable<SimulatedScreen | undefined>,
 *   chosen: { value: string }, phone: Readable<Phone>, isLive: Readable<boolean> }} options
 */
function states({ context, t, scrubber, screen, chosen, phone, isLive }) {
  const { format, href } = context, list = computed(() => scrubber.value.states.toReversed()), index = computed(() => scrubbing.indexOf(scrubber.value));
  const time = (/** @type {string | undefined} */ at) => format.clock(at).slice(0, 8);
  return h("section", { class: "stack", "aria-label": t.states },
    h("div", { class: "row" }, h("h3", { class: "grow" }, t.states),
      show(() => !isLive.value, () => h("button", { type: "button", onclick: () => { scrubber.value = scrubbing.follow(scrubber.value); } }, t.live))),
    show(() => phone.value.screens.length > 1, () => h("select", {
      "aria-label": t.screen, value: () => screen.value?.id ?? "", onchange: (/** @type {any} */ { target }) => { chosen.value = target.value; } },
    () => phone.value.screens.map(({ id = "", kind }) =>
      h("option", { value: id, selected: id === screen.value?.id }, `${t.kind[kind ?? "SCREEN_KIND_UNSPECIFIED"]} ${id.slice(0, 4)}…${id.slice(-4)}`)))),
    show(() => scrubber.value.states.length > 0, () => [
      h("input", {
        type: "range", class: "scrubber", min: 0, max: () => String(Math.max(0, scrubber.value.states.length - 1)), step: 1, "aria-label": t.scrub,
        value: () => String(index.value), "aria-valuetext": () => t.scrubValue(scrubbing.current(scrubber.value)?.number, time(scrubbing.current(scrubber.value)?.showTime)),
        oninput: (/** @type {any} */ { target }) => { scrubber.value = scrubbing.move(scrubber.value, Number(target.value)); },
      }),
      h("span", { class: "muted", role: "status" }, () => isLive.value ? "" : t.looking(time(scrubbing.current(scrubber.value)?.showTime))),
      h("ol", { class: "state-list", reversed: true }, each(list, ({ number }) => number, (state) => h("li", {
        "aria-current": () => scrubbing.current(scrubber.value)?.number === state.value.number ? "true" : null },
      h("button", { type: "button", class: "quiet", onclick: () => {
        scrubber.value = scrubbing.move(scrubber.value, scrubber.value.states.findIndex(({ number }) => number === state.value.number));
      } }, h("span", { class: "mono" }, () => time(state.value.showTime)), h("span", { class: "grow" }, () => t.event[state.value.event ?? "SCREEN_EVENT_UNSPECIFIED"]),
      h("span", { class: "muted" }, () => t.priority(state.value.priority ?? 0))),
      h("a", { href: () => href(`trace/${state.value.apnsId ?? ""}`), title: () => state.value.apnsId, class: "mono" }, () => (state.value.apnsId ?? "").slice(0, 8))))),
    ], () => h("p", { class: "muted" }, t.noStates)));
}

/** @param {Context} context @param {T} t @param {Readable<Phone>} phone */
function facts({ format, href }, t, phone) {
  const budget = computed(() => budgetOf(phone.value)), discards = computed(() => discardsOf(phone.value));
  const high = () => phone.value.screens.reduce((sum, { highPriorityCount }) => sum + Number(highPriorityCount ?? 0), 0);
  const discard = (/** @type {string} */ reason) => t.discard[/** @type {keyof T["discard"]} */ (reason)] ?? reason;
  const newest = computed(() => phone.value.screens.map(({ lastDiscard }) => lastDiscard).filter((each) => each !== undefined)
    .sort((left, right) => Date.parse(right.discardTime ?? "") - Date.parse(left.discardTime ?? ""))[0]);
  return h("section", { class: "stack" }, h("h3", null, t.budget),
    () => budget.value ? h("div", { class: "stack budget" }, h("meter", { min: 0, max: budget.value.limit, high: budget.value.limit * 0.8, value: Math.min(budget.value.limit, budget.value.used), "aria-label": t.budget }),
      h("span", { class: "muted" }, t.budgetUsed(budget.value.used, budget.value.limit))) : h("span", { class: "muted" }, t.highPriority(format.number(high()))),
    h("h3", null, t.discards),
    () => discards.value.length === 0 ? h("span", { class: "muted" }, t.noDiscards) : h("table", null, h("tbody", null, discards.value.map(({ reason, count }) =>
      h("tr", null, h("th", { scope: "row" }, discard(reason), " ", h("code", null, reason)), h("td", { class: "number" }, format.number(count)))))),
    () => newest.value?.apnsId && h("a", { href: href(`trace/${newest.value.apnsId ?? ""}`) }, `${t.lastDiscard}: ${discard(newest.value.reason ?? "")}`));
}

/** @param {Context} context @param {T} t @param {Model} model @param {Readable<Phone>} phone @param {Readable<SimulatedScreen | undefined>} screen */
function controls({ client, notify, fail }, t, model, phone, screen) {
  const connection = async (/** @type {boolean} */ connected) => {
    try {
      const devices = new Set(phone.value.screens.flatMap(({ device, kind }) => device && kind !== "SCREEN_KIND_CHANNEL" ? [device] : []));
      let count = 0;
      for (const device of devices) count += (await client.call(SimulatorService.setDeviceConnection, { device, connected })).deliveredCount ?? 0;
      if (connected) notify(t.delivered(count));
    } catch (thrown) {
      fail(thrown);
    }
  };
  const invalidate = () => client.call(SimulatorService.invalidateScreen, { screenId: screen.value?.id ?? "" }).then(() => notify(t.invalidated), fail);
  return h("div", { class: "row wrap" },
    () => phone.value.connected ? h("button", { type: "button", onclick: () => connection(false) }, t.disconnect)
      : h("button", { type: "button", class: "primary", onclick: () => connection(true) }, t.connect),
    show(() => screen.value && screen.value.kind !== "SCREEN_KIND_CHANNEL", () => h("button", { type: "button", class: "danger", onclick: invalidate }, t.invalidate)),
    () => screen.value?.invalidation && tag("bad", t.invalid(screen.value.invalidation.reason ?? "")),
    () => { const look = lookOf(screen.value?.state, model.nowMs.value); return look ? tag(look === "started" ? "good" : look === "stale" ? "warn" : "", t.looks[look]) : null; });
}
