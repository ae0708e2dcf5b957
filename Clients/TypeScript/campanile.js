// @ts-self-types="./campanile.d.ts"
// The contracts of these declarations are in campanile.d.ts.

/** @import * as api from "./campanile.d.ts" */

const envelopeHeadBytes = 5;
const endFlag = 2;
// The largest message that a gateway can be configured to accept.
const messageBytesMax = 64 << 20;
// Longer delays would overflow a timer, which then fires at once.
const timerMsMax = 2 ** 31 - 1;
const defaultTimeoutMs = 30_000;
const defaultRenewMs = 300_000;

// The codes of responses that are not in the protocol's format, such as those of proxies.
/** @type {Record<number, api.Code>} */
const codes = {
  400: "INTERNAL", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "UNIMPLEMENTED", 408: "UNAVAILABLE",
  429: "UNAVAILABLE", 502: "UNAVAILABLE", 503: "UNAVAILABLE", 504: "UNAVAILABLE",
};

export class CallError extends Error {
  /**
   * @param {api.Code} code
   * @param {string} message
   * @param {api.CallErrorDetails} details
   */
  constructor(code, message, { reason = "", metadata = {}, fieldViolations = [], retryAfterMs, cause } = {}) {
    super(message, { cause });
    this.name = "CallError";
    this.code = code;
    this.reason = reason;
    this.metadata = metadata;
    this.fieldViolations = fieldViolations;
    this.retryAfterMs = retryAfterMs;
  }
}

/**
 * Converts the JSON of an error. The gateway's own refusals may have REST's form, `{"error":{"status":…}}`.
 *
 * @param {any} body
 * @param {number} status
 * @param {string | null} [retryAfter] The header `Retry-After`.
 */
function callError(body, status, retryAfter) {
  const error = body?.error ?? body;
  /** @param {string} type */
  const detail = (type) => {
    const found = [error?.details ?? []].flat().find((each) => (each?.type ?? each?.["@type"])?.endsWith(type));
    return found?.debug ?? found;
  };
  /** @type {string | undefined} */
  const name = error?.status ?? error?.code;
  // The protocol spells this code with one l.
  const code = name === "canceled" ? "CANCELLED" : typeof name === "string" ? name.toUpperCase() : codes[status];
  const info = detail("google.rpc.ErrorInfo");
  const delayS = parseFloat(detail("google.rpc.RetryInfo")?.retryDelay ?? retryAfter);
  return new CallError(
    /** @type {api.Code} */ (code ?? "UNKNOWN"), error?.message ?? `the server responded with the status ${status}`, {
      reason: info?.reason,
      metadata: info?.metadata,
      fieldViolations: detail("google.rpc.BadRequest")?.fieldViolations?.map(
        (/** @type {api.FieldViolation} */ { field, description, reason = "" }) => ({ field, description, reason })),
      retryAfterMs: delayS >= 0 ? delayS * 1000 : undefined,
    });
}

/** @param {unknown} [cause] */
const invalidResponse = (cause) =>
  new CallError("INTERNAL", "the server's response is not valid", { reason: "RESPONSE_INVALID", cause });

/**
 * Returns a delay with jitter that doubles with each failure.
 *
 * @param {number} failures
 * @param {number} random
 */
const backoffMs = (failures, random) => Math.min(30_000, 200 * 2 ** failures) * (0.5 + random / 2);

/** The time that a request may take: until its deadline, or until the caller's signal is aborted. */
class Scope {
  #controller = new AbortController();
  /** @type {CallError | undefined} */
  #end;

