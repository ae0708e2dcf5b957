// The choice of a renderer for a state. To draw an app's own activities, add a module to this folder and a line here.

import { generic } from "./generic.js";
import { room } from "./room.js";
import { timer } from "./timer.js";
import { unread } from "./unread.js";
import { isObject } from "./values.js";

/** @import { DateForm, Presentations, Renderer, Words } from "./types.d.ts" */

/** @type {Renderer[]} */
const renderers = [unread, room, timer];

/** Adds a renderer before all others. Returns a function that removes it. @param {Renderer} renderer */
export function register(renderer) {
  renderers.unshift(renderer);
  return () => void renderers.splice(renderers.indexOf(renderer), 1);
}

/** Returns a JSON object of a text; undefined if it is none. @param {string | undefined} text */
export function parseObject(text) {
  if (!text) return undefined;
  try {
    const value = JSON.parse(text);
    return isObject(value) ? value : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Draws a state. Never throws: a state that its renderer cannot draw is drawn by the generic one, with `problem`.
 *
 * @param {object} options
 * @param {string | undefined} options.attributesType
 * @param {string | undefined} options.attributesJson
 * @param {string | undefined} options.stateJson
 * @param {number} options.nowMs
 * @param {Words} options.words
 * @param {DateForm} [options.dates]
 * @returns {Presentations & { readonly renderer: string, readonly problem?: string }}
 */
export function present({ attributesType = "", attributesJson, stateJson, nowMs, words, dates = "any" }) {
  const state = parseObject(stateJson), input = {
    attributesType, attributes: parseObject(attributesJson) ?? {}, state: state ?? {}, nowMs, words, dates,
  };
  const problem = state === undefined && stateJson ? { problem: words.notJSON } : {};
  for (const renderer of state === undefined ? [] : renderers) {
    try {
      if (renderer.fits(input)) return { ...renderer.render(input), renderer: renderer.name };
    } catch (error) {
      const problem = `${renderer.name}: ${error instanceof Error ? error.message : String(error)}`;
      return { ...generic.render(input), renderer: generic.name, problem };
    }
  }
  return { ...generic.render(input), renderer: generic.name, ...problem };
}
