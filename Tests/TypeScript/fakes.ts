// A clock, a server and streams under the control of a test.
import { type Clock } from "../../Clients/TypeScript/campanile.js";

export interface Received {
  url: string;
  init: RequestInit;
  headers: Headers;
  /** The request message. */
  message: unknown;
}

export type Handler = (request: Received) => Response | Promise<Response>;

/** A clock that stands still until nothing else can happen, and then moves to its next timer. */
export class FakeClock implements Clock {
  time = 0;
  #timers = new Map<number, { run: () => void; due: number }>();
  #count = 0;

  now(): number {
    return this.time;
  }

  setTimeout(run: () => void, delayMs: number): number {
    this.#timers.set(++this.#count, { run, due: this.time + delayMs });
    return this.#count;
  }

  clearTimeout(timer: unknown): void {
    this.#timers.delete(timer as number);
  }

  get timerCount(): number {
    return this.#timers.size;
  }

  /** Waits for the promise and fires timers meanwhile. Returns its value, or the error that it was rejected with. */
  async run<T>(promise: Promise<T>): Promise<T | Error> {
    let result: { value: T | Error } | undefined;
    promise.then((value) => result = { value }, (error) => result = { value: error });
    for (let idle = 0; !result && idle < 1000;) {
      await new Promise((resolve) => setTimeout(resolve, 0));
      if (result) break;
      const [next] = [...this.#timers].sort(([, a], [, b]) => a.due - b.due);
      if (!next) {
        idle++;
        continue;
      }
      this.#timers.delete(next[0]);
      this.time = Math.max(this.time, next[1].due);
      next[1].run();
    }
    if (!result) throw new Error("the promise is not settled and no timer is left");
    return result.value;
  }
}

/** Returns a `fetch` that passes each request to the next handler, and the requests so far. */
export function fakeFetch(...handlers: Handler[]) {
  const requests: Received[] = [];
  const fetch = async (url: string, init: RequestInit): Promise<Response> => {
    if (init.signal?.aborted) throw new DOMException("aborted", "AbortError");
    const body = init.body as string | Uint8Array;
    const text = typeof body === "string" ? body : new TextDecoder().decode(body.subarray(5));
    const request = { url, init, headers: new Headers(init.headers), message: JSON.parse(text) };
    requests.push(request);
    const handler = handlers[requests.length - 1];
    if (!handler) throw new Error(`unexpected request ${requests.length}`);
    return await handler(request);
  };
  return { fetch, requests };
}

export const json = (body: unknown, status = 200, headers: HeadersInit = {}): Handler => () =>
  new Response(typeof body === "string" ? body : JSON.stringify(body), {
    status,
    headers: { "content-type": "application/json", ...Object.fromEntries(new Headers(headers)) },
  });

/** An error in the form of the Connect protocol. */
export function connectError(code: string, reason: string, retryDelay?: string) {
  const details: unknown[] = [{ type: "google.rpc.ErrorInfo", value: "", debug: { reason, domain: "campanile", metadata: {} } }];
  if (retryDelay) details.push({ type: "google.rpc.RetryInfo", value: "", debug: { retryDelay } });
  return { code, message: `it is ${code}`, details };
}

/** A response that never arrives. */
export const hang: Handler = ({ init }) =>
  new Promise((_, reject) => init.signal?.addEventListener("abort", () => reject(new DOMException("aborted", "AbortError"))));

export const disconnect: Handler = () => Promise.reject(new TypeError("network error"));

export function envelope(message: unknown, flags = 0): Uint8Array {
  const bytes = new TextEncoder().encode(typeof message === "string" ? message : JSON.stringify(message));
  const framed = new Uint8Array(5 + bytes.length);
  framed[0] = flags;
  new DataView(framed.buffer).setUint32(1, bytes.length);
  framed.set(bytes, 5);
  return framed;
}

export const end = (error?: unknown): Uint8Array => envelope(error ? { error } : {}, 2);

export function joined(parts: Uint8Array[]): Uint8Array {
  return new Uint8Array(parts.flatMap((part) => [...part]));
}

/** A streamed response with these chunks, which then ends, breaks, or stays silent. */
export const stream = (chunks: Uint8Array[], then: "end" | "break" | "silence" = "end"): Handler => ({ init }) => {
  const left = [...chunks];
  const body = new ReadableStream<Uint8Array>({
    start(controller) {
      init.signal?.addEventListener("abort", () => {
        try { controller.error(new DOMException("aborted", "AbortError")); } catch { /* It has ended. */ }
      });
    },
    pull(controller) {
      const next = left.shift();
      if (next) controller.enqueue(next);
      else if (then === "end") controller.close();
      else if (then === "break") controller.error(new TypeError("connection reset"));
      else return new Promise(() => {});
      return;
    },
  }, { highWaterMark: 0 });
  return new Response(body as BodyInit, { headers: { "content-type": "application/connect+json" } });
};
