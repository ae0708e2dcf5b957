// Constructors of the small tree.

/** @import { Piece } from "./types.d.ts" */

/** @typedef {Extract<Piece, { type: "text" }>} Text */

/** @param {...Piece} children @returns {Piece} */
export const column = (...children) => ({ type: "column", children });
/** @param {...Piece} children @returns {Piece} */
export const row = (...children) => ({ type: "row", children });
/** @param {string} text @param {Text["style"]} [style] @param {Partial<Text>} [more] @returns {Piece} */
export const text = (text, style = "body", more = {}) => ({ ...more, type: "text", text, style });
/** @param {string} text @param {"large" | "small"} style @param {string} [color] @returns {Piece} */
export const clock = (text, style, color) => ({ type: "clock", text, style, color });
/** @param {string} name @param {string} [color] @param {"small"} [size] @returns {Piece} */
export const symbol = (name, color, size) => ({ type: "symbol", name, color, size });
/** @param {string} color @returns {Piece} */
export const dot = (color) => ({ type: "dot", color });
/** @param {number} part @param {"bar" | "ring"} shape @param {string} [color] @returns {Piece} */
export const progress = (part, shape, color) => ({ type: "progress", part: Math.min(1, Math.max(0, part || 0)), shape, color });
/** @param {string} label @param {string} symbol @param {string} [color] @returns {Piece} */
export const button = (label, symbol, color) => ({ type: "button", label, symbol, color });
/** @returns {Piece} */
export const space = () => ({ type: "space" });
/** @returns {Piece} */
export const line = () => ({ type: "line" });
