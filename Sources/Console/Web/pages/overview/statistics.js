// The sums of a day's pushes, and the bars of its chart. Pure.

/** @import { PushStatistics } from "../../../sdk/generated/campanile.activities.v1.js" */

const hourMs = 3_600_000;

/**
 * Returns the last 24 hours, oldest first, summed over the apps.
 *
 * @param {readonly PushStatistics[]} statistics
 * @param {number} nowMs
 */
export function hoursOf(statistics, nowMs) {
  const end = Math.floor(nowMs / hourMs) * hourMs;
  const hours = Array.from({ length: 24 }, (_, index) => ({ startMs: end - (23 - index) * hourMs, accepted: 0, failed: 0 }));
  for (const { startTime = "", acceptedCount, rejectedCounts = {}, deadLetterCount } of statistics) {
    const hour = hours.find(({ startMs }) => startMs === Date.parse(startTime));
    if (!hour) continue;
    hour.accepted += Number(acceptedCount ?? 0);
    hour.failed += Object.values(rejectedCounts).reduce((sum, count) => sum + Number(count), 0) + Number(deadLetterCount ?? 0);
  }
  return hours;
}

/** Returns the top of an axis: 1, 2 or 5 with zeros, at least the value. @param {number} value */
export function axisTop(value) {
  const power = 10 ** Math.floor(Math.log10(Math.max(1, value)));
  return [1, 2, 5, 10].map((each) => each * power).find((each) => each >= value) ?? 10 * power;
}
