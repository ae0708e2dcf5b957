// Chat rooms: yellow while one waits for a peer, green while a peer is connected.

import { clock, column, dot, row, space, symbol, text } from "./pieces.js";
import { clockText, colorOf, dateMs, member, textOf } from "./values.js";

/** @import { Renderer } from "./types.d.ts" */

/** @type {Renderer} */
export const room = {
  name: "room",
  fits: ({ state }) => typeof member(state, "phase") === "string" && Object.hasOwn(state, "roomId"),
  render({ attributes, state, dates, nowMs, words }) {
    const isConnected = member(state, "phase") === "connected";
    const color = colorOf(member(state, "colorHex"), isConnected ? "#34C759" : "#F7C948");
    // The service's own titles follow the console's language; an app's title is shown as it is.
    const own = textOf(member(state, "title")), phase = isConnected ? words.roomConnected : words.roomWaiting;
    const title = own === "" || own === "Waiting for peer" || own === "Peer connected" ? phase : own;
    const id = textOf(member(state, "roomId"), textOf(member(attributes, "roomId"), "–"));
    const name = words.room(id.length > 12 ? `${id.slice(0, 8)}…` : id);
    const mark = symbol(isConnected ? "checkmark.circle.fill" : "hourglass", color);
    const since = dateMs(member(state, "lastUpdated"), dates);
    const time = since === undefined ? [] : [clock(clockText(nowMs - since), "small")];
    return {
      lockScreen: row(dot(color), column(text(title, "headline"), text(name, "caption", { tone: "secondary" })), space(), ...time, mark),
      compactLeading: dot(color),
      compactTrailing: mark,
      expanded: {
        leading: dot(color),
        trailing: mark,
        center: text(title, "headline"),
        bottom: row(text(name, "caption", { tone: "secondary" }), space(), ...time),
      },
      minimal: dot(color),
      watch: row(dot(color), column(text(title, "headline"), text(name, "caption", { tone: "secondary" }))),
      spoken: `${title}. ${name}`,
      ticks: since !== undefined,
      keyline: color,
    };
  },
};
