// The inbox: buckets, a list and what is open, side by side; one after another on a narrow screen.

import { clean } from "../../format.js";
import { empty, failure, gapMark, icon, iconButton, later, skeleton, styles, when } from "../../parts.js";
import { computed, each, h, onDispose, show, virtualList } from "../../view.js";
import { detail, snooze } from "./detail.js";
import { createModel } from "./model.js";
import { en } from "./texts.en.js";
import { it } from "./texts.it.js";

/** @import { Context, Page, Readable } from "../../types.d.ts" */
/** @import { Notification } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof en>} T */

await styles(new URL("inbox.css", import.meta.url));

const rowPx = 56;

/** @type {Page} */
export const page = {
  path: "inbox",
  render(context) {
    /** @type {T} */
    const t = { en, it }[context.language];
    const model = createModel(context, t), { place, openId } = model;
    const isQuiet = computed(() => place.value === "quiet"), names = computed(() => new Map(model.buckets.value.map((bucket) => [bucket.id, bucket])));
    const node = h("div", { class: "fill inbox", "data-open": () => String(openId.value !== "" || isQuiet.value), "data-quiet": () => String(isQuiet.value) },
      h("h1", { class: "hidden-text" }, context.t.pages.inbox), places(context, t, model),
      h("section", { class: "inbox-list", "aria-label": t.list },
        toolbar(context, t, model),
        gapMark(context, model.gapTime),
        show(() => model.error.value, () => h("div", { class: "pad" }, failure(context, model.error.value, model.refresh)),
          () => show(() => model.items.value.length > 0, () => list(context, t, model, names),
            () => h("div", null, () => model.isLoading.value ? h("div", { class: "pad" }, skeleton(context.t.loading, 8)) : nothing(t, model))))),
      h("section", { class: "inbox-detail" }, show(isQuiet, () => later(() => import("./quiet.js"), ({ quietHours }) => quietHours(context, t)), () => detail(context, t, model, names))));
    keys(context, model, node);
    return node;
  },
};

/** @param {Context} context @param {T} t @param {import("./model.js").Model} model */
function places(context, t, model) {
  const { href, format, caller } = context;
  /** @param {string} name @param {string} symbol @param {string} text @param {() => number} [count] */
  const entry = (name, symbol, text, count = () => 0) => h("li", null, h("a", {
    href: href(`inbox/${name}`), "aria-current": () => model.place.value === name ? "true" : null },
  icon(symbol), h("span", { class: "grow ellipsis" }, text),
  () => count() > 0 && h("span", { class: "count", "aria-label": t.unread(format.number(count())) }, format.number(count()))));
  return h("nav", { class: "inbox-places", "aria-label": t.buckets },
    caller.may("notifications:write") && h("button", { type: "button", class: "primary", onclick: () => import("./compose.js").then(({ openCompose }) => openCompose(context, t, model), context.fail) }, icon("plus"), t.compose),
    h("ul", null, entry("all", "inbox", t.all, () => model.unread.value.total ?? 0), entry("scheduled", "clock", t.scheduled),
      entry("trash", "trash", t.trash), entry("quiet", "moon", t.quiet)),
    h("div", { class: "row places-head" }, h("h2", { class: "grow" }, t.buckets), caller.may("notifications:write") &&
      iconButton("plus", t.newBucket, { onclick: () => import("./compose.js").then(({ openBucketForm }) => openBucketForm(context, t, model), context.fail) })),
    h("ul", { class: "bucket-list" }, each(model.buckets, ({ id }) => id, (bucket) => {
      const unread = () => model.unread.value.byBucket?.[bucket.value.id ?? ""] ?? 0;
      return h("li", null, h("a", {
        href: () => href(`inbox/${bucket.value.id}`), "aria-current": () => model.place.value === bucket.value.id ? "true" : null },
      h("span", { class: "swatch", style: () => ({ "background-color": colour(bucket.value.color) }) }),
      h("span", { class: "grow ellipsis", dir: "auto" }, () => clean(bucket.value.name, 128)),
      () => unread() > 0 && h("span", { class: "count", "aria-label": t.unread(format.number(unread())) }, format.number(unread()))));
    })));
}

