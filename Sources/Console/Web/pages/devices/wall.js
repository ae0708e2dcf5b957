// The wall of devices: which screens are on one phone, and what each shows now. Pure.

import { hueOf } from "../../renderers/values.js";

/** @import { ScreenState, SimulatedScreen } from "../../../sdk/generated/campanile.simulator.v1.js" */
/** @import { Look } from "../../devices/phone.js" */

/**
 * @typedef {object} Phone
 * @property {string} id
 * @property {string} name The device's name, or its user.
 * @property {string} user The owner of its screens; empty if none is known.
 * @property {string} app
 * @property {readonly SimulatedScreen[]} screens The newest first.
 * @property {boolean} connected
 * @property {number} updateMs
 * @property {number} hue
 */

/** @param {string | undefined} time */
const timeMs = (time) => time ? Date.parse(time) || 0 : 0;

/** Returns the last part of a bundle id. @param {string | undefined} app */
export const appName = (app = "") => app.split(".").at(-1) || app || "–";

/**
 * Returns the look of a state at a time; undefined if it belongs to no Live Activity.
 *
 * @param {ScreenState | undefined} state @param {number} nowMs @returns {Look | undefined}
 */
export function lookOf(state, nowMs) {
  if (!state?.contentStateJson || state.event === "SCREEN_EVENT_ALERT") return undefined;
  if (state.event === "SCREEN_EVENT_END") {
    return state.dismissalTime && timeMs(state.dismissalTime) <= nowMs ? "dismissed" : "ended";
  }
  return state.staleTime && timeMs(state.staleTime) <= nowMs ? "stale" : "started";
}

/**
 * Groups screens into phones. Tokens with a named device are on it. Others of one user are on one phone, unless several of
 * them are tokens of devices: then each of these is a phone, and the first has the activities.
 *
 * @param {Iterable<SimulatedScreen>} screens
 * @param {ReadonlyMap<string, string>} owners The users of screens, as far as they are known.
 * @returns {Phone[]} By name, then by id, so that phones keep their places.
 */
export function phonesOf(screens, owners) {
  /** @type {Map<string, { name: string, screens: SimulatedScreen[] }>} */
  const groups = new Map();
  for (const screen of screens) {
    if (screen.kind === "SCREEN_KIND_WIDGETS" || screen.kind === "SCREEN_KIND_CONTROL") continue;
    const id = screen.id ?? "", isNamed = Boolean(screen.device) && screen.device !== id, owner = owners.get(id);
    const base = isNamed ? `device:${screen.device}` : owner ? `user:${owner}` : `token:${id}`;
    const key = `${base}:${screen.app}`, taken = groups.get(key);
    const isDevice = screen.kind === "SCREEN_KIND_DEVICE" && !isNamed;
    const isSecond = isDevice && taken?.screens.some(({ kind }) => kind === "SCREEN_KIND_DEVICE");
    const group = isSecond ? undefined : taken;
    const name = isNamed ? screen.device ?? "" : owner ?? `${id.slice(0, 4)}…${id.slice(-4)}`;
    if (group) group.screens.push(screen);
    else groups.set(isSecond ? `${key}:${id}` : key, { name, screens: [screen] });
  }
  return Array.from(groups, ([id, { name, screens }]) => {
    const sorted = screens.toSorted((left, right) => timeMs(right.updateTime) - timeMs(left.updateTime));
    return {
      id, name, user: sorted.map(({ id = "" }) => owners.get(id)).find(Boolean) ?? "", screens: sorted, app: sorted[0]?.app ?? "", hue: 195 + hueOf(id) % 125,
      connected: sorted.every(({ connected }) => connected), updateMs: timeMs(sorted[0]?.updateTime),
    };
  }).sort((left, right) => left.name.localeCompare(right.name) || left.id.localeCompare(right.id));
}

/**
 * Returns the activities of a phone that are still visible, the one with the highest relevance first.
 *
 * @param {Pick<Phone, "screens">} phone @param {number} nowMs
 */
export const activitiesOf = (phone, nowMs) =>
  phone.screens.flatMap((screen) => {
    const look = lookOf(screen.state, nowMs);
    return look && look !== "dismissed" && screen.state ? [{ screen, state: screen.state, look }] : [];
  }).sort((left, right) => Number(left.look === "ended") - Number(right.look === "ended") ||
    Number(right.state.relevanceScore ?? 0) - Number(left.state.relevanceScore ?? 0));

/** Returns the alerts that a phone shows, newest first. @param {Pick<Phone, "screens">} phone */
export const alertsOf = (phone) =>
  phone.screens.flatMap((screen) => screen.kind === "SCREEN_KIND_DEVICE" && screen.state?.alert ? [{ screen, state: screen.state, alert: screen.state.alert }] : []);

/** Returns the badge of a phone's app; 0 for none. @param {Pick<Phone, "screens">} phone */
export const badgeOf = (phone) => phone.screens.find(({ kind, state }) => kind === "SCREEN_KIND_DEVICE" && state?.badge !== undefined)?.state?.badge ?? 0;

/** Returns the budget of a phone that has the least left. @param {Pick<Phone, "screens">} phone */
export function budgetOf(phone) {
  const budgets = phone.screens.flatMap(({ budget }) => budget?.limitCount ? [{ used: budget.usedCount ?? 0, limit: budget.limitCount }] : []);
  return budgets.sort((left, right) => right.used / right.limit - left.used / left.limit)[0];
}

/** Returns the ignored pushes of a phone by reason. @param {Pick<Phone, "screens">} phone */
export function discardsOf(phone) {
  /** @type {Map<string, number>} */
  const counts = new Map();
  for (const { discardCounts } of phone.screens) {
    for (const [reason, count] of Object.entries(discardCounts ?? {})) counts.set(reason, (counts.get(reason) ?? 0) + Number(count));
  }
  return Array.from(counts, ([reason, count]) => ({ reason, count })).sort((left, right) => right.count - left.count);
}
