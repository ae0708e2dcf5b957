// The state of the inbox: lists by place, counts, selection, and changes with undo.

import { NotificationsService as Service } from "../../../sdk/generated/campanile.notifications.v1.js";
import { coalesce } from "../../parts.js";
import { computed, effect, onDispose, signal } from "../../view.js";
import { apply, join } from "./reducer.js";

/** @import { Bucket, Notification } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @import { Context } from "../../types.d.ts" */

const pageSize = 200;
/** A list that has grown beyond this is read again while its top is shown, so that a page that is open for days stays small. */
const itemsMax = 5000;

/** @param {Context} context @param {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} t */
export function createModel(context, t) {
  const { client, route, navigate, notify, fail } = context;
  const items = signal(/** @type {readonly Notification[]} */ ([])), nextPage = signal(""), isLoading = signal(true);
  const error = signal(/** @type {unknown} */ (undefined)), buckets = signal(/** @type {readonly Bucket[]} */ ([]));
  const unread = signal(/** @type {{ total?: number | undefined, byBucket?: Record<string, number> | undefined }} */ ({}));
  const selection = signal(/** @type {ReadonlySet<string>} */ (new Set())), gapTime = signal(0), fresh = signal(0);
  const place = computed(() => route.value.parts[0] ?? "all"), openId = computed(() => route.value.parts[1] ?? "");
  const query = computed(() => route.value.query.q ?? ""), unreadOnly = computed(() => route.value.query.unread === "1");
  const bucketId = computed(() => place.value.startsWith("b_") ? place.value : "");
  const isLive = computed(() => !query.value && (place.value === "all" || bucketId.value !== ""));
  /** Whether the list is scrolled to its top; new rows are counted otherwise. */
  let isAtTop = () => true;
  let generation = 0;
  /** @typedef {import("../../../sdk/generated/campanile.notifications.v1.js").NotificationChange} Change */
  /** The changes during a reading, which its result may lack. @type {Change[]} */
  let missed = [];

  /**
   * @param {string} pageToken
   * @returns {Promise<{ notifications?: Notification[] | undefined, nextPageToken?: string | undefined }>}
   */
  const page = (pageToken) => {
    const paging = { pageSize, ...(pageToken && { pageToken }) };
    const bucket = bucketId.value && { bucketId: bucketId.value };
    if (place.value === "trash") return client.call(Service.listDeletedNotifications, paging);
    if (place.value === "scheduled") return client.call(Service.listScheduledNotifications, paging);
    if (query.value) return client.call(Service.searchNotifications, { ...paging, ...bucket, query: query.value });
    return client.call(Service.listNotifications, { ...paging, ...bucket, ...(unreadOnly.value && { unreadOnly: true }) });
  };
  const reload = async () => {
    const current = ++generation;
    isLoading.value = true;
    missed = [];
    try {
      // The watch begins before the list is read.
      await isFollowed;
      const { notifications = [], nextPageToken = "" } = await page("");
      if (current !== generation) return;
      const found = isLive.value ? apply(notifications, missed, filter(), !nextPageToken) : notifications;
      [items.value, nextPage.value, error.value, fresh.value] = [found, nextPageToken, undefined, 0];
    } catch (thrown) {
      if (current === generation) error.value = thrown;
    }
    if (current === generation) isLoading.value = false;
  };
  let isLoadingMore = false;
  const more = async () => {
    if (isLoadingMore || !nextPage.value) return;
    isLoadingMore = true;
    const current = generation;
    missed = [];
    try {
      const { notifications = [], nextPageToken = "" } = await page(nextPage.value);
      if (current === generation) {
        const all = isLive.value || query.value ? join(items.value, notifications) : [...items.value, ...notifications];
        [items.value, nextPage.value] = [isLive.value ? apply(all, missed, filter(), !nextPageToken) : all, nextPageToken];
      }
    } catch (thrown) {
      fail(thrown);
    }
    isLoadingMore = false;
  };
  const reloadBuckets = async () => {
    /** @type {Bucket[]} */
    const found = [];
    let token = "";
    for (let pageToken = "";;) {
      const { buckets: page = [], nextPageToken = "", resumeToken = "" } = await client.call(Service.listBuckets, { pageSize: 1000, ...(pageToken && { pageToken }) });
      found.push(...page);
      token ||= resumeToken;
      if (!nextPageToken) break;
      pageToken = nextPageToken;
    }
    buckets.value = found;
    return token;
  };
  const count = async () => { unread.value = (await client.call(Service.getUnreadCounts, {})).unreadCounts ?? {}; };
  const countSoon = coalesce(count, 250);

  const refresh = () => Promise.all([reload(), reloadBuckets(), count()]).catch(fail);
  void count().catch(() => {});

  const filter = () => ({ bucketId: bucketId.value, unreadOnly: unreadOnly.value });
  /** Changes within a tenth of a second are applied together, so that many of them do not occupy the page. @type {Change[]} */
  let waiting = [];
  let appliedMs = 0;
  const applyWaiting = () => {
    if (isEnded) return;
    const changes = waiting;
    [waiting, appliedMs] = [[], Date.now()];
    if (isLoading.value || isLoadingMore) missed.push(...changes);
    if (changes.some((change) => change.bucketCreated || change.bucketUpdated || change.bucketDeleted)) void reloadBuckets().catch(() => {});
    void countSoon();
    if (!isLive.value) return;
    const before = items.value, top = before[0]?.id ?? "";
    items.value = apply(before, changes, filter(), !nextPage.value);
    const added = items.value.findIndex(({ id = "" }) => id <= top);
    if (!isAtTop()) fresh.value += added < 0 ? items.value.length : added;
    else if (items.value.length > itemsMax && !isLoading.value) void reload();
  };
  let stop = () => {}, isEnded = false;
  onDispose(() => {
    isEnded = true;
    stop();
  });
  /** @param {string} resumeToken */
  const follow = (resumeToken) => {
    if (!isEnded) stop = context.watch(Service.watchNotifications, { resumeToken }, {
      message({ change }) {
        if (change && waiting.push(change) === 1) setTimeout(applyWaiting, appliedMs + 100 - Date.now());
      },
      gap() {
        gapTime.value = Date.now();
        void refresh();
      },
    });
  };
  // Changes after the token of the buckets include everything that the lists may have missed.
  const isFollowed = reloadBuckets().then(follow, () => follow(""));
  // Another place, query or filter is another list.
  effect(() => {
    void [place.value, query.value, unreadOnly.value];
    items.value = [];
    selection.value = new Set();
    gapTime.value = 0;
    void reload();
  });

  const selected = () => selection.value.size > 0 ? [...selection.value] : openId.value ? [openId.value] : [];
  /** @param {string[]} ids @param {(item: Notification) => Notification} change */
  const patch = (ids, change) => {
    const wanted = new Set(ids);
    items.value = items.value.map((item) => wanted.has(item.id ?? "") ? change(item) : item);
  };
  /** @param {() => Promise<unknown>} run */
  const attempt = async (run) => {
    // At once: until it has ended, there may be a new selection.
    const before = selection.value;
    selection.value = new Set();
    try { await run(); } catch (thrown) {
      if (selection.value.size === 0) selection.value = before;
      fail(thrown);
      void reload();
    }
  };
  /** @param {boolean} isRead @param {string[]} [ids] */
  const mark = (isRead, ids = selected()) => attempt(async () => {
    if (ids.length === 0) return;
    const changed = idsOf(!isRead, new Set(ids));
    patch(ids, ({ readTime: _, ...item }) => isRead ? { ...item, readTime: new Date().toISOString() } : item);
    const { changedCount } = await client.call(isRead ? Service.markNotificationsRead : Service.markNotificationsUnread, { notificationIds: ids });
    void countSoon();
    marked(isRead, ids.length, changed, changedCount);
  });
  /** @param {boolean} isRead @param {ReadonlySet<string>} [among] */
  const idsOf = (isRead, among) =>
    items.value.flatMap(({ id = "", readTime }) => Boolean(readTime) === isRead && (among?.has(id) ?? true) ? [id] : []);
  /** Offers to undo if it is known what has changed. @param {boolean} isRead @param {number} count @param {string[]} changed @param {number} [changedCount] */
  const marked = (isRead, count, changed, changedCount = 0) => notify(isRead ? t.markedRead(count) : t.markedUnread(count), {
    undo: changed.length > 0 && changed.length === changedCount ? () => mark(!isRead, changed) : undefined });
  /** @param {string[]} [ids] */
  const remove = (ids = selected()) => attempt(async () => {
    if (ids.length === 0) return;
    const wanted = new Set(ids), index = items.value.findIndex(({ id }) => id === openId.value);
    items.value = items.value.filter(({ id = "" }) => !wanted.has(id));
    if (wanted.has(openId.value)) open(items.value[Math.min(index, items.value.length - 1)]?.id ?? "", true);
    const { missingIds = [] } = await client.call(Service.batchDeleteNotifications, { notificationIds: ids });
    const removed = ids.filter((id) => !missingIds.includes(id));
    notify(t.removed(removed.length), { undo: removed.length > 0 ? () => restore(removed) : undefined });
  });
  /** @param {string[]} [ids] */
  const restore = (ids = selected()) => attempt(async () => {
    if (ids.length === 0) return;
    await client.call(Service.undeleteNotifications, { notificationIds: ids });
    notify(t.restored(ids.length));
    await reload();
  });
  /** @param {string[]} [ids] */
  const cancel = (ids = selected()) => attempt(async () => {
    for (const notificationId of ids) await client.call(Service.cancelScheduledNotification, { notificationId });
    if (ids.includes(openId.value)) open("", true);
    notify(t.cancelled(ids.length));
    await reload();
  });
  const markAll = () => attempt(async () => {
    const through = items.value[0]?.id;
    if (!through) return;
    const changed = idsOf(false);
    const { changedCount = 0 } = await client.call(Service.markAllNotificationsRead, {
      throughNotificationId: through, ...(bucketId.value && { bucketId: bucketId.value }) });
    marked(true, changedCount, changed, changedCount);
    await Promise.all([reload(), count()]);
  });
  /** @param {string} id @param {boolean} [replace] */
  const open = (id, replace = false) => navigate([`inbox/${place.value}`, id].filter(Boolean).join("/"), route.value.query, { replace });
  /** @param {number} step */
  const move = (step) => {
    const index = items.value.findIndex(({ id }) => id === openId.value);
    const next = items.value[Math.max(0, Math.min(items.value.length - 1, index < 0 ? 0 : index + step))];
    if (next?.id) open(next.id, true);
  };
  /** @param {string} id */
  const toggle = (id) => {
    const next = new Set(selection.value);
    if (!next.delete(id)) next.add(id);
    selection.value = next;
  };
  return {
    items, nextPage, isLoading, error, buckets, unread, selection, gapTime, fresh, place, openId, query, unreadOnly, bucketId,
    isLive, reload, more, refresh, reloadBuckets, mark, remove, restore, cancel, markAll, open, move, toggle, attempt,
    /** @param {() => boolean} look */
    followTop: (look) => { isAtTop = look; },
  };
}
/** @typedef {ReturnType<typeof createModel>} Model */
