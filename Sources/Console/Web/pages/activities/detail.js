// One activity: how it looks, its state and what changed in it, its tokens and pushes, and its controls.

import { ActivitiesService, PushDeliveryService, PushTokensService } from "../../../sdk/generated/campanile.activities.v1.js";
import { islandForms, lockCard } from "../../devices/forms.js";
import { clean } from "../../format.js";
import { copyButton, icon, loaded, resource, styles, tag, when } from "../../parts.js";
import { present } from "../../renderers/registry.js";
import { en } from "../../renderers/texts.en.js";
import { it } from "../../renderers/texts.it.js";
import { computed, effect, h, onDispose, signal, untrack } from "../../view.js";
import { status } from "./activities.js";
import { controls } from "./controls.js";
import { diff } from "./diff.js";
import { countdown, endsAt, isEnded } from "./reducer.js";

/** @import { Context, Readable } from "../../types.d.ts" */
/** @import { Activity } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @import { Words } from "../../renderers/types.d.ts" */
/** @import { Model } from "./model.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

await styles(new URL("../../devices/devices.css", import.meta.url));

/**
 * @param {object} options
 * @param {Context} options.context @param {T} options.t @param {Model} options.model
 * @param {Readable<Activity>} options.activity @param {() => void} options.close
 */
export function detail({ context, t, model, activity, close }) {
  /** @type {Words} */
  const words = { en, it }[context.language];
  const { client, caller, href } = context, id = activity.value.id ?? "";
  const attributes = resource((signal) => client.call(ActivitiesService.getActivity, { activityId: id }, { signal }));
  const shown = computed(() => present({
    attributesType: attributes.value.value?.attributesType, attributesJson: attributes.value.value?.attributesJson,
    stateJson: activity.value.contentStateJson, words, nowMs: isEnded(activity.value) ? Date.parse(activity.value.endTime ?? "") || model.nowMs.value : model.nowMs.value,
  }));
  return h("section", { class: "activity-detail stack", "aria-label": t.detail.title(id) },
    h("div", { class: "row" }, h("button", { type: "button", class: "quiet only-narrow", "aria-label": t.close, onclick: close }, icon("back")),
      h("h2", { class: "grow ellipsis mono" }, clean(id, 128)), copyButton(context, id)),
    h("div", { class: "row wrap" }, () => status(activity.value, t, model.nowMs.value),
      h("span", { class: "muted" }, () => activity.value.endReason ? t.reason[activity.value.endReason] : countdown(endsAt(activity.value), model.nowMs.value))),
    h("div", { class: "activity-looks", role: "img", "aria-label": () => shown.value.spoken },
      h("div", { "aria-hidden": "true" }, () => lockCard(shown.value, isEnded(activity.value) ? "ended" : "started")),
      h("div", { "aria-hidden": "true" }, () => islandForms(shown.value))),
    controls({ context, t, model, activity }),
    states(t, activity),
    facts(context, t, activity),
    h("section", { class: "stack" }, h("h3", null, t.detail.tokens), tokens(context, t, activity)),
    caller.may("activities:operate") && h("section", { class: "stack" }, h("h3", null, t.detail.pushes), pushes(context, t, id)),
    h("details", null, h("summary", null, t.detail.attributes), loaded(context, attributes, ({ attributesType = "", attributesJson = "" }) =>
      h("pre", { tabindex: 0 }, clean(attributesType, 256), "\n", clean(attributesJson, 4096)))),
    caller.may("simulator:operate") && h("a", { href: href("devices") }, t.detail.toDevice));
}

/** Shows the state member by member; what the last change has changed flashes. @param {T} t @param {Readable<Activity>} activity */
function states(t, activity) {
  const before = signal(/** @type {string | undefined} */ (undefined)), now = signal(activity.value.contentStateJson);
  effect(() => {
    const json = activity.value.contentStateJson;
    if (json === untrack(() => now.value)) return;
    before.value = untrack(() => now.value);
    now.value = json;
  });
  const rows = computed(() => diff(before.value, now.value));
  return h("section", { class: "stack" }, h("div", { class: "row" }, h("h3", { class: "grow" }, t.detail.state),
    h("span", { class: "muted", role: "status" }, () => before.value === undefined ? t.detail.noChange
      : `${t.detail.changes}: ${rows.value.filter(({ kind }) => kind !== "same").map(({ path }) => path).slice(0, 8).join(", ")}`)),
  h("table", { class: "diff" }, h("thead", null, h("tr", null, h("th", { scope: "col" }, t.detail.member), h("th", { scope: "col" }, t.detail.after), h("th", { scope: "col" }, t.detail.before))),
    h("tbody", null, () => rows.value.map(({ path, before: was, after, kind }) => h("tr", { class: `is-${kind}` },
      h("th", { scope: "row", class: "mono" }, clean(path, 120)), h("td", { class: "mono" }, after === undefined ? tag("bad", t.detail.removed) : clean(after, 200)),
      h("td", { class: "mono muted" }, kind === "same" ? "" : kind === "added" ? tag("good", t.detail.added) : clean(was, 200)))))));
}

