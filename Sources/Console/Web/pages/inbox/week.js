// The quiet parts of a week. Pure.

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
