// Watches: resumption, gaps, delays, renewal and ends.
import assert from "node:assert/strict";
import {
  CallError, Client, type ResumableMethod, type ServerStreamingMethod, type WatchEvent, type WatchOptions, type WatchState,
} from "../../Clients/TypeScript/campanile.js";
import { connectError, disconnect, end, envelope, FakeClock, fakeFetch, type Handler, json, stream } from "./fakes.ts";

type Request = { resumeToken?: string; bucket?: string };
type Change = { resumeToken?: string; number?: number };
const changes: ResumableMethod<Request, Change> = {
  path: "t.v1.Service/Watch", kind: "serverStreaming", idempotency: "noSideEffects", token: "resumeToken",
};
const at = (number: number) => envelope({ resumeToken: `t${number}`, number });
const tooOld = stream([end(connectError("out_of_range", "TOKEN_TOO_OLD"))]);

function start(...handlers: Handler[]) {
  const clock = new FakeClock();
  const { fetch, requests } = fakeFetch(...handlers);
  const states: WatchState[] = [];
  return {
    clock, requests, states, client: new Client("", { fetch, clock, random: () => 1 }),
    onState: (state: WatchState) => void states.push(state),
    tokens: () => requests.map(({ message }) => (message as Request).resumeToken),
    delays: () => states.flatMap((state) => state.state === "waiting" ? [state.delayMs] : []),
  };
}

/** Follows a watch up to the change with this number. Returns the numbers; a gap is -1. */
async function follow(source: AsyncIterable<WatchEvent<Change>>, last: number): Promise<number[]> {
  const found: number[] = [];
  for await (const event of source) {
    found.push(event.kind === "gap" ? -1 : event.message.number ?? 0);
    if (found.at(-1) === last) break;
  }
  return found;
}

Deno.test("a watch resumes after the last message, without loss or repetition", async () => {
  const unfinished = at(4).subarray(0, 9);
  const { clock, client, requests, states, onState, tokens } = start(
    stream([at(1), at(2)], "break"), stream([at(3), unfinished]), disconnect, stream([at(4), end()]), stream([at(5)], "silence"));
  const found = await clock.run(follow(client.watch(changes, { bucket: "b" }, { onState }), 5));
  assert.deepEqual(found, [1, 2, 3, 4, 5]);
  assert.deepEqual(tokens(), [undefined, "t2", "t3", "t3", "t4"]);
  assert(requests.every(({ message }) => (message as Request).bucket === "b"));
  assert.deepEqual(states.map(({ state }) => state), ["open", "waiting", "open", "waiting", "waiting", "open", "waiting", "open"]);
  assert(requests.at(-1)?.init.signal?.aborted);
  assert.equal(clock.timerCount, 0);
});

Deno.test("events have the token to resume with", async () => {
  const { clock, client } = start(stream([at(1), envelope({ number: 2 })], "silence"));
  const watch = client.watch(changes, {});
  for (const number of [1, 2]) {
    const { value } = await clock.run(watch.next()) as { value: WatchEvent<Change> };
    assert.deepEqual(value, { kind: "message", message: number === 1 ? { resumeToken: "t1", number } : { number }, token: "t1" });
  }
  await watch.return(undefined as never);
});

Deno.test("the delay grows to 30 s, starts again after a message, and honours the server", async () => {
  const asked = json(connectError("resource_exhausted", "TOO_MANY_STREAMS", "45s"), 429);
  const later = json(connectError("aborted", "BUSY", "50s"), 409);
  const slow = stream([at(2), end(connectError("resource_exhausted", "SLOW_CONSUMER"))]);
  const { clock, client, onState, delays } = start(
    ...Array(9).fill(disconnect), stream([at(1)]), asked, later, slow, stream([at(3)], "silence"));
  assert.deepEqual(await clock.run(follow(client.watch(changes, {}, { onState }), 3)), [1, 2, 3]);
  assert.deepEqual(delays(), [200, 400, 800, 1600, 3200, 6400, 12_800, 25_600, 30_000, 200, 45_000, 50_000, 200]);
});

Deno.test("a gap is an event that precedes the first message of the new watch", async () => {
  const { clock, client, tokens } = start(stream([at(1)]), tooOld, disconnect, stream([at(8), at(9)], "silence"));
  assert.deepEqual(await clock.run(follow(client.watch(changes, {}), 9)), [1, -1, 8, 9]);
  assert.deepEqual(tokens(), [undefined, "t1", undefined, undefined]);
});

