// The trace: one notification or push as a timeline, with a verdict first.
// Users who are not operators see the part that is their own.

import { DeliveryService, NotificationsService } from "../../../sdk/generated/campanile.notifications.v1.js";
import { PushDeliveryService, PushTokensService } from "../../../sdk/generated/campanile.activities.v1.js";
import { clean, durationMs, pretty } from "../../format.js";
import { coalesce, copyButton, empty, failure, field, icon, loaded, resource, skeleton, styles, when } from "../../parts.js";
import { recognise } from "../../router.js";
import { computed, h, onDispose, show, signal, untrack } from "../../view.js";
import { en } from "./texts.en.js";
import { it } from "./texts.it.js";
import { judge, judgePush, timeline } from "./verdict.js";

/** @import { Child, Context, Page } from "../../types.d.ts" */
/** @import { DeliveryRecord, Notification } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @import { Push, PushToken } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof en>} T */
/** @typedef {import("./verdict.js").Verdict} Verdict */

await styles(new URL("trace.css", import.meta.url));

/** @type {Page} */
export const page = {
  path: "trace",
  render(context) {
    /** @type {T} */
    const t = { en, it }[context.language];
    const { route, navigate, caller } = context, id = computed(() => route.value.parts[0] ?? ""), user = computed(() => route.value.query.user ?? "");
    const invalid = signal(false), isOperator = caller.may("notifications:operate");
    const form = h("form", {
      class: "trace-form",
      onsubmit: (/** @type {SubmitEvent} */ event) => {
        event.preventDefault();
        const values = new FormData(/** @type {HTMLFormElement} */ (event.target)), found = recognise(String(values.get("id")));
        invalid.value = !found || (found.kind !== "notification" && found.kind !== "uuid");
        if (found && !invalid.value) navigate(`trace/${found.id}`, { user: String(values.get("user") ?? "") });
      },
    }, h("div", { class: "grow" }, field(t.label, h("input", { name: "id", value: id, placeholder: t.hint, spellcheck: "false", autocomplete: "off", class: "mono", required: true }))),
    isOperator && h("div", null, field(t.user, h("input", { name: "user", value: user, autocomplete: "off" }))),
    h("button", { class: "primary" }, icon("search"), t.find));
    return h("div", { class: "page trace" }, h("div", { class: "page-head" }, h("h1", null, t.title)), form,
      show(invalid, () => h("p", { class: "message bad", role: "alert" }, t.idUnknown)),
      () => {
        const found = recognise(id.value), of = user.value;
        if (!found) return [empty("trace", t.emptyTitle, t.emptyText), recent(context, t)];
        return untrack(() => found.kind === "uuid" ? ofPush(context, t, found.id) : ofNotification(context, t, found.id, of));
      });
  },
};

/** Follows what changes a trace, and reads it again. @param {Context} context @param {string} user @param {() => Promise<unknown>} reload */
function follow({ watch, caller }, user, reload) {
  const soon = coalesce(reload, 300), handlers = { message: soon, gap: soon };
  if (caller.user) onDispose(watch(NotificationsService.watchNotifications, {}, handlers));
  if (caller.may("activities:operate")) onDispose(watch(PushDeliveryService.watchPushes, { ...(user && { userId: user }) }, handlers));
}

/** @param {Context} context @param {T} t @param {string} notificationId @param {string} user */
function ofNotification(context, t, notificationId, user) {
  const { client, caller } = context, isOwn = !user || user === caller.user;
  const found = resource(async (signal) => {
    const options = { signal };
    /** @type {DeliveryRecord[]} */
    const records = [];
    for (let pageToken = "";;) {
      const paging = { notificationId, pageSize: 1000, ...(pageToken && { pageToken }) };
      const page = isOwn ? await client.call(NotificationsService.explainDelivery, paging, options)
        : await client.call(DeliveryService.explainUserDelivery, { userId: user, ...paging }, options);
      records.push(...page.records ?? []);
      pageToken = page.nextPageToken ?? "";
      if (!pageToken || records.length > 5000) break;
    }
    const [notification, tokens, ...pushes] = await Promise.all([
      isOwn ? client.call(NotificationsService.getNotification, { notificationId }, options).then(({ notification }) => notification, () => undefined) : undefined,
      isOwn && caller.may("activities:read") ? readTokens(context, options) : undefined,
      ...(caller.may("activities:operate") ? [...new Set(records.flatMap(({ pushId }) => pushId ? [pushId] : []))].slice(0, 20) : [])
        .map((apnsId) => client.call(PushDeliveryService.getPush, { apnsId }, options).then(({ push }) => push, () => undefined)),
    ]);
    return { records, notification, tokens, pushes: pushes.filter((push) => push !== undefined) };
  });
  follow(context, user, found.reload);
  return () => {
    const error = /** @type {{ code?: string } | undefined} */ (found.error.value);
    if (!found.value.value && error?.code === "NOT_FOUND") {
      return empty("search", t.notFound, caller.may("notifications:operate") && isOwn ? t.userNeeded : "");
    }
    if (!found.value.value) return error ? failure(context, error, found.reload) : skeleton(context.t.loading, 6);
    const { records, notification, tokens, pushes } = found.value.value;
    return [
      heading(context, notification, notificationId), verdict(context, t, judge(records, tokens)),
      steps(context, t, timeline(notification, records, pushes)), tokens && devices(context, t, tokens),
    ];
  };
}

