import assert from "node:assert/strict";
import { diff } from "../../Sources/Console/Web/pages/activities/diff.js";
import { fault, measure, payloadOf, refusedMeasure } from "../../Sources/Console/Web/pages/activities/meter.js";
import { apply, countdown, driverOf, endsAt, put } from "../../Sources/Console/Web/pages/activities/reducer.js";

Deno.test("the difference of two states names changed, new and removed members", () => {
  const rows = diff('{"phase":"waiting","since":1,"list":[{"t":"a"},{"t":"b"}],"gone":null}', '{"phase":"connected","since":1,"list":[{"t":"a"}],"new":{}}');
  assert.deepEqual(rows, [
    { path: "phase", before: '"waiting"', after: '"connected"', kind: "changed" }, { path: "since", before: "1", after: "1", kind: "same" },
    { path: "list.0.t", before: '"a"', after: '"a"', kind: "same" }, { path: "new", before: undefined, after: "{}", kind: "added" },
    { path: "list.1.t", before: '"b"', after: undefined, kind: "removed" }, { path: "gone", before: "null", after: undefined, kind: "removed" },
  ]);
});

Deno.test("without an earlier state nothing has changed", () => {
  assert.deepEqual(diff(undefined, '{"a":1}'), [{ path: "a", before: undefined, after: "1", kind: "same" }]);
});

Deno.test("the difference of hostile texts is bounded and never throws", () => {
  const hostile = [undefined, "", "[", "null", '{"__proto__":{"a":1}}', `{"a":${"[".repeat(2000)}${"]".repeat(2000)}}`, JSON.stringify(Object.fromEntries(Array.from({ length: 4000 }, (_, index) => [index, index]))), `{"a":"${"x".repeat(9000)}"}`];
  for (const before of hostile) {
    for (const after of hostile) {
      const rows = diff(before, after);
      assert.ok(rows.length <= 400);
      for (const { before, after } of rows) assert.ok((before ?? "").length <= 201 && (after ?? "").length <= 201);
    }
  }
  assert.deepEqual(diff("{}", '{"__proto__":{"a":1}}').map(({ path }) => path), ["__proto__.a"]);
});

Deno.test("the payload is the one that the service pushes", () => {
  assert.equal(payloadOf({ event: "update", stateJson: '{"a":1}' }), '{"aps":{"timestamp":1700000000,"event":"update","content-state":{"a":1}}}');
  assert.equal(payloadOf({ event: "end", stateJson: "{}", dismissalTime: "1970-01-01T00:00:07.9Z", staleTime: "1970-01-01T00:00:05Z", relevanceScore: 50, alert: { title: "T", body: "", sound: "default" } }),
    '{"aps":{"timestamp":1700000000,"event":"end","content-state":{},"stale-date":5,"dismissal-date":7,"relevance-score":50.0,"alert":{"title":"T","sound":"default"}}}');
  assert.equal(payloadOf({ event: "start", stateJson: "{}", attributesType: "A", attributesJson: '{"id":1}' }),
    '{"aps":{"timestamp":1700000000,"event":"start","content-state":{},"attributes-type":"A","attributes":{"id":1},"input-push-token":1}}');
});

Deno.test("the meter counts bytes, not characters, and the excess over its limit", () => {
  const empty = measure({ event: "update", stateJson: "" }).size;
  assert.equal(measure({ event: "update", stateJson: "è👍" }).size, empty + 6);
  assert.deepEqual(measure({ event: "update", stateJson: "x".repeat(4096 - empty) }), { size: 4096, limit: 4096, excess: 0 });
  assert.equal(measure({ event: "update", stateJson: "x".repeat(4097 - empty) }).excess, 1);
  assert.equal(measure({ event: "update", stateJson: "{}", channelId: "c" }).limit, 5120);
});

Deno.test("a refusal for the size is read, and no other", () => {
  const metadata = { sizeBytes: "4100", limitBytes: "4096", excessBytes: "4" };
  assert.deepEqual(refusedMeasure({ reason: "PAYLOAD_TOO_LARGE", metadata }), { size: 4100, limit: 4096, excess: 4 });
  assert.deepEqual(refusedMeasure({ fieldViolations: [{ reason: "PAYLOAD_TOO_LARGE" }], metadata }), { size: 4100, limit: 4096, excess: 4 });
  for (const other of [undefined, null, new Error("x"), { reason: "JSON_INVALID", metadata }, { reason: "PAYLOAD_TOO_LARGE" }, { reason: "PAYLOAD_TOO_LARGE", metadata: { sizeBytes: "x" } }]) {
    assert.equal(refusedMeasure(other), undefined);
  }
});

Deno.test("a text must be one JSON object", () => {
  assert.deepEqual(["{}", '{"a":[1]}', "[]", "null", "7", "", "{", "{}{}"].map(fault), ["", "", "object", "object", "object", "syntax", "syntax", "syntax"]);
});

Deno.test("changes keep the list in order, and an older one changes nothing", () => {
  const first = { id: "a", createTime: "2026-01-01T00:00:00Z", updateTime: "2026-01-01T00:00:00Z" }, second = { id: "b", createTime: "2026-01-02T00:00:00Z", updateTime: "2026-01-02T00:00:00Z" };
  let list = apply(apply([], { activityStarted: first }), { activityStarted: second });
  assert.deepEqual(list.map(({ id }) => id), ["b", "a"]);
  list = apply(list, { activityUpdated: { ...first, updateTime: "2026-01-03T00:00:00Z", contentStateJson: "{}" } });
  assert.deepEqual(list.map(({ id, contentStateJson }) => [id, contentStateJson]), [["b", undefined], ["a", "{}"]]);
  assert.equal(put(list, first), list);
  assert.equal(apply(list, {}), list);
  assert.equal(apply(list, { activityEnded: { ...second, updateTime: "2026-01-04T00:00:00Z", status: "ACTIVITY_STATUS_ENDED" } })[0]?.status, "ACTIVITY_STATUS_ENDED");
});

Deno.test("an activity ends at its scheduled end, or after its 8 hours", () => {
  assert.equal(endsAt({ expireTime: "x" }), "x");
  assert.equal(endsAt({ expireTime: "x", scheduledEndTime: "y" }), "y");
  assert.equal(endsAt({ expireTime: "x", status: "ACTIVITY_STATUS_ENDED" }), undefined);
  const nowMs = Date.parse("2026-01-01T00:00:00Z");
  assert.deepEqual(["2026-01-01T08:00:00Z", "2026-01-01T00:00:00.5Z", "2026-01-01T00:00:00Z", "", undefined, "soon"].map((time) => countdown(time, nowMs)), ["8:00:00", "0:00:01", "", "", "", ""]);
  assert.deepEqual([driverOf({}), driverOf({ room: {} }), driverOf({ timer: {} }), driverOf({ unread: {} })], ["caller", "room", "timer", "unread"]);
});
