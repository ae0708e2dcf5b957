import assert from "node:assert/strict";
import { Watcher } from "../../Sources/Console/Web/watcher.js";

/** A server of streams, and time, both under control. */
function world() {
  /** @type {{ watches: any[], push: (event: any) => void, fail: (error: any) => void, end: () => void, signal: AbortSignal }[]} */
  const streams = [];
  /** @type {{ streamId: string, add: any[], removeIds: string[] }[]} */
  const updates = [];
  /** @type {{ run: () => void, at: number }[]} */
  let timers = [];
  let now = 1000, refusal = /** @type {any} */ (undefined), refusals = 0;
  /** @type {any[]} */
  const states = [];
  const watcher = new Watcher({
    async *open(watches, signal) {
      /** @type {any[]} */
      const queue = [];
      let wake = () => {};
      const put = (/** @type {any} */ item) => { queue.push(item); wake(); };
      signal.addEventListener("abort", () => put({ error: { code: "CANCELLED" } }));
      streams.push({ watches, signal, push: (event) => put({ event }), fail: (error) => put({ error }), end: () => put({}) });
      for (;;) {
        while (queue.length === 0) await new Promise((resolve) => { wake = () => resolve(undefined); });
        const { event, error } = queue.shift();
        if (error) throw error;
        if (!event) return;
        yield event;
      }
    },
    update(streamId, add, removeIds) {
      updates.push({ streamId, add, removeIds });
      return refusal && refusals-- > 0 ? Promise.reject(refusal) : Promise.resolve();
    },
    onState: (state) => states.push(state.state),
    now: () => now,
    setTimeout: (run, delayMs) => { timers.push({ run, at: now + delayMs }); },
    random: () => 1,
    renewMs: 300_000,
  });
  const settle = async () => { for (let turn = 0; turn < 20; turn++) await Promise.resolve(); };
  return {
    watcher, streams, updates, states, settle,
    refuse: (/** @type {any} */ error, times = Infinity) => { [refusal, refusals] = [error, times]; },
    last: () => streams[streams.length - 1],
    async pass(/** @type {number} */ ms) {
      now += ms;
      const due = timers.filter(({ at }) => at <= now);
      timers = timers.filter(({ at }) => at > now);
      for (const { run } of due) run();
      await settle();
    },
  };
}
const message = (/** @type {string} */ watchId, json = "{}", resumeToken = "") => ({ watchId, message: { messageJson: json, resumeToken } });
/** @param {any[]} into */
const sink = (into) => (/** @type {any} */ event) => into.push(event.kind === "message" ? event.json : event.kind === "failed" ? event.code : event.kind);
const inbox = { method: "N/Watch", request: "{}", token: "" };

Deno.test("watches are opened with the stream, and added to it later in one call", async () => {
  const w = world();
  w.watcher.add("a", inbox, () => {});
  w.watcher.run();
  await w.settle();
  assert.deepEqual(w.last().watches, [{ id: "a", method: "N/Watch", requestJson: "{}" }]);
  w.watcher.add("early", inbox, () => {});
  w.last().push({ started: { streamId: "s1" } });
  await w.settle();
  w.watcher.add("b", inbox, () => {});
  w.watcher.add("c", inbox, () => {});
  w.watcher.remove("a");
  await w.settle();
  assert.deepEqual(w.updates.map(({ add }) => add.map(({ id }) => id)), [["early"], ["b", "c"]]);
  assert.ok(w.updates[1].removeIds.includes("a"));
  assert.deepEqual(w.states, ["live"]);
});

Deno.test("a lost stream is replaced after a growing delay, and each watch resumes", async () => {
  const w = world();
  /** @type {any[]} */
  const seen = [];
  w.watcher.add("a", inbox, sink(seen));
  w.watcher.run();
  await w.settle();
  w.last().push({ started: { streamId: "s1" } });
  w.last().push(message("a", "1", "t1"));
  await w.settle();
  w.last().fail({ code: "UNAVAILABLE" });
  await w.settle();
  assert.equal(w.states.at(-1), "waiting");
  await w.pass(199);
  assert.equal(w.streams.length, 1);
  await w.pass(1);
  assert.equal(w.last().watches[0].resumeToken, "t1");
  w.last().fail({ code: "UNAVAILABLE" });
  await w.settle();
  await w.pass(200);
  assert.equal(w.streams.length, 2);
  await w.pass(200);
  assert.equal(w.streams.length, 3);
  assert.deepEqual(seen, ["1"]);
});

