// Texts for times and numbers. Pure: the time and the zone are passed in.

/** @typedef {"local" | "utc" | "relative"} TimeStyle */

/**
 * @param {string} language
 * @param {{ style?: () => TimeStyle, now?: () => number, zone?: string | undefined }} [options]
 */
export function createFormat(language, { style = () => "local", now = Date.now, zone } = {}) {
  const numbers = new Intl.NumberFormat(language), relative = new Intl.RelativeTimeFormat(language, { numeric: "auto", style: "short" });
  /** @param {Intl.DateTimeFormatOptions} options @param {string | undefined} timeZone */
  const formatter = (options, timeZone) => new Intl.DateTimeFormat(language, { ...options, ...(timeZone && { timeZone }) });
  /** @type {Map<string, Intl.DateTimeFormat>} */
  const formatters = new Map();
  /** @param {number} ms @param {Intl.DateTimeFormatOptions} options @param {string | undefined} timeZone */
  const formatted = (ms, options, timeZone) => {
    const key = JSON.stringify(options) + timeZone, found = formatters.get(key) ?? formatter(options, timeZone);
    formatters.set(key, found);
    return found.format(ms);
  };
  /** @param {string | number | Date | undefined} time */
  const millis = (time) => time === undefined || time === "" ? NaN : +new Date(time);
  /** Returns `3 min ago` or `in 2 h`. @param {string | number | Date | undefined} time */
  const ago = (time) => {
    const seconds = (millis(time) - now()) / 1000;
    if (Number.isNaN(seconds)) return "";
    const units = /** @type {const} */ ([["year", 31_557_600], ["month", 2_629_800], ["day", 86_400], ["hour", 3600], ["minute", 60]]);
    for (const [unit, length] of units) if (Math.abs(seconds) >= length) return relative.format(Math.trunc(seconds / length), unit);
    return relative.format(Math.trunc(seconds), "second");
  };
  /** Returns a time with its date, to the second. @param {string | number | Date | undefined} time @param {string} [timeZone] */
  const full = (time, timeZone = zone) => Number.isNaN(millis(time)) ? "" : formatted(millis(time), {
    year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23",
    timeZoneName: "short" }, timeZone);
  /** Returns a short time: without the date if it is today. @param {string | number | Date | undefined} time */
  const time = (time) => {
    const ms = millis(time), timeZone = style() === "utc" ? "UTC" : zone;
    if (Number.isNaN(ms)) return "";
    if (style() === "relative") return ago(ms);
    /** @type {Intl.DateTimeFormatOptions} */
    const day = { year: "numeric", month: "numeric", day: "numeric" };
    const isToday = formatted(ms, day, timeZone) === formatted(now(), day, timeZone);
    const isThisYear = formatted(ms, { year: "numeric" }, timeZone) === formatted(now(), { year: "numeric" }, timeZone);
    return formatted(ms, isToday ? { hour: "2-digit", minute: "2-digit", hourCycle: "h23" }
      : { month: "short", day: "numeric", ...(!isThisYear && { year: "numeric" }) }, timeZone);
  };
  return {
    ago, full, time,
    /** Returns a time of the day to the second, for timelines. @param {string | number | Date | undefined} at */
    clock: (at) => Number.isNaN(millis(at)) ? "" : formatted(millis(at), {
      hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23", fractionalSecondDigits: 3 },
      style() === "utc" ? "UTC" : zone),
    /** @param {number | string | undefined} value */
    number: (value) => numbers.format(Number(value ?? 0)),
    /** Returns `3 s`, `5 min`, `2 h` or `4 d`. @param {number} ms */
    duration: (ms) => {
      const seconds = Math.max(0, Math.round(ms / 1000));
      const units = /** @type {const} */ ([["day", 86_400], ["hour", 3600], ["minute", 60], ["second", 1]]);
      const [unit, length] = units.find(([, length]) => seconds >= length) ?? units[3];
      return new Intl.NumberFormat(language, { style: "unit", unit, unitDisplay: "short" }).format(Math.trunc(seconds / length));
    },
    /** Returns the time and the day that a device shows. @param {number} ms */
    device: (ms) => ({
      clock: formatted(ms, { hour: "numeric", minute: "2-digit", hourCycle: "h23" }, zone),
      date: formatted(ms, { weekday: "long", day: "numeric", month: "long" }, zone),
    }),
  };
}
/** @typedef {ReturnType<typeof createFormat>} Format */

// Control characters of the text direction, which could reorder what surrounds a text, and other invisible ones.
// deno-lint-ignore no-control-regex
const invisible = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]/g;
/** Returns a text of others for display: without control characters, and not longer than `max`. @param {string | undefined} text @param {number} [max] */
export function clean(text = "", max = 400) {
  const cleaned = text.replace(invisible, "");
  return cleaned.length > max ? `${cleaned.slice(0, max).replace(/[\ud800-\udbff]$/, "")}…` : cleaned;
}

/** Returns a JSON text of others with line breaks, for display; another text as it is. @param {string | undefined} json */
export function pretty(json = "") {
  try { return clean(JSON.stringify(JSON.parse(json), null, 2), 20_000); } catch { return clean(json, 20_000); }
}

/** Returns the milliseconds of a duration such as `1.5s`. @param {string | undefined} duration */
export const durationMs = (duration = "0s") => parseFloat(duration) * 1000;
