/**
 * Calls the methods of a Campanile gateway from browsers and other hosts with `fetch`, by the Connect protocol.
 *
 * The method tables and message types are in `generated/`, a module per proto package.
 */

/** A 64-bit signed integer in decimal, as ProtoJSON writes it: it does not fit into a number. */
export type Int64 = string;
/** A 64-bit unsigned integer in decimal. */
export type UInt64 = string;
/** Bytes in base64. */
export type Base64 = string;
/** A time in RFC 3339, such as `2026-11-24T08:30:00.250Z`. */
export type Timestamp = string;
/** A duration in seconds, such as `1.500s`. */
export type Duration = string;
/** Comma-separated paths of fields, such as `title,body`. */
export type FieldMask = string;
/** A floating-point number. JSON has no numbers for the three names. */
export type Double = number | "NaN" | "Infinity" | "-Infinity";
/** Any JSON value. */
export type JsonValue = null | boolean | number | string | JsonValue[] | JsonObject;
/** A JSON object. */
export type JsonObject = { [name: string]: JsonValue };
/** A message of any type, which `@type` names. */
export type AnyMessage = JsonObject & { "@type": string };

/** The effect of repeating a call, as the method's proto declares it. Only `unknown` methods are never repeated. */
export type Idempotency = "unknown" | "idempotent" | "noSideEffects";

declare const types: unique symbol;

/** A method of a table in `generated/`. */
export interface Method<Request, Response> {
  /** The path below the gateway's URL: `PACKAGE.SERVICE/METHOD`. */
  readonly path: string;
  readonly idempotency: Idempotency;
  /** Never set: it carries the message types to the compiler. */
  readonly [types]?: [Request, Response];
}

/** A method with one request and one response. */
export interface UnaryMethod<Request, Response> extends Method<Request, Response> {
  readonly kind: "unary";
}

/** A method that streams its responses. */
export interface ServerStreamingMethod<Request, Response> extends Method<Request, Response> {
  readonly kind: "serverStreaming";
}

/** A method that streams its responses with resume tokens. */
export interface ResumableMethod<Request, Response> extends ServerStreamingMethod<Request, Response> {
  /** The member that contains the token, of the request and of each response. */
  readonly token: keyof Request & keyof Response & string;
}

/** A method that streams its requests. Browsers cannot, so the client has no function for it. */
export interface ClientStreamingMethod<Request, Response> extends Method<Request, Response> {
  readonly kind: "clientStreaming";
}

/** A method that streams both ways. Browsers cannot, so the client has no function for it. */
export interface BidirectionalMethod<Request, Response> extends Method<Request, Response> {
  readonly kind: "bidirectional";
}

/** The status of a failed call: gRPC's codes by their names. */
export type Code =
  | "CANCELLED" | "UNKNOWN" | "INVALID_ARGUMENT" | "DEADLINE_EXCEEDED" | "NOT_FOUND" | "ALREADY_EXISTS"
  | "PERMISSION_DENIED" | "RESOURCE_EXHAUSTED" | "FAILED_PRECONDITION" | "ABORTED" | "OUT_OF_RANGE" | "UNIMPLEMENTED"
  | "INTERNAL" | "UNAVAILABLE" | "DATA_LOSS" | "UNAUTHENTICATED";

/** An invalid field of a request. */
export interface FieldViolation {
  /** The path of the field, such as `notification.title`. */
  readonly field: string;
  readonly description: string;
  /** A stable name of the fault; empty if it has none. */
  readonly reason: string;
}

/** The optional properties of a `CallError`. */
export interface CallErrorDetails {
  reason?: string | undefined;
  metadata?: Readonly<Record<string, string>> | undefined;
  fieldViolations?: readonly FieldViolation[] | undefined;
  retryAfterMs?: number | undefined;
  cause?: unknown;
}

/**
 * A failed call.
 *
 * The client itself uses these reasons: `CALL_ABORTED` (the signal was aborted; `cause` is its reason),
 * `DEADLINE_EXCEEDED`, `CONNECTION_FAILED`, `STREAM_TRUNCATED` and `RESPONSE_INVALID`.
 */
export class CallError extends Error {
  constructor(code: Code, message: string, details?: CallErrorDetails);
  readonly code: Code;
  /** A stable name in UPPER_SNAKE, such as `ETAG_MISMATCH`; empty if a proxy has responded. */
  readonly reason: string;
  /** Facts about the reason. */
  readonly metadata: Readonly<Record<string, string>>;
  /** The invalid fields of the request. */
  readonly fieldViolations: readonly FieldViolation[];
  /** The delay that the server requests before another attempt. */
  readonly retryAfterMs: number | undefined;
}

/** The source of time. */
export interface Clock {
  /** Returns milliseconds since any fixed point; never decreases. */
  now(): number;
  setTimeout(run: () => void, delayMs: number): unknown;
  clearTimeout(timer: unknown): void;
}

