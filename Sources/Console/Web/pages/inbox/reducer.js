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
 * Returns the list after a change. A row that is read meanwhile remains in a list of unread ones, so that nothing jumps.
 *
 * @param {readonly Notification[]} items
 * @param {NotificationChange} change
 * @param {Filter} filter
 * @param {boolean} isComplete Whether the list has no further pages; otherwise older rows than its last are not added.
 * @returns {readonly Notification[]}
 */
export function apply(items, change, { bucketId, unreadOnly }, isComplete) {
  const stored = change.notificationCreated ?? change.notificationUpdated;
  if (stored?.id) {
    const place = placeOf(items, stored.id), isListed = items[place]?.id === stored.id;
    if (isListed) return items.toSpliced(place, 1, stored);
    const belongs = (!bucketId || stored.bucketId === bucketId) && !(unreadOnly && stored.readTime) && !stored.deleteTime;
    return belongs && (place < items.length || isComplete || items.length === 0) ? items.toSpliced(place, 0, stored) : items;
  }
  if (change.notificationDeleted) {
    const { notificationId = "" } = change.notificationDeleted, place = placeOf(items, notificationId);
    return items[place]?.id === notificationId ? items.toSpliced(place, 1) : items;
  }
  if (change.bucketDeleted) return items.filter((item) => item.bucketId !== change.bucketDeleted?.bucketId);
  if (change.notificationsMarkedRead) {
    const { bucketId: bucket, throughNotificationId = "", readTime } = change.notificationsMarkedRead;
    return items.map((item) =>
      item.readTime || (bucket && item.bucketId !== bucket) || (item.id ?? "") > throughNotificationId ? item : { ...item, readTime });
  }
  return items;
}

/** Returns a list with another page at its end; what it already had is not repeated. @param {readonly Notification[]} items @param {readonly Notification[]} page */
export function join(items, page) {
  const last = items.at(-1)?.id;
  return last === undefined ? [...page] : [...items, ...page.filter(({ id = "" }) => id < last)];
}

/** Returns the rows between two, inclusive, in the order of the list. @param {readonly Notification[]} items @param {string} from @param {string} to */
export function range(items, from, to) {
  const ends = [placeOf(items, from), placeOf(items, to)].sort((a, b) => a - b);
  return items.slice(ends[0], ends[1] + 1).map(({ id = "" }) => id);
}

const minutesOfDay = 1440;
const days = ["MONDAY", "TUESDAY", "WEDNESDAY", "THURSDAY", "FRIDAY", "SATURDAY", "SUNDAY"];

/**
 * Returns the quiet parts of each day from Monday, in minutes. A window past midnight ends on the next day.
 *
 * @param {readonly { days?: string[] | undefined, start?: string | undefined, end?: string | undefined }[]} windows
 * @returns {[number, number][][]}
 */
export function quietWeek(windows) {
  /** @type {[number, number][][]} */
  const week = days.map(() => []);
  /** @param {string | undefined} text */
  const minutes = (text = "00:00") => Number(text.slice(0, 2)) * 60 + Number(text.slice(3, 5));
  for (const { days: chosen = [], start, end } of windows) {
    const from = minutes(start), to = minutes(end);
    days.forEach((day, index) => {
      if (chosen.length > 0 && !chosen.includes(`DAY_OF_WEEK_${day}`)) return;
      if (to > from) week[index].push([from, to]);
      else {
        week[index].push([from, minutesOfDay]);
        if (to > 0) week[(index + 1) % 7].push([0, to]);
      }
    });
  }
  return week.map((parts) => parts.sort(([a], [b]) => a - b));
}
