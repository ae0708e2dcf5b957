// The differences of two states, member by member. Pure.

/**
 * @typedef {object} DiffRow
 * @property {string} path Such as `notifications.0.title`.
 * @property {string | undefined} before As JSON; undefined if the member is new.
 * @property {string | undefined} after As JSON; undefined if the member is gone.
 * @property {"same" | "changed" | "added" | "removed"} kind
 */

const rowsMax = 200, depthMax = 8, textMax = 200;

/** @param {string | undefined} json */
function parse(json) {
  try {
    return JSON.parse(json || "{}");
  } catch {
    return json;
  }
}

/** @param {unknown} value @param {string} path @param {number} depth @param {Map<string, string>} into */
function flatten(value, path, depth, into) {
  if (into.size >= rowsMax) return;
  const isParent = typeof value === "object" && value !== null && Object.keys(value).length > 0 && depth < depthMax;
  if (!isParent) {
    // A state without members has no rows.
    if (path === "" && typeof value === "object" && value !== null) return;
    const text = JSON.stringify(value) ?? "null";
    into.set(path || "–", text.length > textMax ? `${text.slice(0, textMax)}…` : text);
    return;
  }
  for (const [name, each] of Object.entries(value)) flatten(each, path === "" ? name : `${path}.${name}`, depth + 1, into);
}

/**
 * Returns the members of two JSON texts, at most 200 of each, in the order of the later one; removed ones follow.
 *
 * @param {string | undefined} before Undefined if there was no state before: all members are the same.
 * @param {string | undefined} after @returns {DiffRow[]}
 */
export function diff(before, after) {
  /** @type {Map<string, string>} */
  const old = new Map(), now = new Map();
  flatten(parse(after), "", 0, now);
  if (before !== undefined) flatten(parse(before), "", 0, old);
  /** @type {DiffRow[]} */
  const rows = Array.from(now, ([path, text]) => {
    const earlier = old.get(path);
    return { path, before: earlier, after: text, kind: before === undefined || earlier === text ? "same" : earlier === undefined ? "added" : "changed" };
  });
  for (const [path, text] of old) if (!now.has(path)) rows.push({ path, before: text, after: undefined, kind: "removed" });
  return rows;
}