/** Configuration of a client. */
export interface ClientOptions {
  /** Returns the headers of an attempt, such as `authorization`. Called for each one, so that credentials may change. */
  headers?: (() => HeadersInit | Promise<HeadersInit>) | undefined;
  /** Default timeout of unary calls, and timeout until the head of a stream (default: 30000). */
  timeoutMs?: number | undefined;
  /** Maximum number of attempts of a unary call (default: 4). */
  attemptsMax?: number | undefined;
  /** Replaces `fetch`. */
  fetch?: ((url: string, init: RequestInit) => Promise<Response>) | undefined;
  /** Replaces the clock and timers. */
  clock?: Clock | undefined;
  /** Replaces `Math.random`, which varies delays. */
  random?: (() => number) | undefined;
}

/** Options of a call. */
export interface CallOptions {
  /** Ends the call with CANCELLED when it is aborted. */
  signal?: AbortSignal | undefined;
  /** Additional headers, such as `idempotency-key`. */
  headers?: HeadersInit | undefined;
  /** Timeout of the whole call with its retries; `Infinity` for none. The server learns the remaining time. */
  timeoutMs?: number | undefined;
}

/** The state of a watch, for display. */
export type WatchState =
  /** The first message of a connection has arrived. */
  | { readonly state: "open" }
  /** The connection was lost. The next attempt follows after the delay. */
  | { readonly state: "waiting"; readonly delayMs: number; readonly error: CallError };

/** Options of a watch. */
export interface WatchOptions {
  /** Ends the watch with CANCELLED when it is aborted, also while it waits for a message. */
  signal?: AbortSignal | undefined;
  /** Additional headers. */
  headers?: HeadersInit | undefined;
  /** Receives every change of the state. */
  onState?: ((state: WatchState) => void) | undefined;
  /**
   * Age at which a connection is replaced (default: 300000). A broken network may not be noticeable otherwise. No change
   * is lost, because the next connection resumes.
   */
  renewMs?: number | undefined;
}

/** Options of a watch whose method has no resume token. */
export interface AdvancingWatchOptions<Request, Response> extends WatchOptions {
  /** Returns the members of the request with which to continue after a message. */
  advance: (message: Response) => Partial<Request>;
}

/** An event of a watch. */
export type WatchEvent<Response> =
  | {
    readonly kind: "message";
    readonly message: Response;
    /** The token to resume after this message in another watch; absent for methods without tokens. */
    readonly token: string | undefined;
  }
  /** Changes were missed: the server no longer has those after the token. Read everything again. */
  | { readonly kind: "gap"; readonly error: CallError };

/** A client of a gateway. It keeps no connection and needs no end. */
export class Client {
  /**
   * @param baseUrl The gateway's URL. A page that the gateway serves, or whose origin forwards to it, passes `""` or a
   *   path.
   */
  constructor(baseUrl: string, options?: ClientOptions);

  /**
   * Makes a unary call.
   *
   * An idempotent method is called again after UNAVAILABLE, a failed connection, or an error with a requested delay. The
   * delay doubles with each attempt and is at least the requested one. A delay beyond the deadline ends the call.
   *
   * @throws {CallError}
   */
  call<Request, Response>(
    method: UnaryMethod<Request, Response>, request: NoInfer<Request>, options?: CallOptions,
  ): Promise<Response>;

  /**
   * Makes a call with a stream of responses, once. The stream's end is the end of the iteration.
   *
   * Messages are read at the pace of the iteration. Leaving the loop cancels the call; to end a waiting one, abort
   * `signal`.
   *
   * @throws {CallError} Each iteration may throw.
   */
  stream<Request, Response>(
    method: ServerStreamingMethod<Request, Response>, request: NoInfer<Request>, options?: CallOptions,
  ): AsyncGenerator<Response, void, undefined>;

  /**
   * Follows a stream of changes over any number of connections, without loss or repetition.
   *
   * A lost connection is replaced after a delay, and continues after the last message that the loop has received. The
   * delay grows from 200 ms to 30 s and is at least the one that the server requests. Other errors, such as
   * UNAUTHENTICATED, end the watch.
   *
   * If the token is too old, the watch starts again without one and yields a gap. The server has started to send changes
   * by then, so what the loop reads upon a gap is complete with the messages that follow.
   *
   * @throws {CallError}
   */
  watch<Request, Response>(
    method: ResumableMethod<Request, Response>, request: NoInfer<Request>, options?: WatchOptions,
  ): AsyncGenerator<WatchEvent<Response>, never, undefined>;
  watch<Request, Response>(
    method: ServerStreamingMethod<Request, Response>, request: NoInfer<Request>,
    options: AdvancingWatchOptions<NoInfer<Request>, NoInfer<Response>>,
  ): AsyncGenerator<WatchEvent<Response>, never, undefined>;
}

export {};
