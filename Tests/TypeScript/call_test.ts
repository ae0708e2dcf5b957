// Unary calls: requests, errors, repetition, deadlines and aborts.
import assert from "node:assert/strict";
import { CallError, Client, type ClientOptions, type UnaryMethod } from "../../Clients/TypeScript/campanile.js";
import { connectError, disconnect, FakeClock, fakeFetch, type Handler, hang, json } from "./fakes.ts";

type Text = { text?: string };
const read: UnaryMethod<Text, Text> = { path: "t.v1.Service/Read", kind: "unary", idempotency: "noSideEffects" };
const put: UnaryMethod<Text, Text> = { ...read, path: "t.v1.Service/Put", idempotency: "idempotent" };
const write: UnaryMethod<Text, Text> = { ...read, path: "t.v1.Service/Write", idempotency: "unknown" };
const unavailable = json(connectError("unavailable", "GONE"), 503);

function start(handlers: Handler[], options: ClientOptions = {}) {
  const clock = new FakeClock();
  const { fetch, requests } = fakeFetch(...handlers);
  const client = new Client("http://gateway/", { fetch, clock, random: () => 1, ...options });
  return { clock, requests, client };
}

async function failure(result: Promise<unknown>): Promise<CallError> {
  const error = await result;
  assert(error instanceof CallError, String(error));
  return error;
}

Deno.test("a call sends its message, its headers and the timeout", async () => {
  let token = 0;
  const { clock, client, requests } = start([unavailable, json({ text: "b" })], {
    headers: () => Promise.resolve({ authorization: `Bearer ${++token}` }),
  });
  assert.deepEqual(await clock.run(client.call(read, { text: "a" }, { headers: { "x-extra": "1" } })), { text: "b" });
  const [first, second] = requests;
  assert.equal(first?.url, "http://gateway/t.v1.Service/Read");
  assert.equal(first?.init.method, "POST");
  assert.deepEqual(Object.fromEntries(first!.headers), {
    authorization: "Bearer 1", "connect-protocol-version": "1", "connect-timeout-ms": "30000",
    "content-type": "application/json", "x-extra": "1",
  });
  assert.deepEqual(first?.message, { text: "a" });
  // Credentials are requested again, and the time of the first attempt is gone.
  assert.equal(second?.headers.get("authorization"), "Bearer 2");
  assert.equal(second?.headers.get("connect-timeout-ms"), "29800");
  assert.equal(clock.timerCount, 0);
});

Deno.test("an error has its code, reason, metadata, violations and delay", async () => {
  const body = {
    code: "invalid_argument", message: "bad",
    details: [
      { type: "google.rpc.ErrorInfo", debug: { reason: "FIELD_INVALID", metadata: { a: "b" } } },
      { type: "google.rpc.BadRequest", debug: { fieldViolations: [{ field: "title", description: "is empty" }] } },
      { type: "google.rpc.RetryInfo", debug: { retryDelay: "1.250s" } },
    ],
  };
  const { clock, client } = start([json(body, 400)]);
  const error = await failure(clock.run(client.call(write, {})));
  assert.equal(error.code, "INVALID_ARGUMENT");
  assert.equal(error.message, "bad");
  assert.equal(error.reason, "FIELD_INVALID");
  assert.deepEqual(error.metadata, { a: "b" });
  assert.deepEqual(error.fieldViolations, [{ field: "title", description: "is empty", reason: "" }]);
  assert.equal(error.retryAfterMs, 1250);
});

const answers: [string, Handler, string, string, number?][] = [
  ["the protocol's spelling", json({ code: "canceled", message: "" }, 499), "CANCELLED", ""],
  ["REST's form", json({
    error: { code: 403, status: "PERMISSION_DENIED", message: "no", details: [{ "@type": "type.googleapis.com/google.rpc.ErrorInfo", reason: "HOST_NOT_ALLOWED" }] },
  }, 403), "PERMISSION_DENIED", "HOST_NOT_ALLOWED"],
  ["a proxy's page", json("<html>", 502), "UNAVAILABLE", ""],
  ["a proxy's delay", json("<html>", 503, { "retry-after": "7" }), "UNAVAILABLE", "", 7000],
  ["an unknown status", json("", 418), "UNKNOWN", ""],
  ["JSON of another shape", json([1], 500), "UNKNOWN", ""],
  ["JSON with details of another shape", json({ code: "aborted", details: 7 }, 409), "ABORTED", ""],
  ["a page with the status 200", json("<html>", 200, { "content-type": "text/html" }), "UNAVAILABLE", "RESPONSE_INVALID"],
  ["a message that is not JSON", json("{"), "INTERNAL", "RESPONSE_INVALID"],
  ["a failed connection", disconnect, "UNAVAILABLE", "CONNECTION_FAILED"],
];
for (const [name, handler, code, reason, retryAfterMs] of answers) {
  Deno.test(`errors: ${name}`, async () => {
    const { clock, client } = start([handler]);
    const error = await failure(clock.run(client.call(write, {})));
    assert.deepEqual([error.code, error.reason, error.retryAfterMs], [code, reason, retryAfterMs]);
  });
}