/** @param {Context} context @param {{ signal: AbortSignal }} options */
async function readTokens({ client }, options) {
  try {
    return (await client.call(PushTokensService.listPushTokens, { includeRetired: true, pageSize: 100 }, options)).tokens ?? [];
  } catch {
    // The verdict stands without the devices, such as while Activities is down.
    return undefined;
  }
}

/** @param {Context} context @param {Notification | undefined} notification @param {string} id */
const heading = (context, notification, id) => h("div", { class: "stack trace-head" },
  notification && h("h2", { dir: "auto" }, h("a", { href: context.href(`inbox/all/${id}`) }, clean(notification.title, 200))),
  h("p", { class: "row muted" }, h("code", null, id), copyButton(context, id)));

/** @param {Context} context @param {T} t @param {Verdict} verdict */
function verdict({ format }, t, { kind, level, time, reason }) {
  const remedy = /** @type {Record<string, string>} */ (t.remedies)[kind];
  return h("div", { class: `message verdict ${level}`, role: "status" }, icon(level === "good" ? "check" : level === "" ? "clock" : "alert"),
    h("div", { class: "stack" }, h("strong", null, t.verdicts[kind](format.full(time), clean(reason || "–", 200))), remedy && h("p", null, remedy)));
}

/** @param {Context} context @param {T} t @param {import("./verdict.js").Step[]} all */
function steps(context, t, all) {
  const { format, href } = context;
  return h("section", { class: "stack", "aria-label": t.steps }, h("h2", null, t.steps), h("ol", { class: "timeline" }, all.map(({ time, key, level, record, push }) => {
    /** @type {Child[]} */
    const facts = [
      key === "ANSWERED" && push && [t.statuses[push.status ?? "PUSH_STATUS_UNSPECIFIED"], push.httpStatus && String(push.httpStatus)].filter(Boolean).join(" · "),
      key === "ANSWERED" && push?.latency && `${t.facts.latency} ${Math.round(durationMs(push.latency))} ms`,
      key === "ANSWERED" && push?.attemptCount && t.facts.attempts(push.attemptCount),
      (record?.reason || (key === "ANSWERED" && push?.reason)) && h("code", null, clean(record?.reason || push?.reason, 200)),
      record?.releaseTime && `${t.facts.release} ${format.full(record.releaseTime)}`,
      record?.deviceId && [`${t.facts.device} `, h("code", null, clean(record.deviceId, 64))],
      (record?.pushId || key === "QUEUED") && h("a", { href: href(`trace/${record?.pushId ?? push?.apnsId}`) }, t.push),
    ].filter(Boolean);
    return h("li", { class: `step ${level}` }, h("time", { datetime: time, title: format.full(time), class: "muted" }, format.clock(time)),
      h("div", null, h("strong", null, t.outcomes[/** @type {keyof T["outcomes"]} */ (key)] ?? key),
        facts.length > 0 && h("p", { class: "muted" }, facts.flatMap((fact, index) => index > 0 ? [" · ", fact] : [fact]))));
  })));
}