/** @param {string | undefined} color */
export const colour = (color) => /^#[0-9a-f]{6}$/i.test(color ?? "") ? color : "var(--line-strong)";

/** @param {Context} context @param {T} t @param {import("./model.js").Model} model */
function toolbar(context, t, model) {
  const { navigate, route } = context, canWrite = context.caller.may("notifications:write");
  /** @param {Record<string, string | undefined>} change */
  const change = (change) => navigate(`inbox/${model.bucketId.value || "all"}`, { ...route.value.query, ...change }, { replace: true });
  const isSelecting = computed(() => model.selection.value.size > 0), isTrash = computed(() => model.place.value === "trash");
  const isScheduled = computed(() => model.place.value === "scheduled");
  /** @type {ReturnType<typeof setTimeout> | undefined} */
  let typing;
  onDispose(() => clearTimeout(typing));
  return h("div", { class: "inbox-tools row" }, show(isSelecting, () => [
    iconButton("close", t.clear, { onclick: () => { model.selection.value = new Set(); } }),
    h("strong", { class: "grow" }, () => t.selected(model.selection.value.size)),
    () => canWrite && (isTrash.value ? h("button", { type: "button", onclick: () => model.restore() }, t.restore)
      : isScheduled.value ? h("button", { type: "button", class: "danger", onclick: () => model.cancel() }, t.cancelSchedule) : [
      iconButton("read", t.markRead, { onclick: () => model.mark(true) }), iconButton("unread", t.markUnread, { onclick: () => model.mark(false) }),
      iconButton("clock", t.snooze, { onclick: () => snooze(context, t, model, [...model.selection.value]) }),
      iconButton("trash", t.remove, { onclick: () => model.remove() })]),
  ], () => [
    h("div", { class: "search grow" }, icon("search"), h("input", {
      type: "search", "aria-label": t.search, placeholder: t.search, value: () => model.query.value, maxlength: 256,
      oninput: (/** @type {Event & { target: HTMLInputElement }} */ { target }) => {
        clearTimeout(typing);
        typing = setTimeout(() => change({ q: target.value.trim() }), 250);
      } })),
    h("button", {
      type: "button", class: "quiet filter", "aria-pressed": () => String(model.unreadOnly.value),
      onclick: () => change({ unread: model.unreadOnly.value ? undefined : "1" }) }, t.unreadOnly),
    () => canWrite && model.isLive.value && iconButton("check", t.markAll, { onclick: model.markAll }),
  ]));
}

