// Our own drawings for the symbols that the activities use, by their names in SF Symbols, on a grid of 24 units.

import { svg } from "../view.js";

/** @type {Readonly<Record<string, string>>} */
const paths = {
  "bell.fill": "M12 2a1.5 1.5 0 0 0-1.5 1.6A6.5 6.5 0 0 0 5.5 10v4.6L3.6 17.4A1 1 0 0 0 4.4 19h15.2a1 1 0 0 0 .8-1.6l-1.9-2.8V10a6.5 6.5 0 0 0-5-6.4A1.5 1.5 0 0 0 12 2zM9.3 20.3a2.8 2.8 0 0 0 5.4 0z",
  hourglass: "M6 2h12v2h-1v3.2L13.4 12l3.6 4.8V20h1v2H6v-2h1v-3.2l3.6-4.8L7 7.2V4H6zm3 2v2.5l3 4 3-4V4zm3 9.5-3 4V20h6v-2.5z",
  "checkmark.circle.fill": "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm-1.4 14.6-4.2-4.2 1.6-1.6 2.6 2.6 5.5-5.9 1.7 1.5z",
  "trash.circle.fill": "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zM9.8 6.5h4.4l.5 1h2.6V9H6.7V7.5h2.6zM7.6 10h8.8l-.7 7.2a1 1 0 0 1-1 .9H9.3a1 1 0 0 1-1-.9z",
  "arrow.right.circle.fill": "M12 2a10 10 0 1 0 0 20 10 10 0 0 0 0-20zm.7 15-1.5-1.5 2.5-2.4H6.6v-2.2h7.1l-2.5-2.4L12.7 7l5 5z",
  "pause.fill": "M6.5 4h4v16h-4zm7 0h4v16h-4z",
  "play.fill": "M7 3.8v16.4a.8.8 0 0 0 1.2.7l13-8.2a.8.8 0 0 0 0-1.4l-13-8.2a.8.8 0 0 0-1.2.7z",
  "stop.fill": "M6 5h12a1 1 0 0 1 1 1v12a1 1 0 0 1-1 1H6a1 1 0 0 1-1-1V6a1 1 0 0 1 1-1z",
  timer: "M9 1h6v2H9zm11 5.4 1.4-1.4-1.5-1.4-1.5 1.5 1.4 1.4zM12 4a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2a7 7 0 1 1 0 14 7 7 0 0 1 0-14zm-1 2.5V14h5v-2h-3V8.500z",
  "square.stack.fill": "M7 2h10v2H7zM5 5.500h14v2H5zM5 9h14a2 2 0 0 1 2 2v9a2 2 0 0 1-2 2H5a2 2 0 0 1-2-2v-9a2 2 0 0 1 2-2z",
  "lock.fill": "M12 2a5 5 0 0 0-5 5v3H6a1.500 1.500 0 0 0-1.500 1.500v9A1.500 1.500 0 0 0 6 22h12a1.500 1.500 0 0 0 1.500-1.500v-9A1.500 1.500 0 0 0 18 10h-1V7a5 5 0 0 0-5-5zm0 2a3 3 0 0 1 3 3v3H9V7a3 3 0 0 1 3-3z",
  circle: "M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18zm0 2a7 7 0 1 1 0 14 7 7 0 0 1 0-14z",
};

/** Draws a symbol, or a circle for one without a drawing. It is hidden from screen readers. @param {string} name @param {string} [color] */
export const symbolOf = (name, color) =>
  svg("svg", { viewBox: "0 0 24 24", class: "symbol", fill: color ?? "currentColor", "aria-hidden": "true" },
    svg("path", { d: (Object.hasOwn(paths, name) && paths[name]) || paths.circle, "fill-rule": "evenodd" }));

/** Draws a ring that is filled in part. @param {number} part @param {string} color */
export const ringOf = (part, color) =>
  svg("svg", { viewBox: "0 0 24 24", class: "symbol", "aria-hidden": "true" },
    svg("circle", { cx: 12, cy: 12, r: 9, fill: "none", stroke: "currentColor", "stroke-opacity": 0.25, "stroke-width": 4 }),
    svg("circle", {
      cx: 12, cy: 12, r: 9, fill: "none", stroke: color, "stroke-width": 4, "stroke-linecap": "round", pathLength: 100,
      "stroke-dasharray": `${part * 100} 100`, transform: "rotate(-90 12 12)",
    }));
