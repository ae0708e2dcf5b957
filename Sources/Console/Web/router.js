// The address of a place in the console: a page, parts and a query in the URL's fragment.
// An example is `#/inbox/b_1/n_2?q=disk`. The fragment is never sent to a server, and links in it work under any path.

/** @import { Route } from "./types.d.ts" */

const pattern = new URLPattern({ pathname: "/:page?/:rest*" });

/** Returns the place that a fragment names. @param {string} hash @returns {Route} */
export function parseRoute(hash) {
  // The text is part of the path, also if it begins with two slashes.
  const url = new URL(`https://console.invalid${hash.startsWith("#/") ? hash.slice(1) : "/"}`);
  const groups = pattern.exec({ pathname: url.pathname })?.pathname.groups ?? {};
  const parts = (groups.rest ?? "").split("/").filter(Boolean).map(decode);
  return { page: decode(groups.page ?? "") || "overview", parts, query: Object.fromEntries(url.searchParams) };
}

/** @param {string} text */
function decode(text) {
  try { return decodeURIComponent(text); } catch { return text; }
}

/**
 * Returns the fragment of a place.
 *
 * @param {string | readonly string[]} path Encoded parts with slashes, or parts to encode.
 * @param {Record<string, string | undefined>} [query] Empty members are left out.
 */
export function formatRoute(path, query = {}) {
  const text = typeof path === "string" ? path : path.map(encodeURIComponent).join("/");
  const search = new URLSearchParams(Object.entries(query).flatMap(([key, value]) => value ? [[key, value]] : [])).toString();
  return `#/${text}${search && `?${search}`}`;
}

/** @typedef {"notification" | "bucket" | "key" | "uuid"} IdKind */

/** Recognises a pasted id, and returns where it leads. @param {string} text */
export function recognise(text) {
  const id = text.trim();
  const uuid = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;
  /** @type {{ kind: IdKind, id: string, page: string, parts: string[] } | undefined} */
  let found;
  if (/^n_[\w-]{4,64}$/.test(id)) found = { kind: "notification", id, page: "trace", parts: [id] };
  else if (/^b_[\w-]{4,64}$/.test(id)) found = { kind: "bucket", id, page: "inbox", parts: [id] };
  else if (/^k_[\w-]{4,64}$/.test(id)) found = { kind: "key", id, page: "overview", parts: ["keys", id] };
  else if (uuid.test(id)) found = { kind: "uuid", id: id.toLowerCase(), page: "trace", parts: [id.toLowerCase()] };
  return found;
}

/**
 * Orders what matches a text: the beginning of a word first, then any letters in order.
 *
 * @template T @param {readonly T[]} items @param {(item: T) => string} text @param {string} query @returns {T[]}
 */
export function search(items, text, query) {
  /** @param {string} value */
  const fold = (value) => value.normalize("NFD").replace(/\p{M}/gu, "").toLowerCase();
  const wanted = fold(query.trim());
  if (!wanted) return [...items];
  /** @param {string} value */
  const score = (value) => {
    if (value.startsWith(wanted)) return 0;
    if (value.includes(` ${wanted}`)) return 1;
    if (value.includes(wanted)) return 2;
    let place = -1;
    return [...wanted].every((letter) => (place = value.indexOf(letter, place + 1)) >= 0) ? 3 : 4;
  };
  return items.map((item) => ({ item, score: score(fold(text(item))) })).filter(({ score }) => score < 4)
    .sort((a, b) => a.score - b.score).map(({ item }) => item);
}
