// Any other state: its members as a list of names and values.

import { column, row, space, symbol, text } from "./pieces.js";
import { isObject, textOf } from "./values.js";

/** @import { Renderer } from "./types.d.ts" */

const rowsMax = 6, depthMax = 3;

/**
 * Returns the members of a value as paths and texts, in their order.
 *
 * @param {unknown} value @param {string} path @param {number} depth @returns {{ path: string, value: string }[]}
 */
function flatten(value, path, depth) {
  const isList = Array.isArray(value);
  if (!isList && !isObject(value)) return [{ path, value: value === null ? "null" : textOf(value, "“”") }];
  const entries = isList ? value.slice(0, 32).map((each, index) => /** @type {const} */ ([String(index), each])) : Object.entries(value).slice(0, 64);
  if (entries.length === 0 || depth >= depthMax) return [{ path, value: isList ? `[${value.length}]` : `{${Object.keys(value).length}}` }];
  return entries.flatMap(([name, each]) => flatten(each, path === "" ? textOf(name, "“”") : `${path}.${textOf(name, "“”")}`, depth + 1));
}

/** @type {Renderer} */
export const generic = {
  name: "generic",
  fits: () => true,
  render({ attributesType, state, words }) {
    const members = Object.keys(state).length === 0 ? [] : flatten(state, "", 0);
    const title = textOf(attributesType, words.activity).replace(/Attributes$/, ""), first = members[0];
    const rows = members.slice(0, rowsMax).map(({ path, value }) =>
      row(text(path, "caption", { tone: "secondary", linesMax: 1 }), space(), text(value, "body", { linesMax: 1 })));
    const rest = members.length - rows.length;
    const value = first ? text(first.value, "body", { linesMax: 1 }) : text("–", "body");
    const mark = symbol("square.stack.fill", "#8E8E93");
    return {
      lockScreen: column(row(mark, text(title, "headline", { linesMax: 1 })),
        ...(rows.length > 0 ? rows : [text(words.noState, "caption", { tone: "secondary" })]),
        ...(rest > 0 ? [text(words.more(rest), "caption", { tone: "secondary" })] : [])),
      compactLeading: mark,
      compactTrailing: value,
      expanded: { leading: mark, center: text(title, "headline", { linesMax: 1 }), bottom: column(...rows.slice(0, 3)) },
      minimal: mark,
      watch: column(row(mark, text(title, "headline", { linesMax: 1 })), ...rows.slice(0, 2)),
      spoken: [title, ...members.slice(0, rowsMax).map(({ path, value }) => `${path}: ${value}`)].join(". "),
      ticks: false,
    };
  },
};
