// The overview: whether the services run, what was pushed, what waits, and the first steps.

import { AccessService } from "../../../sdk/generated/campanile.gateway.v1.js";
import { NotificationsService } from "../../../sdk/generated/campanile.notifications.v1.js";
import { PushDeliveryService, PushTokensService } from "../../../sdk/generated/campanile.activities.v1.js";
import { clean, durationMs } from "../../format.js";
import { copyButton, icon, loaded, pending, resource, skeleton, styles, tag, when } from "../../parts.js";
import { h, onDispose, show, svg } from "../../view.js";
import { axisTop, hoursOf } from "./statistics.js";
import { en } from "./texts.en.js";
import { it } from "./texts.it.js";

/** @import { Child, Context, Page } from "../../types.d.ts" */
/** @typedef {import("../../types.d.ts").Texts<typeof en>} T */

await styles(new URL("overview.css", import.meta.url));

const refreshMs = 5000;
const appsMax = 8;

/**
 * Reads the statistics of the apps of the latest pushes: the last 24 hours, and the latest median of the latency.
 *
 * @param {Context} context @param {AbortSignal} signal
 */
async function readStatistics({ client }, signal) {
  const { pushes = [] } = await client.call(PushDeliveryService.listPushes, { pageSize: 200 }, { signal });
  const apps = [...new Set(pushes.flatMap(({ app }) => app ? [app] : []))].slice(0, appsMax);
  const found = await Promise.all(apps.map((app) => client.call(PushDeliveryService.listPushStatistics, { app, pageSize: 1000 }, { signal })));
  const hours = found.flatMap(({ hours = [] }) => hours);
  return { bars: hoursOf(hours, Date.now()), latencyP50: hours.findLast(({ latencyP50 }) => latencyP50)?.latencyP50 };
}

/** @type {Page} */
export const page = {
  path: "overview",
  render(context) {
    /** @type {T} */
    const t = { en, it }[context.language];
    const { caller, route } = context, isOperator = caller.may("activities:operate"), isUser = caller.user !== "" && caller.may("notifications:read");
    const statistics = isOperator ? polled((signal) => readStatistics(context, signal)) : undefined;
    return h("div", { class: "page overview" }, h("div", { class: "page-head" }, h("h1", null, t.title)),
      services(context, t), isOperator || isUser ? figures(context, t, statistics, isUser) : null,
      statistics && pushes(context, t, statistics), isUser && firstSteps(context, t),
      show(() => caller.may("admin") && route.value.parts[0] === "keys", () => keys(context, t)));
  },
};

/** Reads something again and again, while the page is visible. What is equal is not drawn anew. @template T @param {(signal: AbortSignal) => Promise<T>} read */
function polled(read) {
  /** @type {T} */
  let last;
  const found = resource(async (signal) => {
    const next = await read(signal);
    if (JSON.stringify(next) !== JSON.stringify(last)) last = next;
    return last;
  });
  const timer = setInterval(() => { if (document.visibilityState === "visible") void found.reload(); }, refreshMs);
  onDispose(() => clearInterval(timer));
  return found;
}

/** @param {Context} context @param {T} t */
function services(context, t) {
  const found = polled((signal) => context.client.call(AccessService.getCaller, {}, { signal, timeoutMs: 4000 }));
  return h("section", { class: "stack" }, h("h2", null, t.services), () => {
    const services = found.value.value?.services ?? context.services, down = services.filter(({ serving }) => !serving);
    return [
      h("ul", { class: "services" }, services.map(({ name = "", serving }) => h("li", { class: `service ${serving ? "" : "down"}` },
        h("span", { class: `dot ${serving ? "good" : "bad"}` }), h("strong", { class: "grow ellipsis" }, clean(name, 40)),
        h("span", { class: "muted" }, serving ? t.up : t.down)))),
      down.map(({ name = "" }) => h("div", { class: "message bad", role: "alert" }, icon("alert"), h("div", { class: "stack grow" },
        h("p", null, t.downHint(clean(name, 40))), command(context, "campanile doctor")))),
    ];
  });
}

