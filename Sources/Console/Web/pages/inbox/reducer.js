// The list of notifications as values: newest first, changed by the events of a watch. Ids ascend with time.

/** @import { Notification, NotificationChange } from "../../../sdk/generated/campanile.notifications.v1.js" */

/** @typedef {{ bucketId: string, unreadOnly: boolean }} Filter */

/** Returns the place of an id in a list, or where it belongs. @param {readonly Notification[]} items @param {string} id */
export function placeOf(items, id) {
  let low = 0, high = items.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((items[middle].id ?? "") > id) low = middle + 1;
    else high = middle;
  }
  return low;
}

/**
 * Returns the list after changes. A row that is read meanwhile remains in a list of unread ones, so that nothing jumps.
 * The list is copied once, however many changes there are.
 *
 * @param {readonly Notification[]} items
 * @param {readonly NotificationChange[]} changes
 * @param {Filter} filter
 * @param {boolean} isComplete Whether the list has no further pages; otherwise older rows than its last are not added.
 * @returns {readonly Notification[]}
 */
export function apply(items, changes, filter, isComplete) {
  const list = [...items];
  for (const change of changes) applyTo(list, change, filter, isComplete);
  return list;
}

/** @param {Notification[]} list @param {NotificationChange} change @param {Filter} filter @param {boolean} isComplete */
function applyTo(list, change, { bucketId, unreadOnly }, isComplete) {
  const stored = change.notificationCreated ?? change.notificationUpdated;
  if (stored?.id) {
    const place = placeOf(list, stored.id), isListed = list[place]?.id === stored.id;
    const belongs = (!bucketId || stored.bucketId === bucketId) && !(unreadOnly && stored.readTime) && !stored.deleteTime;
    if (isListed) list[place] = stored;
    else if (belongs && (place < list.length || isComplete || list.length === 0)) list.splice(place, 0, stored);
  } else if (change.notificationDeleted) {
    const { notificationId = "" } = change.notificationDeleted, place = placeOf(list, notificationId);
    if (list[place]?.id === notificationId) list.splice(place, 1);
  } else if (change.bucketDeleted) {
    const kept = list.filter((item) => item.bucketId !== change.bucketDeleted?.bucketId);
    list.length = 0;
    for (const item of kept) list.push(item);
  } else if (change.notificationsMarkedRead) {
    const { bucketId: bucket, throughNotificationId = "", readTime } = change.notificationsMarkedRead;
    list.forEach((item, index) => {
      const isMarked = !item.readTime && (!bucket || item.bucketId === bucket) && (item.id ?? "") <= throughNotificationId;
      if (isMarked) list[index] = { ...item, readTime };
    });
  }
}

/** Returns a list with another page at its end; what it already had is not repeated. @param {readonly Notification[]} items @param {readonly Notification[]} page */
export function join(items, page) {
  const last = items.at(-1)?.id;
  return last === undefined ? [...page] : [...items, ...page.filter(({ id = "" }) => id < last)];
}
