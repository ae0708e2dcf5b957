// Reading of untrusted states: each function returns a value of its type, whatever the state has in its place.

/** @import { DateForm } from "./types.d.ts" */

const textMax = 300;

/** Returns an own member of an object. @param {unknown} object @param {string} name @returns {unknown} */
export const member = (object, name) => isObject(object) && Object.hasOwn(object, name) ? object[name] : undefined;

/** @param {unknown} value @returns {value is Record<string, unknown>} */
export const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);

/** Returns a text without control characters, at most 300 characters long. @param {unknown} value @param {string} [otherwise] */
export function textOf(value, otherwise = "") {
  const text = typeof value === "string" ? value : typeof value === "number" || typeof value === "boolean" ? String(value) : "";
  const clean = text.slice(0, textMax * 2).replace(/[\p{Cc}\u2028\u2029\u202A-\u202E\u2066-\u2069]+/gu, " ").trim();
  return clean === "" ? otherwise : Array.from(clean).slice(0, textMax).join("");
}

/** Returns a finite number. @param {unknown} value @param {number} [otherwise] */
export const numberOf = (value, otherwise = 0) => typeof value === "number" && Number.isFinite(value) ? value : otherwise;

/** Returns a whole number of at least 0. @param {unknown} value @param {number} [otherwise] */
export const countOf = (value, otherwise = 0) => Math.min(Number.MAX_SAFE_INTEGER, Math.max(0, Math.floor(numberOf(value, otherwise))));

/** Returns `#RRGGBB`. @param {unknown} value @param {string} otherwise */
export const colorOf = (value, otherwise) => typeof value === "string" && /^#[0-9A-Fa-f]{6}$/.test(value) ? value : otherwise;

/** @param {unknown} value @returns {unknown[]} */
export const listOf = (value) => Array.isArray(value) ? value : [];

const foundationEpochMs = 978_307_200_000;
/** Until 2042, dates in seconds since 2001 are smaller. */
const unixSecondsMin = 1_300_000_000;

/** Returns milliseconds since 1970, or undefined if the value is not a date. @param {unknown} value @param {DateForm} form */
export function dateMs(value, form) {
  if (typeof value === "string") {
    const ms = /^\d{4}-\d\d-\d\dT/.test(value) ? Date.parse(value) : NaN;
    return Number.isFinite(ms) ? ms : undefined;
  }
  if (typeof value !== "number" || !Number.isFinite(value) || Math.abs(value) > 1e11) return undefined;
  const isUnix = form === "unix" || (form !== "foundation" && value >= unixSecondsMin);
  return isUnix ? value * 1000 : foundationEpochMs + value * 1000;
}

/** Returns a time such as `1:02:03` or `4:05`. @param {number} ms */
export function clockText(ms) {
  const seconds = Math.min(359_999, Math.max(0, Math.floor(ms / 1000)));
  const [hour, minute, second] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60];
  const tail = `${String(second).padStart(2, "0")}`;
  return hour > 0 ? `${hour}:${String(minute).padStart(2, "0")}:${tail}` : `${minute}:${tail}`;
}

/** Returns a hue from 0 to 359 that stays the same for a text. @param {string} text */
export function hueOf(text) {
  let hash = 7;
  for (let index = 0; index < text.length; index++) hash = (hash * 31 + text.charCodeAt(index)) % 65_521;
  return hash % 360;
}