Deno.test("a token that is too old starts the watch anew, and the gap comes before its first message", async () => {
  const w = world();
  /** @type {any[]} */
  const seen = [];
  w.watcher.add("a", { ...inbox, token: "old" }, sink(seen));
  w.watcher.run();
  await w.settle();
  w.last().push({ started: { streamId: "s1" } });
  w.last().push({ watchId: "a", failed: { code: 11, reason: "TOKEN_TOO_OLD" } });
  await w.settle();
  assert.deepEqual(w.updates.at(-1)?.add, [{ id: "a", method: "N/Watch", requestJson: "{}" }]);
  assert.deepEqual(seen, []);
  w.last().push(message("a", "started", "t9"));
  await w.settle();
  assert.deepEqual(seen, ["gap", "started"]);
});

Deno.test("the token of a list leaves with the next attempt once it is too old", async () => {
  const w = world();
  w.watcher.add("a", { ...inbox, request: '{"userId":"anna"}', token: "list" }, () => {});
  w.watcher.run();
  await w.settle();
  assert.deepEqual(w.last().watches, [{ id: "a", method: "N/Watch", requestJson: '{"userId":"anna"}', resumeToken: "list" }]);
  w.last().push({ started: { streamId: "s1" } });
  w.last().push({ watchId: "a", failed: { code: 11, reason: "TOKEN_TOO_OLD" } });
  await w.settle();
  assert.deepEqual(w.updates.at(-1)?.add, [{ id: "a", method: "N/Watch", requestJson: '{"userId":"anna"}' }]);
});

Deno.test("a watch whose service is down is tried again; one that is refused ends", async () => {
  const w = world();
  /** @type {any[]} */
  const seen = [];
  w.watcher.add("a", inbox, sink(seen));
  w.watcher.add("b", inbox, sink(seen));
  w.watcher.run();
  await w.settle();
  w.last().push({ started: { streamId: "s1" } });
  w.last().push({ watchId: "a", failed: { code: 14, retryDelay: "2s" } });
  w.last().push({ watchId: "b", failed: { code: 7, reason: "SCOPE_MISSING" } });
  await w.settle();
  assert.deepEqual(seen, ["PERMISSION_DENIED"]);
  await w.pass(1999);
  assert.equal(w.updates.length, 0);
  await w.pass(1);
  assert.deepEqual(w.updates.map(({ add }) => add.map(({ id }) => id)), [["a"]]);
  assert.equal(w.watcher.size, 1);
});

Deno.test("a stream that the gateway no longer knows is opened again with all watches", async () => {
  const w = world();
  w.watcher.run();
  await w.settle();
  w.last().push({ started: { streamId: "s1" } });
  await w.settle();
  w.refuse({ code: "NOT_FOUND", reason: "WATCH_STREAM_NOT_FOUND" });
  w.watcher.add("a", inbox, () => {});
  await w.settle();
  await w.pass(0);
  assert.equal(w.streams.length, 2);
  assert.deepEqual(w.last().watches.map(({ id }) => id), ["a"]);
});

Deno.test("removals that are refused with too many additions are repeated", async () => {
  const w = world();
  /** @type {any[]} */
  const seen = [];
  w.watcher.add("old", inbox, () => {});
  w.watcher.run();
  await w.settle();
  w.last().push({ started: { streamId: "s1" } });
  await w.settle();
  w.refuse({ code: "RESOURCE_EXHAUSTED", reason: "WATCHES_EXHAUSTED" }, 1);
  w.watcher.remove("old");
  w.watcher.add("new", inbox, sink(seen));
  await w.settle();
  assert.deepEqual(seen, ["RESOURCE_EXHAUSTED"]);
  assert.equal(w.updates.length, 2);
  assert.deepEqual([w.updates[1].add, w.updates[1].removeIds.includes("old")], [[], true]);
  assert.equal(w.watcher.size, 0);
});

Deno.test("the end of the session ends the stream until it is started again", async () => {
  const w = world();
  w.watcher.run();
  await w.settle();
  w.last().fail({ code: "UNAUTHENTICATED" });
  await w.settle();
  assert.equal(w.states.at(-1), "signedOut");
  await w.pass(1_000_000);
  assert.equal(w.streams.length, 1);
  w.watcher.restart();
  await w.settle();
  assert.equal(w.streams.length, 2);
});

Deno.test("an old stream is replaced without a pause, and a stopped one is not", async () => {
  const w = world();
  w.watcher.run();
  await w.settle();
  w.last().push({ started: { streamId: "s1" } });
  await w.settle();
  await w.pass(300_000);
  assert.equal(w.streams.length, 2);
  assert.deepEqual(w.states, ["live"]);
  w.watcher.stop();
  await w.settle();
  assert.equal(w.last().signal.aborted, true);
  await w.pass(1_000_000);
  assert.equal(w.streams.length, 2);
});
