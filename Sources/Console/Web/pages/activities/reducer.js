// The list of activities, and the effect of changes on it. Pure.

/** @import { Activity, ActivityChange } from "../../../sdk/generated/campanile.activities.v1.js" */

/** @param {Activity} activity */
export const isEnded = ({ status }) => status === "ACTIVITY_STATUS_ENDED";

/** Returns the name of what drives an activity's state. @param {Activity} activity @returns {"timer" | "room" | "unread" | "caller"} */
export const driverOf = ({ timer, room, unread }) => timer ? "timer" : room ? "room" : unread ? "unread" : "caller";

/** Newest first, by their start. @param {Activity} left @param {Activity} right */
const order = (left, right) => (right.createTime ?? "").localeCompare(left.createTime ?? "") || (left.id ?? "").localeCompare(right.id ?? "");

/**
 * Applies a change. A change that is older than what is known changes nothing: lists and watches overlap.
 *
 * @param {readonly Activity[]} list @param {ActivityChange} change @returns {readonly Activity[]}
 */
export function apply(list, { activityStarted, activityUpdated, activityEnded }) {
  const activity = activityStarted ?? activityUpdated ?? activityEnded;
  return activity ? put(list, activity) : list;
}

/** @param {readonly Activity[]} list @param {Activity} activity @returns {readonly Activity[]} */
export function put(list, activity) {
  const old = list.find(({ id }) => id === activity.id);
  if (old && Date.parse(old.updateTime ?? "") > Date.parse(activity.updateTime ?? "")) return list;
  return [...list.filter(({ id }) => id !== activity.id), activity].sort(order);
}

/** Returns the time at which an activity ends by itself, if it is live. @param {Activity} activity */
export const endsAt = ({ status, scheduledEndTime, expireTime }) => status === "ACTIVITY_STATUS_ENDED" ? undefined : scheduledEndTime ?? expireTime;

/** Returns a duration such as `1:02:03` until a time; empty after it. @param {string | undefined} time @param {number} nowMs */
export function countdown(time, nowMs) {
  const seconds = Math.ceil(((time ? Date.parse(time) : NaN) - nowMs) / 1000);
  if (!(seconds > 0)) return "";
  const [hour, minute, second] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60].map((part) => String(part).padStart(2, "0"));
  return `${Number(hour)}:${minute}:${second}`;
}
