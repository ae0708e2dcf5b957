// The faults of the buttons, and the names of faults. Pure.

/** @import { Fault } from "../../../sdk/generated/campanile.simulator.v1.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/** @type {Readonly<Record<keyof T["fault"], Fault>>} */
export const presets = {
  unavailable: { answer: { reason: "ServiceUnavailable" } },
  fifth: { answer: { reason: "ServiceUnavailable" }, probability: 0.2 },
  tooMany: { answer: { reason: "TooManyRequests" } },
  slow: { delay: { minimum: "2s", maximum: "2s" } },
  goaway: { goAway: {}, every: 10 },
  reset: { reset: {} },
  stall: { stall: {} },
};

/** @typedef {"answer" | "delay" | "goAway" | "reset" | "close" | "stall"} Effect */

/** @param {Fault} fault @returns {Effect} */
export const effectOf = (fault) =>
  /** @type {Effect[]} */ (["answer", "delay", "goAway", "reset", "close", "stall"]).find((name) => fault[name] !== undefined) ?? "answer";

/** Names a fault by its effect, its reason and its probability. @param {Fault} fault @param {T} t */
export const faultName = (fault, t) => [
  t.effect[effectOf(fault)], fault.answer?.reason, Number(fault.probability ?? 1) < 1 ? `${Math.round(Number(fault.probability) * 100)} %` : "",
  fault.delay?.maximum, (fault.every ?? 0) > 1 ? `1/${fault.every}` : "",
].filter(Boolean).join(" ");
