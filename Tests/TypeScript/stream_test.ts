// Streams: envelopes in any pieces, errors and ends.
import assert from "node:assert/strict";
import { CallError, Client, type ServerStreamingMethod } from "../../Clients/TypeScript/campanile.js";
import { connectError, end, envelope, FakeClock, fakeFetch, type Handler, hang, joined, json, stream } from "./fakes.ts";

type Item = { text?: string; number?: number };
const list: ServerStreamingMethod<Item, Item> = {
  path: "t.v1.Service/List", kind: "serverStreaming", idempotency: "noSideEffects",
};
const items: Item[] = [{}, { text: "à la campanile 🔔" }, { number: 1 }, { text: "x".repeat(300) }, {}];
const bytes = joined([...items.map((item) => envelope(item)), end()]);

function start(handler: Handler) {
  const clock = new FakeClock();
  const { fetch, requests } = fakeFetch(handler);
  return { clock, requests, client: new Client("", { fetch, clock, random: () => 1 }) };
}

async function collect(source: AsyncIterable<Item>): Promise<Item[]> {
  const found: Item[] = [];
  for await (const item of source) found.push(item);
  return found;
}

async function failure(handler: Handler): Promise<CallError> {
  const { clock, client } = start(handler);
  const error = await clock.run(collect(client.stream(list, {})));
  assert(error instanceof CallError, String(error));
  return error;
}

Deno.test("envelopes are read in chunks of any one size", async () => {
  for (let size = 1; size <= bytes.length; size++) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length; at += size) chunks.push(bytes.subarray(at, at + size));
    const { clock, client } = start(stream(chunks));
    assert.deepEqual(await clock.run(collect(client.stream(list, {}))), items, `chunks of ${size}`);
  }
});

Deno.test("envelopes are read in chunks of different sizes, also empty ones", async () => {
  let seed = 1;
  const random = (below: number) => (seed = (seed * 48271) % 2147483647) % below;
  for (let round = 0; round < 200; round++) {
    const chunks: Uint8Array[] = [];
    for (let at = 0; at < bytes.length;) {
      const size = random(2) ? random(8) : random(200);
      chunks.push(bytes.slice(at, at + size));
      at += size;
    }
    const { clock, client } = start(stream(chunks));
    assert.deepEqual(await clock.run(collect(client.stream(list, {}))), items, `round ${round}`);
  }
});

Deno.test("the request is one envelope without a timeout unless one is set", async () => {
  const { clock, client, requests } = start(stream([bytes]));
  await clock.run(collect(client.stream(list, { number: 7 })));
  assert.equal(requests[0]?.url, "/t.v1.Service/List");
  assert.deepEqual(requests[0]?.message, { number: 7 });
  assert.equal((requests[0]?.init.body as Uint8Array)[0], 0);
  assert.equal(requests[0]?.headers.get("content-type"), "application/connect+json");
  assert.equal(requests[0]?.headers.get("connect-timeout-ms"), null);
});

const faults: [string, Handler, string, string][] = [
  ["an error in the last envelope", stream([end(connectError("not_found", "MISSING"))]), "NOT_FOUND", "MISSING"],
  ["a refusal", json(connectError("unauthenticated", "KEY_INVALID"), 401), "UNAUTHENTICATED", "KEY_INVALID"],
  ["no last envelope", stream([envelope({})]), "UNAVAILABLE", "STREAM_TRUNCATED"],
  ["an unfinished envelope", stream([bytes.subarray(0, 12)]), "UNAVAILABLE", "STREAM_TRUNCATED"],
  ["a broken connection", stream([envelope({})], "break"), "UNAVAILABLE", "CONNECTION_FAILED"],
  ["a compressed envelope", stream([envelope({}, 1), end()]), "INTERNAL", "RESPONSE_INVALID"],
  ["a message that is not JSON", stream([envelope("{"), end()]), "INTERNAL", "RESPONSE_INVALID"],
  ["a length beyond the limit", stream([new Uint8Array([0, 4, 0, 0, 0])], "silence"), "INTERNAL", "RESPONSE_INVALID"],
  ["no response", hang, "UNAVAILABLE", "CONNECTION_FAILED"],
];
for (const [name, handler, code, reason] of faults) {
  Deno.test(`streams fail upon ${name}`, async () => {
    const error = await failure(handler);
    assert.deepEqual([error.code, error.reason], [code, reason]);
  });
}

Deno.test("leaving the loop cancels the request", async () => {
  const { clock, client, requests } = start(stream([envelope({ number: 1 })], "silence"));
  await clock.run((async () => {
    for await (const item of client.stream(list, {})) {
      assert.deepEqual(item, { number: 1 });
      break;
    }
  })());
  assert(requests[0]?.init.signal?.aborted);
  assert.equal(clock.timerCount, 0);
});

Deno.test("a waiting stream ends with its signal or its deadline", async () => {
  const silence = stream([envelope({})], "silence");
  const abort = new AbortController();
  for (const [options, code, timeMs] of [
    [{ signal: abort.signal }, "CANCELLED", 40_000], [{ timeoutMs: 50_000 }, "DEADLINE_EXCEEDED", 50_000],
  ] as const) {
    const { clock, client } = start(silence);
    clock.setTimeout(() => abort.abort(), 40_000);
    const error = await clock.run(collect(client.stream(list, {}, options)));
    assert(error instanceof CallError);
    assert.equal(error.code, code);
    assert.equal(clock.time, timeMs);
  }
});

Deno.test("the first of an abort and a deadline ends a stream, before received messages", async () => {
  const { clock, client } = start(stream([joined([envelope({}), envelope({})])], "silence"));
  const abort = new AbortController();
  const messages = client.stream(list, {}, { signal: abort.signal, timeoutMs: 20 });
  assert.deepEqual(await messages.next(), { value: {}, done: false });
  abort.abort();
  await clock.run(new Promise((resolve) => clock.setTimeout(() => resolve(0), 30)));
  const error = await clock.run(messages.next());
  assert(error instanceof CallError);
  assert.equal(error.code, "CANCELLED");
});
