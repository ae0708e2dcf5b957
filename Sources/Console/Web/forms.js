// The sending of a form: once at a time, with what the server refuses at its field.

import { flush, h, signal } from "./view.js";

/**
 * @param {(error: unknown) => void} fail Receives errors that belong to no visible field.
 * @param {Record<string, string>} fields Fields of the form by a part of the request's path, in lower case without `_`. The first that fits counts.
 */
export function sending(fail, fields) {
  const isBusy = signal(false), violations = signal(/** @type {Record<string, string>} */ ({}));
  /** @type {Map<string, HTMLElement>} */
  const places = new Map();
  return {
    isBusy,
    /** Returns the place for what is refused about a field. @param {string} name */
    violation: (name) => h("small", {
      class: "invalid", role: "alert", ref: (/** @type {HTMLElement} */ node) => places.set(name, node) }, () => violations.value[name] ?? ""),
    /** Returns the listener of the form. @param {(data: FormData) => Promise<unknown>} run */
    onsubmit: (run) => async (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      if (isBusy.value) return;
      [isBusy.value, violations.value] = [true, {}];
      try {
        await run(new FormData(/** @type {HTMLFormElement} */ (event.target)));
      } catch (error) {
        const { fieldViolations = [] } = /** @type {{ fieldViolations?: { field: string, description: string }[] }} */ (error);
        violations.value = Object.fromEntries(fieldViolations.map(({ field, description }) => [fieldOf(field, fields), description]));
        flush();
        const names = Object.keys(violations.value);
        // A field may be absent, or in a part that is closed.
        if (names.length === 0 || names.some((name) => !places.get(name)?.checkVisibility())) fail(error);
      }
      isBusy.value = false;
    },
  };
}

/** Returns the field that a path of a request belongs to; empty if there is none. @param {string} path @param {Record<string, string>} fields */
export function fieldOf(path, fields) {
  const text = path.replaceAll("_", "").toLowerCase();
  return Object.entries(fields).find(([part]) => text.includes(part))?.[1] ?? "";
}