/** @param {Context} context @param {T} t @param {import("./model.js").Model} model @param {Readable<Map<string | undefined, import("../../../sdk/generated/campanile.notifications.v1.js").Bucket>>} names */
function list(context, t, model, names) {
  const { href, route } = context, reveal = computed(() => model.items.value.findIndex(({ id }) => id === model.openId.value));
  const rows = virtualList({
    rows: model.items, rowPx, key: ({ id }) => id, reveal, props: { class: "inbox-rows", "aria-label": t.list },
    onRange: (_, end) => { if (end >= model.items.value.length - 50) void model.more(); },
    row: (item, index) => h("div", {
      role: "listitem", class: () => `inbox-row ${item.value.readTime ? "read" : ""} ${model.selection.value.has(item.value.id ?? "") ? "selected" : ""}`,
      "aria-posinset": () => String(index.value + 1), "aria-setsize": () => model.nextPage.value ? "-1" : String(model.items.value.length),
      "data-current": () => String(item.value.id === model.openId.value),
    }, h("input", {
      type: "checkbox", "aria-label": () => t.select(clean(item.value.title, 80)), checked: () => model.selection.value.has(item.value.id ?? ""),
      onchange: () => model.toggle(item.value.id ?? "") }),
    h("a", { href: () => href(`inbox/${model.place.value}/${item.value.id}`, route.value.query) },
      h("span", { class: "row" },
        h("span", { class: "unread-dot" }, () => !item.value.readTime && h("span", { class: "hidden-text" }, t.isUnread)),
        h("span", { class: "grow ellipsis title", dir: "auto" }, () => clean(item.value.title, 256)),
        () => item.value.priority === "PRIORITY_CRITICAL" && h("span", { class: "tag bad" }, t.priorities.PRIORITY_CRITICAL),
        () => state(item.value) && h("span", { class: "tag warn" }, t.states[/** @type {keyof T["states"]} */ (item.value.deliveryState)]),
        h("span", { class: "time" }, () => when(context, item.value.deliverTime ?? item.value.createTime))),
      h("span", { class: "row second" },
        h("span", { class: "swatch", style: () => ({ "background-color": colour(names.value.get(item.value.bucketId)?.color) }) }),
        h("span", { class: "grow ellipsis", dir: "auto" }, () => clean([item.value.subtitle, item.value.body].filter(Boolean).join(" – ") ||
          names.value.get(item.value.bucketId)?.name, 200).replace(/\s+/g, " "))))),
  });
  model.followTop(() => rows.scrollTop < rowPx);
  rows.addEventListener("scroll", () => { if (rows.scrollTop < rowPx) model.fresh.value = 0; }, { passive: true });
  return [show(() => model.fresh.value > 0, () => h("button", {
    type: "button", class: "primary fresh", onclick: () => { rows.scrollTop = 0; } }, icon("up"), () => t.fresh(model.fresh.value))), rows];
}

/** @param {Notification} item */
const state = ({ deliveryState }) => /HELD|SNOOZED|POSTPONED|SCHEDULED/.test(deliveryState ?? "");

/** @param {T} t @param {import("./model.js").Model} model */
function nothing(t, model) {
  if (model.query.value) return empty("search", t.emptyTitle, t.emptySearch);
  if (model.place.value === "trash") return empty("trash", t.emptyTitle, t.emptyTrash);
  if (model.place.value === "scheduled") return empty("clock", t.emptyTitle, t.emptyScheduled);
  return empty("inbox", t.emptyTitle, model.unreadOnly.value ? t.emptyUnread : t.emptyText);
}

/** @param {Context} context @param {import("./model.js").Model} model @param {HTMLElement} node */
function keys({ navigate, route, caller }, model, node) {
  const canWrite = caller.may("notifications:write");
  /** @param {KeyboardEvent} event */
  const listener = (event) => {
    const target = /** @type {HTMLElement} */ (event.target);
    if (event.ctrlKey || event.metaKey || event.altKey || document.querySelector("dialog[open]")) return;
    if (target.closest("input:not([type=checkbox]), textarea, select")) {
      if (event.key === "Escape") target.blur();
      return;
    }
    /** @type {Record<string, () => unknown>} */
    const changes = !canWrite || model.place.value === "trash" ? {} : model.place.value === "scheduled" ? { "#": () => model.cancel() }
      : { e: () => model.mark(true), "#": () => model.remove() };
    const run = {
      j: () => model.move(1), k: () => model.move(-1), x: () => { if (model.openId.value) model.toggle(model.openId.value); },
      ...changes,
      "/": () => /** @type {HTMLElement | null} */ (node.querySelector("input[type=search]"))?.focus(),
      Escape: () => {
        if (model.selection.value.size > 0) model.selection.value = new Set();
        else if (model.openId.value) navigate(`inbox/${model.place.value}`, route.value.query);
      },
    }[event.key];
    if (!run) return;
    event.preventDefault();
    void run();
  };
  document.addEventListener("keydown", listener);
  onDispose(() => document.removeEventListener("keydown", listener));
}