/** @param {Context} context @param {string} text */
const command = (context, text) => h("div", { class: "command row" }, h("code", { class: "grow" }, text), copyButton(context, text));

/** @typedef {ReturnType<typeof polled<Awaited<ReturnType<typeof readStatistics>>>>} Statistics */

/** @param {Context} context @param {T} t @param {Statistics | undefined} statistics Undefined for those who are not operators. @param {boolean} isUser */
function figures(context, t, statistics, isUser) {
  const { client, format, href } = context, isOperator = statistics !== undefined;
  /** @param {Child} value @param {string} label @param {Child} [link] @param {string} [kind] */
  const figure = (value, label, link, kind = "") => h("div", { class: `card ${kind}` }, h("p", { class: "figure" }, value), h("p", { class: "muted" }, label), link);
  const found = polled(async (signal) => {
    const [unread, dead] = await Promise.all([
      isUser ? client.call(NotificationsService.getUnreadCounts, {}, { signal }) : undefined,
      isOperator ? client.call(PushDeliveryService.listDeadLetters, { pageSize: 1000 }, { signal }) : undefined]);
    return { unread: unread?.unreadCounts?.total ?? 0, dead };
  });
  return h("div", { class: "cards" }, loaded(context, found, ({ unread, dead }) => {
    const { bars, latencyP50 } = statistics?.value.value ?? {}, deadCount = dead?.pushes?.length ?? 0;
    /** @param {"accepted" | "failed"} kind */
    const sum = (kind) => bars ? format.number(bars.reduce((sum, hour) => sum + hour[kind], 0)) : "–";
    const hasFailed = bars?.some(({ failed }) => failed > 0);
    return [
      isUser && figure(format.number(unread), t.unread, h("a", { href: href("inbox/all", { unread: "1" }) }, t.toInbox)),
      isOperator && figure(sum("accepted"), t.accepted),
      isOperator && figure(sum("failed"), t.rejected, hasFailed && h("a", { href: href("trace") }, t.toTrace), hasFailed ? "bad" : ""),
      isOperator && figure(`${format.number(deadCount)}${dead?.nextPageToken ? "+" : ""}`, t.dead, deadCount > 0 && h("a", { href: href("trace") }, t.toTrace), deadCount > 0 ? "bad" : ""),
      latencyP50 && figure(`${format.number(Math.round(durationMs(latencyP50)))} ms`, t.latency),
    ];
  }, () => Array.from({ length: isOperator ? 4 : 1 }, () => h("div", { class: "card" }, skeleton(context.t.loading, 2)))));
}

/** @param {Context} context @param {T} t @param {Statistics} found */
function pushes(context, t, found) {
  const { format } = context;
  return h("section", { class: "card" }, h("h2", null, t.pushes), h("div", { class: "chart-space" }, loaded(context, found, ({ bars }) => {
    const top = axisTop(Math.max(...bars.map(({ accepted, failed }) => accepted + failed)));
    if (bars.every(({ accepted, failed }) => accepted + failed === 0)) return h("p", { class: "muted" }, t.none);
    const clock = (/** @type {number} */ ms) => format.clock(ms).slice(0, 5), height = 120;
    return [
      svg("svg", { class: "chart", viewBox: `0 0 760 ${height + 26}`, "aria-hidden": "true" },
        [0, 0.5, 1].map((part) => [svg("line", { x1: 40, x2: 760, y1: 6 + height * (1 - part), y2: 6 + height * (1 - part) }),
          svg("text", { x: 34, y: 10 + height * (1 - part), "text-anchor": "end" }, part === 0.5 && top === 1 ? "" : format.number(top * part))]),
        bars.map(({ startMs, accepted, failed }, index) => {
          const x = 44 + index * 30, good = height * accepted / top, bad = height * failed / top;
          return [svg("rect", { class: "accepted", x, y: 6 + height - good, width: 22, height: good, rx: 2 }, svg("title", null, `${clock(startMs)}: ${accepted}`)),
            svg("rect", { class: "failed", x, y: 6 + height - good - bad, width: 22, height: bad, rx: 2 }),
            index % 4 === 3 && svg("text", { x: x + 11, y: height + 22, "text-anchor": "middle" }, clock(startMs))];
        })),
      h("div", { class: "row legend" }, h("span", { class: "key accepted" }), t.count, h("span", { class: "key failed" }), t.failedCount),
      h("table", { class: "hidden-text" }, h("caption", null, t.pushes),
        h("thead", null, h("tr", null, [t.hour, t.count, t.failedCount].map((name) => h("th", { scope: "col" }, name)))),
        h("tbody", null, bars.map(({ startMs, accepted, failed }) => h("tr", null, h("td", null, clock(startMs)), h("td", null, accepted), h("td", null, failed))))),
    ];
  })));
}

