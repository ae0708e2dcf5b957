// The last states of a screen, and the one that is looked at. Pure: each function returns a new value.

/** @import { ScreenState } from "../../../sdk/generated/campanile.simulator.v1.js" */

const statesMax = 20;

/**
 * @typedef {object} Scrubber
 * @property {readonly ScreenState[]} states Oldest first, at most 20.
 * @property {string | undefined} number The state that is looked at; undefined follows the newest.
 */

/** @type {Scrubber} */
export const start = { states: [], number: undefined };

const number = (/** @type {ScreenState} */ { number = "0" }) => Number(number);

/** Adds states, whatever their order; a state that is known is replaced. @param {Scrubber} scrubber @param {readonly ScreenState[]} states @returns {Scrubber} */
export function add(scrubber, states) {
  const known = new Map([...scrubber.states, ...states].map((state) => [number(state), state]));
  const all = Array.from(known.values()).sort((left, right) => number(left) - number(right)).slice(-statesMax);
  // A state that was looked at and is no longer among the last ones: the oldest takes its place.
  const kept = scrubber.number === undefined || all.some((state) => state.number === scrubber.number) ? scrubber.number : all[0]?.number;
  return { states: all, number: kept };
}

/** Looks at a state by its place. The last one follows what comes. @param {Scrubber} scrubber @param {number} index @returns {Scrubber} */
export function move(scrubber, index) {
  const last = scrubber.states.length - 1, place = Math.min(last, Math.max(0, Math.round(index)));
  return { ...scrubber, number: place >= last ? undefined : scrubber.states[place]?.number };
}

/** @param {Scrubber} scrubber */
export const follow = (scrubber) => ({ ...scrubber, number: undefined });

/** Returns the place of the state that is looked at; -1 without states. @param {Scrubber} scrubber */
export const indexOf = ({ states, number }) => number === undefined ? states.length - 1 : states.findIndex((state) => state.number === number);

/** Returns the state that is looked at. @param {Scrubber} scrubber @returns {ScreenState | undefined} */
export const current = (scrubber) => scrubber.states[indexOf(scrubber)];

/**
 * Returns the time at which the state is looked at: now for the newest, otherwise when the next one replaced it.
 *
 * @param {Scrubber} scrubber @param {number} nowMs
 */
export function momentMs(scrubber, nowMs) {
  const index = indexOf(scrubber), next = scrubber.states[index + 1];
  return scrubber.number === undefined || !next?.showTime ? nowMs : Date.parse(next.showTime);
}
