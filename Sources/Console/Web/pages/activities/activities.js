// Live Activities: what is live, what has ended, one in full, and the controls to simulate one.

import { empty, failure, gapMark, icon, keep, later, skeleton, styles, tag, when } from "../../parts.js";
import { clean } from "../../format.js";
import { computed, each, h, show } from "../../view.js";
import { createModel } from "./model.js";
import { countdown, driverOf, endsAt, isEnded } from "./reducer.js";

/** @import { Context, Page, Readable } from "../../types.d.ts" */
/** @import { Activity } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @import { Model } from "./model.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

await styles(new URL("activities.css", import.meta.url));

/** @type {Page} */
export const page = {
  path: "activities",
  render(context) {
    const { caller, t: shell } = context, isUser = caller.user !== "" && caller.may("activities:read");
    return h("div", { class: "page activities-page" },
      h("header", { class: "page-head" }, h("h1", null, shell.pages.activities)), later(() => texts(context.language), (t) => [
      isUser ? lists(context, t) : h("p", { class: "message" }, icon("activities"), h("span", null, h("strong", null, t.noUserTitle), h("br"), t.noUserText)),
      caller.may("admin") && later(() => import("./debug.js"), ({ debugControls }) => debugControls(context, t))]));
  },
};

/** Loads the texts of one language. @param {"en" | "it"} language @returns {Promise<T>} */
const texts = async (language) => language === "it" ? (await import("./texts.it.js")).it : (await import("./texts.en.js")).en;

/** @param {Context} context @param {T} t */
function lists(context, t) {
  const { route, navigate, caller, href } = context;
  const model = createModel(context), id = computed(() => route.value.parts[0] ?? ""), showsEnded = computed(() => route.value.query["show"] === "ended");
  const listed = computed(() => model.list.value.filter((activity) => isEnded(activity) === showsEnded.value));
  const liveCount = computed(() => model.list.value.filter((activity) => !isEnded(activity)).length);
  const open = computed(() => model.list.value.find((activity) => activity.id === id.value));
  /** @param {string} name @param {boolean} ended */
  const segment = (name, ended) => h("button", { type: "button", "aria-pressed": () => String(showsEnded.value === ended),
    onclick: () => navigate(id.value ? `activities/${id.value}` : "activities", { show: ended ? "ended" : undefined }, { replace: true }) }, name);
  const tools = h("div", { class: "row wrap" }, h("div", { class: "segments", role: "group", "aria-label": t.list }, segment(t.live, false), segment(t.ended, true)),
    h("span", { class: "muted grow", role: "status" }, () => model.isLoading.value ? "" : t.liveCount(liveCount.value)),
    caller.may("activities:write") && h("button", { type: "button", class: "primary", onclick: () => import("./start.js").then(({ openStart }) => openStart(context, t, model), context.fail) }, icon("plus"), t.form.title));
  return [tools,
    gapMark(context, model.gapMs),
    show(() => model.error.value, () => failure(context, model.error.value, model.load)),
    h("div", { class: "activity-split", "data-open": () => String(open.value !== undefined) },
      h("div", { class: "activity-list" }, show(() => model.isLoading.value && model.list.value.length === 0, () => skeleton(context.t.loading, 5),
        () => show(() => listed.value.length > 0, () => table(context, t, model, listed, showsEnded, id),
          () => showsEnded.value ? empty("clock", t.ended, t.emptyEnded) : empty("activities", t.emptyTitle, t.emptyText)))),
      show(() => open.value, () => keyed(id, () => h("div", null, later(() => import("./detail.js"), ({ detail }) => detail({
        context, t, model, activity: keep(open), close: () => navigate("activities", route.value.query) })))),
      () => id.value && !model.isLoading.value ? h("p", { class: "message" }, t.detail.loadFailed, " ", h("a", { href: href("activities") }, t.close)) : null))];
}

/** Makes a part anew when an id changes. @param {Readable<string>} id @param {() => Node} part */
const keyed = (id, part) => each(() => [id.value], (key) => key, part);

/** @param {Context} context @param {T} t @param {Model} model @param {Readable<readonly Activity[]>} listed @param {Readable<boolean>} showsEnded @param {Readable<string>} id */
function table(context, t, model, listed, showsEnded, id) {
  const { href, route } = context;
  return h("table", { class: "activities" },
    h("thead", null, h("tr", null, h("th", { scope: "col" }, t.columns.activity), h("th", { scope: "col" }, t.columns.driver),
      h("th", { scope: "col", class: "wide-only" }, t.columns.tokens), h("th", { scope: "col" }, () => showsEnded.value ? t.columns.ended : t.columns.ends),
      h("th", { scope: "col", class: "wide-only" }, t.columns.updated))),
    h("tbody", null, each(listed, (activity) => activity.id, (activity) => {
      const value = () => activity.value, driver = () => driverOf(value());
      return h("tr", { "data-current": () => String(value().id === id.value), "data-activity": () => value().id },
        h("td", null, h("a", { href: () => href(`activities/${value().id}`, route.value.query), class: "mono activity-id" }, () => clean(value().id, 128)),
          h("div", { class: "row wrap" }, () => status(value(), t, model.nowMs.value), h("span", { class: "muted ellipsis" }, () => value().app ?? ""))),
        h("td", null, () => tag(driver() === "caller" ? "" : "accent", t.driver[driver()])),
        h("td", { class: "wide-only" }, () => String(value().updateTokenCount ?? 0)),
        h("td", { class: "mono" }, () => showsEnded.value ? [when(context, value().endTime), " ", h("span", { class: "muted" }, t.reason[value().endReason ?? "END_REASON_UNSPECIFIED"])]
          : countdown(endsAt(value()), model.nowMs.value)),
        h("td", { class: "wide-only" }, () => when(context, value().updateTime)));
    })));
}

/** @param {Activity} activity @param {T} t @param {number} nowMs */
export function status(activity, t, nowMs) {
  const { status = "ACTIVITY_STATUS_UNSPECIFIED", staleTime, pushesStopped } = activity;
  const isStale = status !== "ACTIVITY_STATUS_ENDED" && staleTime !== undefined && Date.parse(staleTime) <= nowMs;
  const kind = status === "ACTIVITY_STATUS_ENDED" ? "" : isStale || pushesStopped ? "warn" : status === "ACTIVITY_STATUS_ACTIVE" ? "good" : "accent";
  return [tag(kind, t.status[status]), isStale && tag("warn", t.detail.stale), pushesStopped && tag("warn", t.detail.pushesStopped)];
}
