// The preferences that a browser stores for its user. Nothing secret.

import { signal } from "./view.js";

const key = "campanile.console";
/** @typedef {{ theme: "system" | "light" | "dark", language: "en" | "it", times: "local" | "utc" | "relative" }} Preferences */

/** @returns {Preferences} */
function stored() {
  /** @type {Partial<Preferences>} */
  let found = {};
  try { found = JSON.parse(localStorage.getItem(key) ?? "{}") ?? {}; } catch { /* Storage may be blocked or damaged. */ }
  /** @template T @param {readonly T[]} values @param {unknown} value @param {T} otherwise */
  const one = (values, value, otherwise) => values.find((each) => each === value) ?? otherwise;
  return {
    theme: one(/** @type {const} */ (["system", "light", "dark"]), found.theme, "system"),
    language: one(/** @type {const} */ (["en", "it"]), found.language, navigator.language.startsWith("it") ? "it" : "en"),
    times: one(/** @type {const} */ (["local", "utc", "relative"]), found.times, "local"),
  };
}

export const preferences = signal(stored());

/** @param {Partial<Preferences>} change */
export function setPreferences(change) {
  preferences.value = { ...preferences.value, ...change };
  try { localStorage.setItem(key, JSON.stringify(preferences.value)); } catch { /* They hold for this tab. */ }
}

export const sessionKey = "campanile.console.session";
/** Remembers that this browser has signed in; the session itself is a cookie that no script can read. @param {boolean} isOpen */
export function rememberSession(isOpen) {
  try {
    if (isOpen) localStorage.setItem(sessionKey, "1");
    else localStorage.removeItem(sessionKey);
  } catch { /* The next visit asks for a sign-in. */ }
}

export function hasSession() {
  try { return localStorage.getItem(sessionKey) === "1"; } catch { return true; }
}
