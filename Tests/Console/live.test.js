import assert from "node:assert/strict";
import { connect } from "../../Sources/Console/Web/live.js";

/** @typedef {{ data: any }} Message */

/** Replaces the browser's channel and locks. Returns what the tab has posted, and its receiver. */
function browser() {
  /** @type {any[]} */
  const posted = [];
  /** @type {((message: Message) => void)[]} */
  const receivers = [];
  const held = /** @type {any} */ (globalThis);
  held.BroadcastChannel = class {
    /** @param {(message: Message) => void} receiver */
    set onmessage(receiver) { receivers.push(receiver); }
    /** @param {any} message */
    postMessage(message) { posted.push(message); }
  };
  Object.defineProperty(navigator, "locks", { configurable: true, value: {
    // This tab does not lead.
    request: (/** @type {string} */ name, /** @type {() => unknown} */ run) => { if (name !== "campanile leader") run(); },
  } });
  return { posted, send: (/** @type {any} */ data) => { for (const receive of receivers) receive({ data }); } };
}

const method = /** @type {any} */ ({ path: "campanile.activities.v1.PushDeliveryService/WatchPushes" });

Deno.test("a watch resumes after its newest message, whichever hub takes over", () => {
  const { posted, send } = browser();
  const live = connect({ api: "http://127.0.0.1", headers: {} });
  const { tab } = posted[0];
  /** @type {any[]} */
  const seen = [];
  const stop = live.watch(method, { activityId: "a", resumeToken: "list" }, { message: (message) => seen.push(message), gap: () => seen.push("gap") });
  const first = posted.at(-1);
  assert.deepEqual([first.type, first.request, first.token], ["add", '{"activityId":"a"}', "list"]);

  send({ type: "events", tab, events: [[first.id, { kind: "message", json: '{"push":1}', token: "t1" }], [first.id, { kind: "message", json: '{"push":2}', token: "" }]] });
  send({ type: "events", tab: "another", events: [[first.id, { kind: "message", json: "{}", token: "t9" }]] });
  send({ type: "lead" });
  const second = posted.at(-1);
  assert.deepEqual([second.type, second.id, second.request, second.token], ["add", first.id, '{"activityId":"a"}', "t1"]);
  assert.deepEqual(seen, [{ push: 1 }, { push: 2 }]);

  stop();
  assert.deepEqual([posted.at(-1).type, posted.at(-1).id], ["remove", first.id]);
  send({ type: "lead" });
  assert.equal(posted.at(-1).type, "hello");
});

Deno.test("a watch that has failed is not opened again by the next hub", () => {
  const { posted, send } = browser();
  const live = connect({ api: "http://127.0.0.1", headers: {} });
  const { tab } = posted[0];
  /** @type {string[]} */
  const failures = [];
  live.watch(method, {}, { message: () => {}, failed: ({ code }) => failures.push(code) });
  send({ type: "events", tab, events: [[posted.at(-1).id, { kind: "failed", code: "PERMISSION_DENIED", reason: "SCOPE_MISSING", message: "" }]] });
  send({ type: "lead" });
  assert.deepEqual(failures, ["PERMISSION_DENIED"]);
  assert.equal(posted.at(-1).type, "hello");
});
