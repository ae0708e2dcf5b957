// Unread notifications: the newest ones with the icons of their buckets, and their true number.

import { column, line, row, space, symbol, text } from "./pieces.js";
import { countOf, hueOf, listOf, member, textOf } from "./values.js";

/** @import { Piece, Renderer, RenderInput } from "./types.d.ts" */

const blue = "#0A84FF";
const itemsMax = 5;

/** @param {RenderInput["state"]} state @param {RenderInput["words"]} words */
function items(state, words) {
  return listOf(member(state, "notifications")).slice(0, itemsMax).map((item) => {
    const bucket = textOf(member(item, "bucketName"), "");
    const id = textOf(member(item, "bucketId"), bucket);
    return {
      title: textOf(member(item, "title"), words.untitled),
      subtitle: textOf(member(item, "subtitle")),
      icon: /** @type {Piece} */ ({ type: "icon", letter: Array.from(bucket || "•")[0] ?? "•", hue: hueOf(id) }),
    };
  });
}

/** @type {Renderer} */
export const unread = {
  name: "unread",
  fits: ({ state }) => Array.isArray(member(state, "notifications")) && Object.hasOwn(state, "unreadCount"),
  render({ state, words }) {
    const shown = items(state, words), count = countOf(member(state, "unreadCount"), shown.length);
    const label = count === 0 ? words.allRead : words.unreadCount(count), number = count > 99 ? "99+" : String(count);
    const bell = symbol("bell.fill", blue), first = shown[0];
    const list = shown.map((item) => row(item.icon, column(
      text(item.title, "headline", { linesMax: 1 }),
      ...(item.subtitle ? [text(item.subtitle, "caption", { tone: "secondary", linesMax: 1 })] : []),
    )));
    const rest = count - shown.length;
    return {
      lockScreen: column(
        row(text(words.unreadTitle, "headline"), space(), text(label, "caption", { tone: "secondary" })), line(), ...list,
        row(...(rest > 0 ? [text(words.unreadMore(rest), "caption", { tone: "secondary" })] : []), space(),
          text(words.tapToView, "caption", { tone: "link" })),
      ),
      compactLeading: bell,
      compactTrailing: text(number, "headline"),
      expanded: {
        leading: bell,
        trailing: text(label, "caption", { tone: "secondary" }),
        center: text(words.unreadTitle, "headline"),
        bottom: column(...list.slice(0, 2), text(words.tapToView, "caption", { tone: "link" })),
      },
      minimal: text(number, "headline", { color: blue }),
      watch: column(row(bell, text(label, "headline")), ...(first ? [text(first.title, "caption", { linesMax: 1 })] : [])),
      spoken: first ? `${label}. ${shown.map(({ title, subtitle }) => [title, subtitle].filter(Boolean).join(", ")).join(". ")}` : label,
      ticks: false,
    };
  },
};