Deno.test("a gap reports the error, also for the caller's own token", async () => {
  const { clock, client, tokens } = start(tooOld, stream([at(1)], "silence"));
  const { value } = await clock.run(client.watch(changes, { resumeToken: "old" }).next()) as { value: WatchEvent<Change> };
  assert(value.kind === "gap" && value.error.reason === "TOKEN_TOO_OLD" && value.error.code === "OUT_OF_RANGE");
  assert.deepEqual(tokens(), ["old", undefined]);
});

const fatal: [string, Handler][] = [
  ["TOKEN_TOO_OLD", tooOld],
  ["KEY_INVALID", json(connectError("unauthenticated", "KEY_INVALID"), 401)],
  ["MISSING", stream([end(connectError("not_found", "MISSING"))])],
];
for (const [reason, handler] of fatal) {
  Deno.test(`a watch ends with ${reason}`, async () => {
    const { clock, client, requests } = start(handler);
    const error = await clock.run(follow(client.watch(changes, {}), 1));
    assert(error instanceof CallError);
    assert.equal(error.reason, reason);
    assert.equal(requests.length, 1);
  });
}

Deno.test("a connection is renewed without a delay and without a state", async () => {
  const { clock, client, tokens, states, onState, delays } = start(
    stream([at(1)], "silence"), stream([at(2)], "silence"), stream([at(3)], "silence"), disconnect, stream([at(4)], "silence"));
  const watch = client.watch(changes, {}, { onState, renewMs: 60_000 });
  for (const number of [1, 2, 3]) {
    const { value } = await clock.run(watch.next()) as { value: WatchEvent<Change> };
    assert(value.kind === "message" && value.message.number === number);
  }
  assert.equal(clock.time, 120_000);
  assert(states.every(({ state }) => state === "open"));
  // A later failure is the first one.
  assert.deepEqual(await clock.run(follow(watch, 4)), [4]);
  assert.deepEqual(delays(), [200]);
  assert.deepEqual(tokens(), [undefined, "t1", "t2", "t3", "t3"]);
});

Deno.test("a renewal loses no message that the loop has not received", async () => {
  const { clock, client, tokens } = start(stream([at(1), at(2)]), stream([at(2), at(3)], "silence"));
  const found: number[] = [];
  await clock.run((async () => {
    for await (const event of client.watch(changes, {}, { renewMs: 1000 })) {
      assert(event.kind === "message");
      found.push(event.message.number ?? 0);
      // The loop is busy while the connection is renewed.
      if (found.length === 1) await new Promise((resolve) => clock.setTimeout(() => resolve(0), 2000));
      if (found.length === 3) break;
    }
  })());
  assert.deepEqual(found, [1, 2, 3]);
  assert.deepEqual(tokens(), [undefined, "t1"]);
});

Deno.test("a method without tokens continues as the caller determines", async () => {
  type Position = { after?: number };
  const method: ServerStreamingMethod<Position, Change> = {
    path: "t.v1.Service/Follow", kind: "serverStreaming", idempotency: "noSideEffects",
  };
  const { clock, client, requests } = start(stream([at(1), at(2)]), stream([at(3)], "silence"));
  const watch = client.watch(method, { after: 0 }, { advance: ({ number }) => ({ after: number ?? 0 }) });
  assert.deepEqual(await clock.run(follow(watch, 3)), [1, 2, 3]);
  assert.deepEqual(requests.map(({ message }) => message), [{ after: 0 }, { after: 2 }]);
});

Deno.test("an aborted watch ends while it reads and while it waits", async () => {
  for (const handler of [stream([at(1)], "silence"), stream([at(1)], "break")]) {
    const { clock, client, onState } = start(handler);
    const abort = new AbortController();
    const options: WatchOptions = { signal: abort.signal, onState };
    clock.setTimeout(() => abort.abort(), 100);
    const error = await clock.run(follow(client.watch(changes, {}, options), 9));
    assert(error instanceof CallError);
    assert.equal(error.code, "CANCELLED");
    assert.equal(clock.time, 100);
    assert.equal(clock.timerCount, 0);
  }
});

Deno.test("an error of the loop is the caller's own", async () => {
  const { clock, client, requests } = start(stream([at(1)], "silence"));
  const result = await clock.run((async () => {
    for await (const _ of client.watch(changes, {})) throw new RangeError("mine");
    return undefined as unknown as Error;
  })());
  assert(result instanceof RangeError);
  assert(requests[0]?.init.signal?.aborted);
});