/** @param {Context} context @param {T} t @param {readonly PushToken[]} tokens */
const devices = (context, t, tokens) => h("section", { class: "stack" }, h("h2", null, t.tokens), tokens.length === 0 ? h("p", { class: "muted" }, t.noTokens)
  : h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": t.tokens }, h("table", null,
    h("thead", null, h("tr", null, [t.facts.token, t.facts.kind, t.facts.app, t.facts.environment, t.facts.registered, t.facts.status].map((each) => h("th", { scope: "col" }, each)))),
    h("tbody", null, tokens.map((token) => h("tr", null, h("td", null, h("code", null, clean(token.redactedToken, 40))),
      h("td", null, clean(token.kind?.replace("PUSH_TOKEN_KIND_", "").toLowerCase().replaceAll("_", " "), 40)), h("td", null, clean(token.app, 80)),
      h("td", null, clean(token.environment, 40)), h("td", null, when(context, token.registerTime)),
      h("td", null, token.retireTime ? h("span", { class: "tag bad" }, `${t.facts.retired}: ${clean(token.retireReason, 60)}`)
        : h("span", { class: "tag good" }, t.facts.inUse))))))));

/** @param {Context} context @param {T} t @param {string} apnsId */
function ofPush(context, t, apnsId) {
  const { client, caller } = context;
  if (!caller.may("activities:operate")) return empty("search", t.notFound);
  const found = resource((signal) => client.call(PushDeliveryService.getPush, { apnsId, includePayload: true }, { signal }));
  follow(context, "", found.reload);
  return () => {
    const error = /** @type {{ code?: string } | undefined} */ (found.error.value), push = found.value.value?.push;
    if (!push) return error?.code === "NOT_FOUND" ? empty("search", t.notFound) : error ? failure(context, error, found.reload) : skeleton(context.t.loading, 6);
    const nid = notificationOf(found.value.value?.payloadJson);
    /** @type {[string, Child][]} */
    const facts = [
      [t.user, push.userId], [t.facts.app, push.app], [t.facts.environment, push.environment], [t.facts.kind, push.pushType?.replace("APNS_PUSH_TYPE_", "").toLowerCase()],
      [t.facts.trace, push.traceId && h("code", null, push.traceId)],
      ["", nid && h("a", { href: context.href(`trace/${nid}`, { user: push.userId === caller.user ? "" : push.userId }) }, nid)],
    ];
    return [
      heading(context, undefined, apnsId), verdict(context, t, judgePush(push)), steps(context, t, timeline(undefined, [], [push])),
      h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, typeof value === "string" ? clean(value, 128) : value)))),
      found.value.value?.payloadJson && h("section", { class: "stack" }, h("h2", null, t.facts.payload), h("pre", { dir: "ltr" }, pretty(found.value.value.payloadJson))),
    ];
  };
}

/** @param {string | undefined} json */
function notificationOf(json) {
  try {
    const { nid } = JSON.parse(json ?? "{}");
    return typeof nid === "string" && recognise(nid)?.kind === "notification" ? nid : "";
  } catch {
    return "";
  }
}

/** Lists what may be traced. @param {Context} context @param {T} t */
function recent(context, t) {
  const { client, caller, href } = context;
  if (caller.may("activities:operate")) {
    const pushes = resource((signal) => client.call(PushDeliveryService.listPushes, { pageSize: 20 }, { signal }));
    return h("section", { class: "stack" }, h("h2", null, t.recent), loaded(context, pushes, ({ pushes = [] }) =>
      h("div", { class: "scroll-x", tabindex: 0, role: "region", "aria-label": t.recent }, h("table", null,
        h("thead", null, h("tr", null, [t.facts.time, t.user, t.facts.app, t.facts.status, t.facts.id].map((each) => h("th", { scope: "col" }, each)))),
        h("tbody", null, pushes.map((/** @type {Push} */ push) => h("tr", null, h("td", null, when(context, push.queueTime)), h("td", null, clean(push.userId, 60)),
          h("td", null, clean(push.app, 60)), h("td", null, h("span", { class: `tag ${judgePush(push).level}` }, t.statuses[push.status ?? "PUSH_STATUS_UNSPECIFIED"])),
          h("td", null, h("a", { href: href(`trace/${push.apnsId}`), class: "mono" }, push.apnsId)))))))));
  }
  const latest = resource((signal) => client.call(NotificationsService.listNotifications, { pageSize: 20 }, { signal }));
  return h("section", { class: "stack" }, h("h2", null, t.recentOwn), loaded(context, latest, ({ notifications = [] }) =>
    h("ul", { class: "recent" }, notifications.map(({ id, title, createTime }) => h("li", { class: "row" },
      h("a", { class: "grow ellipsis", href: href(`trace/${id}`), dir: "auto" }, clean(title, 120)), h("span", { class: "muted" }, when(context, createTime)))))));
}