/** @param {Context} context @param {T} t @param {Readable<Activity>} activity */
function facts(context, t, activity) {
  /** @type {[string, () => import("../../types.d.ts").Child][]} */
  const rows = [
    [t.detail.app, () => activity.value.app], [t.detail.environment, () => activity.value.environment],
    [t.detail.started, () => [when(context, activity.value.startTime), " ", h("span", { class: "muted" }, t.origin[activity.value.origin ?? "ACTIVITY_ORIGIN_UNSPECIFIED"])]],
    [t.detail.expires, () => when(context, endsAt(activity.value))], [t.detail.endedAt, () => activity.value.endTime && when(context, activity.value.endTime)],
    [t.detail.stale, () => activity.value.staleTime && when(context, activity.value.staleTime)],
    [t.detail.score, () => activity.value.relevanceScore], [t.detail.timestamp, () => activity.value.apsTimestamp],
    [t.detail.group, () => activity.value.groupId], [t.detail.channel, () => activity.value.channelId],
  ];
  return h("section", { class: "stack" }, h("h3", null, t.detail.facts), h("dl", { class: "facts" }, rows.map(([name, value]) => () => {
    const shown = value();
    return shown === undefined || shown === "" || shown === null ? null : h("div", null, h("dt", null, name), h("dd", null, shown));
  })));
}

/** @param {Context} context @param {T} t @param {Readable<Activity>} activity */
function tokens(context, t, activity) {
  const list = resource(async (signal) => {
    const { tokens = [] } = await context.client.call(PushTokensService.listPushTokens, { pageSize: 1000, includeRetired: true }, { signal });
    return tokens.filter(({ activityId }) => activityId === activity.value.id);
  });
  let count = activity.value.updateTokenCount;
  effect(() => {
    if (activity.value.updateTokenCount === count) return;
    count = activity.value.updateTokenCount;
    void list.reload();
  });
  return loaded(context, list, (tokens) => tokens.length === 0 ? h("p", { class: "muted" }, t.noTokens) : h("table", null, h("tbody", null, tokens.map((token) =>
    h("tr", null, h("th", { scope: "row", class: "mono" }, token.redactedToken ?? ""), h("td", null, clean(token.installationId, 64)),
      h("td", null, token.retireTime ? tag("", t.detail.retired(token.retireReason ?? "")) : when(context, token.registerTime)))))));
}

/** @param {Context} context @param {T} t @param {string} id */
function pushes(context, t, id) {
  const { client, watch, format, href } = context;
  let stop = () => {};
  onDispose(() => stop());
  const list = resource(async (signal) => {
    const { pushes = [], resumeToken = "" } = await client.call(PushDeliveryService.listPushes, { activityId: id, pageSize: 10 }, { signal });
    if (!signal.aborted) follow(resumeToken);
    return pushes;
  });
  /** Adds each push that ends after a token: the newest ten. @param {string} resumeToken */
  function follow(resumeToken) {
    stop();
    stop = watch(PushDeliveryService.watchPushes, { activityId: id, resumeToken }, {
      message({ push }) {
        if (push) list.value.value = [push, ...(list.value.value ?? []).filter(({ apnsId }) => apnsId !== push.apnsId)].slice(0, 10);
      },
      gap: () => void list.reload(),
    });
  }
  return loaded(context, list, (pushes) => pushes.length === 0 ? h("p", { class: "muted" }, t.detail.noPushes) : h("table", null, h("tbody", null, pushes.map((push) => {
    const isAccepted = push.status === "PUSH_STATUS_ACCEPTED";
    return h("tr", null, h("td", { class: "mono" }, format.clock(push.queueTime).slice(0, 8)), h("td", null, (push.action ?? "").replace("PUSH_ACTION_", "").toLowerCase()),
      h("td", null, tag(isAccepted ? "good" : "bad", push.reason || (push.status ?? "").replace("PUSH_STATUS_", "").toLowerCase())),
      h("td", null, h("a", { class: "mono", href: href(`trace/${push.apnsId}`), "aria-label": t.detail.toTrace(push.apnsId) }, (push.apnsId ?? "").slice(0, 8))));
  }))));
}