/** @param {Context} context @param {T} t */
function firstSteps(context, t) {
  const { client, caller, href } = context;
  const found = polled(async (signal) => {
    const [buckets, notifications, tokens] = await Promise.all([
      client.call(NotificationsService.listBuckets, { pageSize: 1 }, { signal }), client.call(NotificationsService.listNotifications, { pageSize: 1 }, { signal }),
      caller.may("activities:read") ? client.call(PushTokensService.listPushTokens, { pageSize: 1 }, { signal }).catch(() => ({ tokens: undefined })) : undefined]);
    return { bucket: buckets.buckets?.[0], notification: notifications.notifications?.[0], token: tokens?.tokens?.[0] };
  });
  return () => {
    const value = found.value.value;
    if (!value) return found.error.value ? null : pending();
    const { bucket, notification, token } = value, bucketId = bucket?.id ?? "BUCKET_ID";
    /** @type {[string, boolean, Child][]} */
    const steps = [
      [t.steps.bucket, bucket !== undefined, command(context, `campanile call CreateBucket '{"bucket":{"name":"Builds"}}'`)],
      [t.steps.publish, notification !== undefined, command(context, `campanile call CreateNotification '{"notification":{"bucketId":"${bucketId}","title":"Hello"}}'`)],
      [t.steps.device, token !== undefined, [h("p", { class: "muted" }, t.devicesHint),
        command(context, `campanile call RegisterPushToken '{"kind":"PUSH_TOKEN_KIND_DEVICE","app":"com.example.app","environment":"sandbox","installationId":"phone","token":"TOKEN"}'`)]],
    ];
    if (steps.every(([, isDone]) => isDone)) return null;
    return h("section", { class: "card" }, h("h2", null, t.start), h("p", { class: "muted" }, t.startText), h("ol", { class: "checklist" },
      steps.map(([text, isDone, help]) => h("li", { class: isDone ? "done" : "" }, icon(isDone ? "check" : "clock"), h("div", { class: "grow stack" },
        h("span", null, h("span", { class: "hidden-text" }, `${isDone ? t.done : t.open}: `), text), !isDone && help)))),
    notification && h("a", { href: href(`trace/${notification.id}`) }, t.steps.trace));
  };
}

/** @param {Context} context @param {T} t */
function keys(context, t) {
  const { client, route, href } = context, wanted = route.value.parts[1];
  const found = resource((signal) => client.call(AccessService.listApiKeys, { includeRevoked: true, pageSize: 1000 }, { signal }));
  return h("section", { class: "stack" }, h("h2", null, t.keys.title), loaded(context, found, ({ apiKeys = [] }) => h("table", null,
    h("thead", null, h("tr", null, [t.keys.id, t.keys.principal, t.keys.scopes, t.keys.used, t.keys.description].map((name) => h("th", { scope: "col" }, name)))),
    h("tbody", null, apiKeys.filter(({ id }) => !wanted || id === wanted).map(({ id, principal, scopes = [], lastUseTime, description }) => h("tr", null,
      h("td", null, h("code", null, id)), h("td", null, clean(principal, 80)), h("td", null, scopes.map((scope) => [tag("", clean(scope, 40)), " "])),
      h("td", null, lastUseTime && when(context, lastUseTime)), h("td", { dir: "auto" }, clean(description, 120))))))),
  wanted && h("a", { href: href("overview/keys") }, t.keys.all));
}
