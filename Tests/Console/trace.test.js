import assert from "node:assert/strict";
import { judge, judgePush, timeline } from "../../Sources/Console/Web/pages/trace/verdict.js";
import { axisTop, hoursOf } from "../../Sources/Console/Web/pages/overview/statistics.js";

/** @typedef {import("../../Sources/Console/sdk/generated/campanile.notifications.v1.js").DeliveryRecord} DeliveryRecord */
/** @param {string} outcome @param {Partial<DeliveryRecord>} [more] @returns {DeliveryRecord} */
const record = (outcome, more = {}) =>
  ({ eventTime: "2026-11-24T10:00:00Z", outcome: /** @type {any} */ (`DELIVERY_OUTCOME_${outcome}`), ...more });

/** @type {[string, DeliveryRecord[], string, string][]} */
const cases = [
  ["nothing recorded", [], "nothing", ""],
  ["only handed over", [record("HANDED_OVER")], "handedOver", "warn"],
  ["accepted", [record("HANDED_OVER"), record("PUSHED")], "accepted", "good"],
  ["one device accepted, one rejected", [record("HANDED_OVER"), record("REJECTED", { reason: "Unregistered" }), record("PUSHED")], "accepted", "good"],
  ["a device reports", [record("HANDED_OVER"), record("PUSHED"), record("RECEIVED")], "received", "good"],
  ["opened after received", [record("HANDED_OVER"), record("PUSHED"), record("RECEIVED"), record("OPENED")], "opened", "good"],
  ["token gone", [record("HANDED_OVER"), record("REJECTED", { reason: "Unregistered" })], "tokenGone", "bad"],
  ["other rejection", [record("HANDED_OVER"), record("REJECTED", { reason: "PayloadTooLarge" })], "rejected", "bad"],
  ["no token", [record("HANDED_OVER"), record("NO_TOKEN")], "noToken", "bad"],
  ["quiet hours", [record("HELD_BY_QUIET_HOURS", { releaseTime: "2026-11-25T06:00:00Z" })], "held", "warn"],
  ["snoozed bucket", [record("HELD_BY_SNOOZE")], "snoozedBucket", "warn"],
  ["muted", [record("MUTED")], "muted", "warn"],
  ["no push", [record("NO_PUSH")], "noPush", "warn"],
  ["snoozed after it was pushed", [record("HANDED_OVER"), record("PUSHED"), record("SNOOZED")], "snoozed", "warn"],
  ["handed over again after that", [record("HANDED_OVER"), record("PUSHED"), record("SNOOZED"), record("HANDED_OVER")], "handedOver", "warn"],
  ["scheduled", [record("SCHEDULED")], "scheduled", ""],
  ["cancelled", [record("SCHEDULED"), record("CANCELLED")], "cancelled", ""],
  ["expired", [record("EXPIRED")], "expired", "bad"],
  ["read before", [record("OBSOLETE")], "obsolete", ""],
  ["an outcome of a newer server", [record("TELEPORTED")], "handedOver", "warn"],
];
for (const [name, records, kind, level] of cases) {
  Deno.test(`verdict: ${name}`, () => {
    const verdict = judge(records, undefined);
    assert.deepEqual([verdict.kind, verdict.level], [kind, level]);
  });
}

Deno.test("verdict: without a token, the last retired one explains it", () => {
  const tokens = /** @type {any[]} */ ([
    { kind: "PUSH_TOKEN_KIND_DEVICE", retireTime: "2026-11-01T00:00:00Z", retireReason: "BadDeviceToken" },
    { kind: "PUSH_TOKEN_KIND_DEVICE", retireTime: "2026-11-17T00:00:00Z", retireReason: "Unregistered" },
    { kind: "PUSH_TOKEN_KIND_ACTIVITY_UPDATE", retireTime: "2026-11-20T00:00:00Z", retireReason: "ACTIVITY_ENDED" },
  ]);
  const { kind, time, reason } = judge([record("HANDED_OVER"), record("NO_TOKEN")], tokens);
  assert.deepEqual([kind, time, reason], ["tokenGone", "2026-11-17T00:00:00Z", "Unregistered"]);
});

Deno.test("verdicts of pushes", () => {
  assert.equal(judgePush({ status: "PUSH_STATUS_ACCEPTED" }).kind, "accepted");
  assert.equal(judgePush({ status: "PUSH_STATUS_WAITING", attemptCount: 0 }).kind, "queued");
  assert.equal(judgePush({ status: "PUSH_STATUS_WAITING", attemptCount: 2, dueTime: "d" }).kind, "retrying");
  assert.equal(judgePush({ status: "PUSH_STATUS_DEAD_LETTER", reason: "ServiceUnavailable" }).level, "bad");
  assert.equal(judgePush({}).kind, "queued");
});

Deno.test("a timeline is ordered by time, with the answer after the queue", () => {
  const steps = timeline({ createTime: "2026-11-24T10:00:00Z" }, [record("HANDED_OVER"), record("PUSHED", { eventTime: "2026-11-24T10:00:02Z" })],
    [{ queueTime: "2026-11-24T10:00:00.5Z", settleTime: "2026-11-24T10:00:01Z", status: "PUSH_STATUS_ACCEPTED" }]);
  assert.deepEqual(steps.map(({ key }) => key), ["CREATED", "HANDED_OVER", "QUEUED", "ANSWERED", "PUSHED"]);
});

Deno.test("a day has 24 hours, summed over the apps", () => {
  const now = Date.parse("2026-11-24T10:20:00Z");
  const hours = hoursOf([
    { app: "a", startTime: "2026-11-24T10:00:00Z", acceptedCount: "2", rejectedCounts: { Unregistered: "1" } },
    { app: "b", startTime: "2026-11-24T10:00:00Z", acceptedCount: "3", deadLetterCount: "4" },
    { app: "b", startTime: "2026-11-20T10:00:00Z", acceptedCount: "100" },
  ], now);
  assert.equal(hours.length, 24);
  assert.deepEqual(hours[23], { startMs: Date.parse("2026-11-24T10:00:00Z"), accepted: 5, failed: 5 });
  assert.deepEqual([0, 1, 3, 7, 12, 999, 1000].map(axisTop), [1, 1, 5, 10, 20, 1000, 1000]);
});
