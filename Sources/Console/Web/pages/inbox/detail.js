// One notification: its texts, media, actions and facts.

import { NotificationsService as Service } from "../../../sdk/generated/campanile.notifications.v1.js";
import { clean } from "../../format.js";
import { empty, failure, icon, iconButton, later, resource, skeleton, when } from "../../parts.js";
import { computed, h } from "../../view.js";

/** @import { Child, Context, Readable } from "../../types.d.ts" */
/** @import { Bucket, Notification } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */
/** @typedef {import("./model.js").Model} Model */

/** @param {Context} context @param {T} t @param {Model} model @param {Readable<Map<string | undefined, Bucket>>} names */
export function detail(context, t, model, names) {
  const listed = computed(() => model.items.value.find(({ id }) => id === model.openId.value));
  const isListed = computed(() => listed.value !== undefined);
  return () => {
    const id = model.openId.value;
    if (!id) return empty("inbox", t.pick, t.pickText);
    if (isListed.value) return () => listed.value && content(context, t, model, names, listed.value);
    const read = resource((signal) => context.client.call(Service.getNotification, { notificationId: id }, { signal }));
    return () => read.value.value?.notification ? content(context, t, model, names, read.value.value.notification)
      : read.error.value ? /** @type {{ code?: string }} */ (read.error.value).code === "NOT_FOUND"
        ? empty("search", t.notFound, "", backLink(context, t, model)) : failure(context, read.error.value, read.reload) : skeleton(context.t.loading);
  };
}

/** Opens the dialog about a later time. @param {Context} context @param {T} t @param {Model} model @param {string[]} ids */
export const snooze = (context, t, model, ids) => import("./snooze.js").then(({ openSnooze }) => openSnooze(context, t, model, ids), context.fail);

/** @param {Context} context @param {T} t @param {Model} model */
const backLink = ({ href, route }, t, model) =>
  h("a", { class: "button quiet inbox-back", href: href(`inbox/${model.place.value}`, route.value.query) }, icon("back"), t.back);

/** @param {Context} context @param {T} t @param {Model} model @param {Readable<Map<string | undefined, Bucket>>} names @param {Notification} item */
function content(context, t, model, names, item) {
  const { href, caller } = context, id = item.id ?? "", canWrite = caller.may("notifications:write");
  const bucket = names.value.get(item.bucketId), isTrash = model.place.value === "trash", isScheduled = item.deliveryState === "DELIVERY_STATE_SCHEDULED";
  /** @type {[string, Child][]} */
  const facts = [
    [t.facts.bucket, h("a", { href: href(`inbox/${item.bucketId}`), dir: "auto" }, clean(bucket?.name ?? item.bucketId, 128))],
    [t.facts.state, t.states[/** @type {keyof T["states"]} */ (item.deliveryState)] ?? item.deliveryState],
    [t.facts.priority, t.priorities[/** @type {keyof T["priorities"]} */ (item.priority)] ?? item.priority],
    [t.facts.created, item.createTime && when(context, item.createTime)], [t.facts.deliver, item.deliverTime && when(context, item.deliverTime)],
    [t.facts.release, item.releaseTime && when(context, item.releaseTime)], [t.facts.sent, item.sendTime && when(context, item.sendTime)],
    [t.facts.read, item.readTime && when(context, item.readTime)], [t.facts.expires, item.expireTime && when(context, item.expireTime)],
    [t.facts.id, h("code", null, id)],
  ];
  return h("article", { class: "detail" },
    h("div", { class: "detail-tools row" }, backLink(context, t, model), h("span", { class: "grow" }),
      canWrite && (isTrash ? h("button", { type: "button", onclick: () => model.restore([id]) }, t.restore)
        : isScheduled ? h("button", { type: "button", class: "danger", onclick: () => model.cancel([id]) }, t.cancelSchedule) : [
          item.readTime ? iconButton("unread", t.markUnread, { onclick: () => model.mark(false, [id]) })
            : iconButton("read", t.markRead, { onclick: () => model.mark(true, [id]) }),
          iconButton("clock", t.snooze, { onclick: () => snooze(context, t, model, [id]) }),
          iconButton("trash", t.remove, { onclick: () => model.remove([id]) })]),
      h("a", { class: "button quiet", href: href(`trace/${id}`) }, icon("trace"), t.trace)),
    h("header", { class: "stack" }, h("h2", { dir: "auto" }, clean(item.title, 1024)),
      item.subtitle && h("p", { class: "subtitle", dir: "auto" }, clean(item.subtitle, 1024))),
    item.body && h("p", { class: "body", dir: "auto" }, clean(item.body, 16_384)),
    (item.attachments ?? []).length > 0 && later(() => import("./attachments.js"), ({ attachments }) => attachments(context, t, item)),
    canWrite && (item.actions ?? []).length > 0 && h("div", { class: "row wrap", role: "group", "aria-label": t.actions },
      item.actions?.map((action, index) => h("button", {
        type: "button", class: action.destructive ? "danger" : "", onclick: () => invoke(context, t, model, id, String(index)) },
      clean(action.title || action.type?.replace("ACTION_TYPE_", "").toLowerCase(), 80)))),
    h("dl", { class: "facts" }, facts.filter(([, value]) => value).map(([name, value]) => h("div", null, h("dt", null, name), h("dd", null, value)))));
}

/** @param {Context} context @param {T} t @param {Model} model @param {string} notificationId @param {string} actionId */
async function invoke({ client, notify, fail, navigate }, t, model, notificationId, actionId) {
  try {
    const { run } = await client.call(Service.invokeAction, { notificationId, actionId, requestId: crypto.randomUUID() });
    if (run?.url && /^https?:/.test(run.url)) globalThis.open(run.url, "_blank", "noopener,noreferrer");
    else if (run?.openNotificationId) navigate(`inbox/all/${run.openNotificationId}`);
    notify(t.ran(t.runs[/** @type {keyof T["runs"]} */ (run?.state)] ?? ""));
  } catch (error) {
    fail(error);
  }
  void model.reload();
}