  /**
   * @param {api.Clock} clock
   * @param {AbortSignal | undefined} signal
   * @param {number} remainingMs
   * @param {CallError} late The error at the end of the time.
   */
  constructor(clock, signal, remainingMs, late) {
    const abort = () => {
      const details = { reason: "CALL_ABORTED", cause: signal?.reason };
      this.finish(new CallError("CANCELLED", "the call was aborted", details));
    };
    signal?.addEventListener("abort", abort);
    const timer = remainingMs < Infinity
      ? clock.setTimeout(() => this.finish(late), Math.min(Math.max(0, remainingMs), timerMsMax)) : undefined;
    this.close = () => {
      signal?.removeEventListener("abort", abort);
      clock.clearTimeout(timer);
      this.#controller.abort();
    };
    if (signal?.aborted) abort();
  }

  get signal() { return this.#controller.signal; }

  /** @param {CallError} error */
  finish(error) {
    this.#end ??= error;
    this.#controller.abort();
  }

  check() { if (this.#end) throw this.#end; }

  /**
   * Waits for a part of the response.
   *
   * @template T
   * @param {Promise<T>} promise
   */
  async wait(promise) {
    try {
      const value = await promise;
      this.check();
      return value;
    } catch (cause) {
      this.check();
      throw new CallError("UNAVAILABLE", "the connection failed", { reason: "CONNECTION_FAILED", cause });
    }
  }
}

/** Splits received bytes into envelopes: a byte of flags, the length in four bytes, and the message. */
class Envelopes {
  #joined = new Uint8Array();
  /** @type {Uint8Array[]} */
  #chunks = [];
  #sizeBytes = 0;

  /** @param {Uint8Array} chunk */
  push(chunk) {
    this.#chunks.push(chunk);
    this.#sizeBytes += chunk.length;
  }

  /** Removes the next envelope; returns undefined until it is complete. */
  next() {
    if (this.#sizeBytes < envelopeHeadBytes) return undefined;
    // Chunks are joined only when a head or a message is complete, however many they are.
    if (this.#joined.length < envelopeHeadBytes) this.#join();
    const head = new DataView(this.#joined.buffer, this.#joined.byteOffset);
    const end = envelopeHeadBytes + head.getUint32(1);
    if (end > messageBytesMax) throw invalidResponse();
    if (this.#sizeBytes < end) return undefined;
    if (this.#joined.length < end) this.#join();
    const message = this.#joined.subarray(envelopeHeadBytes, end);
    this.#joined = this.#joined.subarray(end);
    this.#sizeBytes -= end;
    return { flags: head.getUint8(0), message: parse(new TextDecoder().decode(message)) };
  }

  #join() {
    const joined = new Uint8Array(this.#sizeBytes);
    joined.set(this.#joined);
    let offset = this.#joined.length;
    for (const chunk of this.#chunks) {
      joined.set(chunk, offset);
      offset += chunk.length;
    }
    this.#joined = joined;
    this.#chunks = [];
  }
}

/** @param {string} text */
function parse(text) {
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw invalidResponse(cause);
  }
}

/** @param {string} text */
function envelope(text) {
  const message = new TextEncoder().encode(text);
  const bytes = new Uint8Array(envelopeHeadBytes + message.length);
  new DataView(bytes.buffer).setUint32(1, message.length);
  bytes.set(message, envelopeHeadBytes);
  return bytes;
}

const systemClock = {
  now: () => performance.now(),
  /**
   * @param {() => void} run
   * @param {number} delayMs
   */
  setTimeout: (run, delayMs) => setTimeout(run, delayMs),
  /** @param {any} timer */
  clearTimeout: (timer) => clearTimeout(timer),
};

export class Client {
  #baseUrl;
  #headers;
  #timeoutMs;
  #attemptsMax;
  #fetch;
  #clock;
  #random;

  /**
   * @param {string} baseUrl
   * @param {api.ClientOptions} options
   */
  constructor(baseUrl, options = {}) {
    this.#baseUrl = baseUrl.replace(/\/+$/, "");
    this.#headers = options.headers ?? (() => ({}));
    this.#timeoutMs = options.timeoutMs ?? defaultTimeoutMs;
    this.#attemptsMax = options.attemptsMax ?? 4;
    this.#fetch = options.fetch ?? globalThis.fetch.bind(globalThis);
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
  }

  /**
   * @template Request, Response
   * @param {api.UnaryMethod<Request, Response>} method
   * @param {Request} request
   * @param {api.CallOptions} options
   * @returns {Promise<Response>}
   */
  async call(method, request, options = {}) {
    const deadline = this.#clock.now() + (options.timeoutMs ?? this.#timeoutMs);
    for (let attempt = 1;; attempt++) {
      const scope = this.#scope(options.signal, deadline);
      try {
        const response = await this.#post(method, "application/json", JSON.stringify(request), scope, options, deadline);
        return parse(await scope.wait(response.text()));
      } catch (error) {
        const mayRepeat = error instanceof CallError && method.idempotency !== "unknown" &&
          (error.code === "UNAVAILABLE" || error.retryAfterMs !== undefined);
        if (!mayRepeat || attempt >= this.#attemptsMax) throw error;
        const delayMs = Math.max(backoffMs(attempt - 1, this.#random()), error.retryAfterMs ?? 0);
        if (this.#clock.now() + delayMs >= deadline) throw error;
        await this.#pause(delayMs, options.signal);
      } finally {
        scope.close();
      }
    }
  }

  /**
   * @template Request, Response
   * @param {api.ServerStreamingMethod<Request, Response>} method
   * @param {Request} request
   * @param {api.CallOptions} options
   * @returns {AsyncGenerator<Response, void, undefined>}
   */
  stream(method, request, options = {}) {
    const deadline = this.#clock.now() + (options.timeoutMs ?? Infinity);
    return this.#messages(method, request, () => this.#scope(options.signal, deadline), options, deadline);
  }

  /**
   * @template Request, Response
   * @param {api.ServerStreamingMethod<Request, Response> & { token?: string }} method
   * @param {Request} request
   * @param {api.WatchOptions & { advance?: (message: Response) => Partial<Request> }} options
   * @returns {AsyncGenerator<api.WatchEvent<Response>, never, undefined>}
   */
  async *watch(method, request, options = {}) {
    const { signal, onState, renewMs = defaultRenewMs } = options;
    const name = method.token ?? "";
    /** @type {any} */
    let next = { ...request };
    /** @type {CallError | undefined} */
    let gap;
    for (let failures = 0;; failures++) {
      const renewal = new CallError("UNAVAILABLE", "the connection is being replaced");
      const scope = () => new Scope(this.#clock, signal, renewMs, renewal);
      /** @type {unknown} */
      let error = new CallError("UNAVAILABLE", "the server has ended the stream");
      let isOpen = false;
      try {
        for await (const message of this.#messages(method, next, scope, options, Infinity)) {
          failures = 0;
          if (!isOpen) onState?.({ state: "open" });
          isOpen = true;
          // The first message confirms that the server sends all later changes.
          if (gap) yield { kind: "gap", error: gap };
          gap = undefined;
          /** @type {any} */
          const { [name]: token } = message;
          next = { ...next, ...(token && { [name]: token }), ...options.advance?.(message) };
          yield { kind: "message", message, token: next[name] };
        }
      } catch (thrown) {
        error = thrown;
      }
      if (error === renewal) {
        failures = -1;
      } else if (error instanceof CallError && error.reason === "TOKEN_TOO_OLD" && next[name]) {
        gap = error;
        next[name] = undefined;
      } else if (error instanceof CallError && (isTransient(error) || error.retryAfterMs !== undefined)) {
        const delayMs = Math.max(backoffMs(failures, this.#random()), error.retryAfterMs ?? 0);
        onState?.({ state: "waiting", delayMs, error });
        await this.#pause(delayMs, signal);
      } else {
        throw error;
      }
    }
  }

  /**
   * @template Request, Response
   * @param {api.ServerStreamingMethod<Request, Response>} method
   * @param {Request} request
   * @param {() => Scope} open
   * @param {{ headers?: HeadersInit | undefined }} options
   * @param {number} deadline
   * @returns {AsyncGenerator<Response, void, undefined>}
   */
  async *#messages(method, request, open, options, deadline) {
    const scope = open();
    const silent = new CallError("UNAVAILABLE", "the server does not respond", { reason: "CONNECTION_FAILED" });
    const timer = this.#clock.setTimeout(() => scope.finish(silent), this.#timeoutMs);
    try {
      const body = envelope(JSON.stringify(request));
      const response = await this.#post(method, "application/connect+json", body, scope, options, deadline);
      this.#clock.clearTimeout(timer);
      const envelopes = new Envelopes();
      const reader = response.body?.getReader();
      for (;;) {
        for (let found = envelopes.next(); found; found = envelopes.next()) {
          scope.check();
          if (found.flags === endFlag) {
            if (found.message.error) throw callError(found.message.error, response.status);
            return;
          }
          if (found.flags) throw invalidResponse();
          yield found.message;
        }
        const chunk = reader && await scope.wait(reader.read());
        if (!chunk?.value) {
          throw new CallError("UNAVAILABLE", "the stream has no end", { reason: "STREAM_TRUNCATED" });
        }
        envelopes.push(chunk.value);
      }
    } finally {
      this.#clock.clearTimeout(timer);
      // Aborting the request also cancels the reader.
      scope.close();
    }
  }

  /**
   * Sends a request and returns its successful response.
   *
   * @param {api.Method<any, any>} method
   * @param {string} type
   * @param {BodyInit} body
   * @param {Scope} scope
   * @param {{ headers?: HeadersInit | undefined }} options
   * @param {number} deadline
   */
  async #post(method, type, body, scope, options, deadline) {
    const headers = new Headers(await this.#headers());
    new Headers(options.headers).forEach((value, name) => headers.set(name, value));
    headers.set("content-type", type);
    headers.set("connect-protocol-version", "1");
    const remainingMs = Math.ceil(deadline - this.#clock.now());
    if (remainingMs < 1e10) headers.set("connect-timeout-ms", String(Math.max(0, remainingMs)));
    scope.check();
    const url = `${this.#baseUrl}/${method.path}`;
    const response = await scope.wait(this.#fetch(url, { method: "POST", headers, body, signal: scope.signal }));
    const isExpected = response.headers.get("content-type")?.replace(/;.*/, "").trim() === type;
    if (response.status === 200 && isExpected) return response;
    if (response.status === 200) {
      // A page comes from a proxy, or from a network that asks for a login.
      throw new CallError("UNAVAILABLE", "the response is not the gateway's", { reason: "RESPONSE_INVALID" });
    }
    const text = await scope.wait(response.text());
    let error;
    try { error = JSON.parse(text); } catch { /* The status is all there is. */ }
    throw callError(error, response.status, response.headers.get("retry-after"));
  }

  /**
   * @param {AbortSignal | undefined} signal
   * @param {number} deadline
   */
  #scope(signal, deadline) {
    const late = new CallError("DEADLINE_EXCEEDED", "the deadline has passed", { reason: "DEADLINE_EXCEEDED" });
    return new Scope(this.#clock, signal, deadline - this.#clock.now(), late);
  }

  /**
   * @param {number} delayMs
   * @param {AbortSignal | undefined} signal
   */
  async #pause(delayMs, signal) {
    const over = new CallError("UNAVAILABLE", "the pause is over");
    const scope = new Scope(this.#clock, signal, delayMs, over);
    try {
      await new Promise((resolve) => scope.signal.aborted ? resolve(0) : scope.signal.addEventListener("abort", resolve));
      scope.check();
    } catch (error) {
      if (error !== over) throw error;
    } finally {
      scope.close();
    }
  }
}

/**
 * Whether a watch may succeed at another time.
 *
 * @param {CallError} error
 */
const isTransient = ({ code }) => ["UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED"].includes(code);