for (const method of [read, put]) {
  Deno.test(`${method.idempotency} methods are repeated with growing delays`, async () => {
    const { clock, client, requests } = start([unavailable, disconnect, unavailable, json({ text: "late" })]);
    assert.deepEqual(await clock.run(client.call(method, {})), { text: "late" });
    assert.equal(requests.length, 4);
    assert.equal(clock.time, 200 + 400 + 800);
  });
}

Deno.test("delays vary by half", async () => {
  const { clock, client } = start([unavailable, json({})], { random: () => 0 });
  await clock.run(client.call(read, {}));
  assert.equal(clock.time, 100);
});

Deno.test("the last of the attempts fails the call", async () => {
  const { clock, client, requests } = start([unavailable, unavailable], { attemptsMax: 2 });
  assert.equal((await failure(clock.run(client.call(read, {})))).reason, "GONE");
  assert.equal(requests.length, 2);
});

Deno.test("other methods and permanent errors are not repeated", async () => {
  const asked = json(connectError("resource_exhausted", "RATE_EXCEEDED", "1s"), 429);
  for (const handler of [unavailable, disconnect, asked]) {
    const { clock, client, requests } = start([handler]);
    await failure(clock.run(client.call(write, {})));
    assert.equal(requests.length, 1);
  }
  const { clock, client, requests } = start([json(connectError("not_found", "MISSING"), 404)]);
  assert.equal((await failure(clock.run(client.call(read, {})))).code, "NOT_FOUND");
  assert.equal(requests.length, 1);
});

Deno.test("the server's delay is honoured", async () => {
  for (const [handler, delayMs] of [
    [json(connectError("resource_exhausted", "RATE_EXCEEDED", "1.500s"), 429), 1500],
    [json(connectError("unavailable", "GONE", "0.010s"), 503), 200],
    [json("", 503, { "retry-after": "3" }), 3000],
  ] as [Handler, number][]) {
    const { clock, client } = start([handler, json({})]);
    assert.deepEqual(await clock.run(client.call(read, {})), {});
    assert.equal(clock.time, delayMs);
  }
});

Deno.test("a delay beyond the deadline is not waited for", async () => {
  const { clock, client, requests } = start([json(connectError("unavailable", "GONE", "60s"), 503)]);
  assert.equal((await failure(clock.run(client.call(read, {})))).reason, "GONE");
  assert.equal(clock.time, 0);
  assert.equal(requests.length, 1);
});

Deno.test("the deadline ends a call, with its retries", async () => {
  const { clock, client, requests } = start([unavailable, hang]);
  const error = await failure(clock.run(client.call(read, {}, { timeoutMs: 1000 })));
  assert.deepEqual([error.code, error.reason], ["DEADLINE_EXCEEDED", "DEADLINE_EXCEEDED"]);
  assert.equal(clock.time, 1000);
  assert.equal(requests.length, 2);
  assert(requests[1]?.init.signal?.aborted);
});

Deno.test("an unlimited call sends no timeout", async () => {
  const { clock, client, requests } = start([json({})]);
  await clock.run(client.call(read, {}, { timeoutMs: Infinity }));
  assert.equal(requests[0]?.headers.get("connect-timeout-ms"), null);
  assert.equal(clock.timerCount, 0);
});

Deno.test("an aborted call ends at once, whatever it waits for", async () => {
  for (const [handlers, timeMs, requestCount] of [[[hang], 0, 1], [[unavailable], 50, 1], [[hang], -1, 0]] as const) {
    const { clock, client, requests } = start([...handlers]);
    const abort = new AbortController();
    if (timeMs < 0) abort.abort("why");
    else clock.setTimeout(() => abort.abort("why"), timeMs);
    const error = await failure(clock.run(client.call(read, {}, { signal: abort.signal })));
    assert.deepEqual([error.code, error.reason, error.cause], ["CANCELLED", "CALL_ABORTED", "why"]);
    assert.equal(clock.time, Math.max(0, timeMs));
    assert.equal(requests.length, requestCount);
    assert.equal(clock.timerCount, 0);
  }
});

Deno.test("an error of the header function is the caller's own", async () => {
  const { clock, client, requests } = start([], { headers: () => { throw new RangeError("no key"); } });
  assert(await clock.run(client.call(read, {})) instanceof RangeError);
  assert.equal(requests.length, 0);
});

Deno.test("a timeout beyond the range of timers does not end the call at once", async () => {
  const { clock, client, requests } = start([hang]);
  assert.equal((await failure(clock.run(client.call(read, {}, { timeoutMs: 1e12 })))).code, "DEADLINE_EXCEEDED");
  assert.equal(clock.time, 2 ** 31 - 1);
  assert.equal(requests[0]?.headers.get("connect-timeout-ms"), null);
});

Deno.test("a call leaves no listener on its signal", async () => {
  const { signal } = new AbortController();
  let listeners = 0;
  const [add, remove] = [signal.addEventListener, signal.removeEventListener];
  signal.addEventListener = (...parameters: Parameters<typeof add>) => (listeners++, add.apply(signal, parameters));
  signal.removeEventListener = (...parameters: Parameters<typeof remove>) => (listeners--, remove.apply(signal, parameters));
  const { clock, client, requests } = start([unavailable, json({})]);
  await clock.run(client.call(read, {}, { signal }));
  assert.equal(requests.length, 2);
  assert.equal(listeners, 0);
});
