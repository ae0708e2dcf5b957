// Draws the small trees of renderers. All of it is hidden from screen readers: a device has a text in words instead.

import { h } from "../view.js";
import { ringOf, symbolOf } from "./symbols.js";

/** @import { Piece } from "../renderers/types.d.ts" */

/** @param {Piece | undefined} piece @returns {Node | null} */
export function draw(piece) {
  switch (piece?.type) {
    case "column":
    case "row":
      return h("div", { class: `p-${piece.type}` }, piece.children.map(draw));
    case "text":
      return h("span", {
        class: `p-text p-${piece.style} ${piece.tone ? `p-${piece.tone}` : ""} ${piece.linesMax === 1 ? "p-line1" : ""}`,
        dir: "auto", style: { color: piece.color },
      }, piece.text);
    case "clock":
      return h("span", { class: `p-clock p-${piece.style}`, style: { color: piece.color } }, piece.text);
    case "symbol":
      return symbolOf(piece.name, piece.color);
    case "dot":
      return h("span", { class: "p-dot", style: { background: piece.color } });
    case "progress":
      return piece.shape === "ring" ? ringOf(piece.part, piece.color ?? "currentColor")
        : h("span", { class: "p-bar" }, h("span", { style: { "inline-size": `${piece.part * 100}%`, background: piece.color } }));
    case "icon":
      return h("span", { class: "p-icon", style: { background: `hsl(${piece.hue} 60% 38%)` } }, piece.letter);
    case "button":
      return h("span", { class: "p-button", style: { "--own": piece.color ?? "currentColor" } }, symbolOf(piece.symbol), piece.label);
    case "space":
      return h("span", { class: "p-space" });
    case "line":
      return h("span", { class: "p-rule" });
    default:
      return null;
  }
}
