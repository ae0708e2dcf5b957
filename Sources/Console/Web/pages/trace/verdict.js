// The verdict about a notification in one sentence, and the timeline of its delivery. Pure.
// APNs accepts a push; whether a device shows it is not known unless the device reports it.

/** @import { DeliveryRecord } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @import { Push, PushToken } from "../../../sdk/generated/campanile.activities.v1.js" */

/**
 * @typedef {object} Verdict
 * @property {"opened" | "received" | "accepted" | "queued" | "retrying" | "noToken" | "tokenGone" | "rejected" | "deadLetter"
 *   | "held" | "snoozedBucket" | "snoozed" | "scheduled" | "muted" | "noPush" | "expired" | "obsolete" | "cancelled"
 *   | "handedOver" | "superseded" | "nothing"} kind
 * @property {"good" | "warn" | "bad" | ""} level
 * @property {string | undefined} time
 * @property {string} reason
 */

/** @param {DeliveryRecord | undefined} record */
const name = (record) => record?.outcome?.replace("DELIVERY_OUTCOME_", "") ?? "";
const reports = ["OPENED", "ACTED", "DISMISSED", "RECEIVED"];
/** @type {Record<string, [Verdict["kind"], Verdict["level"]]>} */
const waits = {
  HELD_BY_QUIET_HOURS: ["held", "warn"], HELD_BY_SNOOZE: ["snoozedBucket", "warn"], MUTED: ["muted", "warn"], NO_PUSH: ["noPush", "warn"],
  EXPIRED: ["expired", "bad"], OBSOLETE: ["obsolete", ""], SCHEDULED: ["scheduled", ""], CANCELLED: ["cancelled", ""],
  SNOOZED: ["snoozed", "warn"], POSTPONED: ["snoozed", "warn"],
};

/**
 * @param {readonly DeliveryRecord[]} records Oldest first.
 * @param {readonly PushToken[] | undefined} tokens The user's alert tokens, also retired ones; undefined if they are not known.
 * @returns {Verdict}
 */
export function judge(records, tokens) {
  const last = records.at(-1), since = records.findLastIndex((record) => /HANDED_OVER|REPEATED/.test(name(record)));
  const round = records.slice(Math.max(0, since));
  /** @param {string} outcome */
  const latest = (outcome) => round.findLast((record) => name(record) === outcome);
  for (const outcome of reports) {
    const record = latest(outcome);
    if (record) return { kind: outcome === "RECEIVED" ? "received" : "opened", level: "good", time: record.eventTime, reason: "" };
  }
  // After the last hand-over, it may have been held again.
  const wait = waits[name(last)];
  if (last && wait) return { kind: wait[0], level: wait[1], time: last.releaseTime ?? last.eventTime, reason: last.reason ?? "" };
  const pushed = latest("PUSHED"), rejected = latest("REJECTED"), missing = latest("NO_TOKEN");
  if (pushed) return { kind: "accepted", level: "good", time: pushed.eventTime, reason: "" };
  if (rejected) {
    const kind = /Unregistered|ExpiredToken|BadDeviceToken|DeviceTokenNotForTopic/.test(rejected.reason ?? "") ? "tokenGone" : "rejected";
    return { kind, level: "bad", time: rejected.eventTime, reason: rejected.reason ?? "" };
  }
  if (missing) {
    const alerts = tokens?.filter(({ kind }) => /ALERT|DEVICE/.test(kind ?? "")) ?? [];
    const gone = alerts.filter(({ retireTime }) => retireTime).sort((a, b) => (a.retireTime ?? "") < (b.retireTime ?? "") ? 1 : -1)[0];
    return gone ? { kind: "tokenGone", level: "bad", time: gone.retireTime, reason: gone.retireReason ?? "" }
      : { kind: "noToken", level: "bad", time: missing.eventTime, reason: "" };
  }
  if (last) return { kind: "handedOver", level: "warn", time: last.eventTime, reason: "" };
  return { kind: "nothing", level: "", time: undefined, reason: "" };
}

/** Judges a push by itself. @param {Push} push @returns {Verdict} */
export function judgePush({ status = "PUSH_STATUS_UNSPECIFIED", reason = "", settleTime, dueTime, queueTime, attemptCount = 0 }) {
  /** @type {Record<string, [Verdict["kind"], Verdict["level"]]>} */
  const kinds = {
    ACCEPTED: ["accepted", "good"], REJECTED: ["tokenGone", "bad"], DEAD_LETTER: ["deadLetter", "bad"], EXPIRED: ["expired", "bad"],
    WITHOUT_TOKEN: ["noToken", "bad"], SUPERSEDED: ["superseded", ""],
  };
  const [kind, level] = kinds[status.replace("PUSH_STATUS_", "")] ?? (attemptCount > 0 ? ["retrying", "warn"] : ["queued", "warn"]);
  return { kind, level, time: settleTime ?? dueTime ?? queueTime, reason };
}

/**
 * @typedef {object} Step
 * @property {string | undefined} time
 * @property {string} key An outcome without its prefix, or CREATED, QUEUED, ANSWERED.
 * @property {"good" | "warn" | "bad" | ""} level
 * @property {DeliveryRecord} [record]
 * @property {Push} [push]
 */

/** @type {Record<string, Step["level"]>} */
const levels = {
  PUSHED: "good", RECEIVED: "good", OPENED: "good", ACTED: "good", DISMISSED: "good", NO_TOKEN: "bad", REJECTED: "bad", EXPIRED: "bad",
  HELD_BY_QUIET_HOURS: "warn", HELD_BY_SNOOZE: "warn", MUTED: "warn", NO_PUSH: "warn", SNOOZED: "warn", POSTPONED: "warn",
};

/**
 * Returns a timeline: the creation, the delivery log, and the queue and APNs' response of each push that is known.
 *
 * @param {{ createTime?: string | undefined } | undefined} notification
 * @param {readonly DeliveryRecord[]} records
 * @param {readonly Push[]} pushes
 * @returns {Step[]}
 */
export function timeline(notification, records, pushes) {
  /** @type {Step[]} */
  const steps = [];
  if (notification) steps.push({ time: notification.createTime, key: "CREATED", level: "" });
  for (const record of records) steps.push({ time: record.eventTime, key: name(record), level: levels[name(record)] ?? "", record });
  for (const push of pushes) {
    steps.push({ time: push.queueTime, key: "QUEUED", level: "", push });
    if (push.settleTime) steps.push({ time: push.settleTime, key: "ANSWERED", level: judgePush(push).level, push });
  }
  // Equal times keep this order: created, logged, queued, answered.
  return steps.map((step, index) => ({ step, index })).sort((a, b) =>
    (Date.parse(a.step.time ?? "") || 0) - (Date.parse(b.step.time ?? "") || 0) || a.index - b.index).map(({ step }) => step);
}
