// Many watches over one stream. Each resumes after its last message, however often the stream is replaced.
// A gap is an event.

/** @import { Watch, WatchManyResponse } from "../sdk/generated/campanile.gateway.v1.js" */

/**
 * @typedef {{ kind: "message", json: string, token: string } | { kind: "gap" }
 *   | { kind: "failed", code: string, reason: string, message: string }} WatchedEvent
 */
/**
 * @typedef {object} ConnectionState
 * @property {"connecting" | "live" | "waiting" | "signedOut"} state
 * @property {number} lastEventMs The time of the last event; 0 if there was none.
 * @property {number} retryMs The time of the next attempt, while it waits.
 */
/** @typedef {{ method: string, request: string, token: string, sink: (event: WatchedEvent) => void, hasGap: boolean, failures: number }} Watched */

const codes = [
  "OK", "CANCELLED", "UNKNOWN", "INVALID_ARGUMENT", "DEADLINE_EXCEEDED", "NOT_FOUND", "ALREADY_EXISTS", "PERMISSION_DENIED",
  "RESOURCE_EXHAUSTED", "FAILED_PRECONDITION", "ABORTED", "OUT_OF_RANGE", "UNIMPLEMENTED", "INTERNAL", "UNAVAILABLE", "DATA_LOSS",
  "UNAUTHENTICATED",
];
// Of the states of many watches, those that a later attempt may change.
const transient = new Set(["UNAVAILABLE", "RESOURCE_EXHAUSTED", "DEADLINE_EXCEEDED", "CANCELLED", "INTERNAL"]);
const watchesMax = 64;

export class Watcher {
  /** @type {Map<string, Watched>} */
  #watches = new Map();
  /** @type {ConnectionState} */
  state = { state: "connecting", lastEventMs: 0, retryMs: 0 };
  #streamId = "";
  #isRunning = false;
  /** @type {Map<string, "add" | "remove">} */
  #changes = new Map();
  #isSending = false;
  #abort = new AbortController();
  /** @type {() => void} */
  #wake = () => {};

  /**
   * @param {object} options
   * @param {(watches: Watch[], signal: AbortSignal) => AsyncIterable<WatchManyResponse>} options.open
   * @param {(streamId: string, add: Watch[], removeIds: string[]) => Promise<unknown>} options.update
   * @param {(state: ConnectionState) => void} options.onState
   * @param {() => number} [options.now]
   * @param {(run: () => void, delayMs: number) => unknown} [options.setTimeout]
   * @param {() => number} [options.random]
   * @param {number} [options.renewMs] The age at which a stream is replaced, because a broken network may not be noticeable.
   */
  constructor(options) {
    const { open, update, onState, now = Date.now, random = Math.random, renewMs = 300_000 } = options;
    const { setTimeout = globalThis.setTimeout.bind(globalThis) } = options;
    this.options = { open, update, onState, now, random, renewMs, setTimeout };
  }

  /** @param {string} id @param {{ method: string, request: string, token: string }} watch @param {(event: WatchedEvent) => void} sink */
  add(id, watch, sink) {
    this.#watches.set(id, { ...watch, sink, hasGap: false, failures: 0 });
    this.#change(id, "add");
  }

  /** @param {string} id */
  remove(id) {
    if (this.#watches.delete(id)) this.#change(id, "remove");
  }

  get size() { return this.#watches.size; }

  /** Connects at once: after a sign-in, or when the network is back. */
  restart() {
    this.#wake();
    this.#abort.abort();
    if (!this.#isRunning) this.run();
  }

  /** Ends the stream. */
  stop() {
    this.#isStopped = true;
    this.#wake();
    this.#abort.abort();
  }
  #isStopped = false;

  async run() {
    this.#isStopped = false;
    if (this.#isRunning) return;
    this.#isRunning = true;
    if (this.state.state === "signedOut") this.#set({ state: "connecting" });
    for (let failures = 0; !this.#isStopped;) {
      const abort = this.#abort = new AbortController();
      let isRenewal = false;
      const renewal = this.options.setTimeout(() => { isRenewal = true; abort.abort(); }, this.options.renewMs);
      let error = { code: "UNAVAILABLE", retryAfterMs: /** @type {number | undefined} */ (undefined) };
      try {
        this.#changes.clear();
        const first = [...this.#watches].slice(0, watchesMax).map(([id, watch]) => wire(id, watch));
        for (const [id] of [...this.#watches].slice(watchesMax)) this.#changes.set(id, "add");
        for await (const event of this.options.open(first, abort.signal)) {
          if (event.started) {
            this.#streamId = event.started.streamId ?? "";
            this.#set({ state: "live", retryMs: 0 });
            this.#send();
          }
          failures = 0;
          this.#receive(event);
        }
      } catch (thrown) {
        error = /** @type {typeof error} */ (thrown);
      }
      clearTimeout(/** @type {any} */ (renewal));
      this.#streamId = "";
      if (error.code === "UNAUTHENTICATED") {
        this.#set({ state: "signedOut", retryMs: 0 });
        break;
      }
      if (isRenewal || abort.signal.aborted) continue;
      const delayMs = Math.max(Math.min(30_000, 200 * 2 ** failures++) * (0.5 + this.options.random() / 2), error.retryAfterMs ?? 0);
      this.#set({ state: "waiting", retryMs: this.options.now() + delayMs });
      await this.#pause(delayMs);
    }
    this.#isRunning = false;
  }

  /** @param {WatchManyResponse} event */
  #receive(event) {
    const id = event.watchId ?? "", watch = this.#watches.get(id);
    this.state.lastEventMs = this.options.now();
    if (!watch) return;
    if (event.message) {
      const { messageJson = "", resumeToken = "" } = event.message;
      if (watch.hasGap) watch.sink({ kind: "gap" });
      watch.hasGap = false;
      watch.failures = 0;
      if (resumeToken) watch.token = resumeToken;
      watch.sink({ kind: "message", json: messageJson, token: resumeToken });
    } else if (event.failed?.reason === "TOKEN_TOO_OLD" && watch.token) {
      watch.token = "";
      watch.hasGap = true;
      this.#change(id, "add");
    } else if (event.ended || event.failed) {
      const code = event.failed ? codes[event.failed.code ?? 2] ?? "UNKNOWN" : "UNAVAILABLE";
      if (transient.has(code)) this.#again(id, watch, parseFloat(event.failed?.retryDelay ?? "0") * 1000);
      else {
        this.#watches.delete(id);
        watch.sink({ kind: "failed", code, reason: event.failed?.reason ?? "", message: event.failed?.message ?? "" });
      }
    }
  }

  /** @param {string} id @param {Watched} watch @param {number} requestedMs */
  #again(id, watch, requestedMs) {
    const delayMs = Math.max(Math.min(30_000, 500 * 2 ** watch.failures++) * (0.5 + this.options.random() / 2), requestedMs || 0);
    this.options.setTimeout(() => { if (this.#watches.get(id) === watch) this.#change(id, "add"); }, delayMs);
  }

  /** @param {string} id @param {"add" | "remove"} change */
  #change(id, change) {
    this.#changes.set(id, change);
    if (this.#streamId) this.#send();
  }

  /** Sends the changes of this turn in one call; those that come during the call follow in the next one. */
  async #send() {
    if (this.#isSending) return;
    this.#isSending = true;
    await Promise.resolve();
    while (this.#changes.size > 0 && this.#streamId) {
      const streamId = this.#streamId, changes = [...this.#changes].slice(0, watchesMax);
      for (const [id] of changes) this.#changes.delete(id);
      const add = changes.flatMap(([id, change]) => {
        const watch = this.#watches.get(id);
        return change === "add" && watch ? [wire(id, watch)] : [];
      });
      try {
        // Removing first makes a repeated call, and a watch that ended by itself, harmless.
        await this.options.update(streamId, add, changes.map(([id]) => id));
      } catch (error) {
        const { reason } = /** @type {{ reason?: string }} */ (error);
        if (reason === "WATCHES_EXHAUSTED") {
          for (const { id = "" } of add) {
            this.#watches.get(id)?.sink({ kind: "failed", code: "RESOURCE_EXHAUSTED", reason, message: "too many watches" });
            this.#watches.delete(id);
          }
          // All changes were refused: the removals are repeated by themselves, unless a newer change replaces them.
          if (add.length > 0) for (const [id] of changes) if (!this.#changes.has(id)) this.#changes.set(id, "remove");
        } else if (streamId === this.#streamId) {
          // A new stream carries all watches.
          this.#streamId = "";
          this.#abort.abort();
          await this.#pause(reason === "WATCH_STREAM_NOT_FOUND" ? 0 : 1000);
        }
      }
    }
    this.#isSending = false;
  }

  /** @param {Partial<ConnectionState>} change */
  #set(change) {
    this.state = { ...this.state, ...change };
    this.options.onState(this.state);
  }

  /** @param {number} delayMs @returns {Promise<void>} */
  #pause(delayMs) {
    return new Promise((resolve) => {
      this.#wake = resolve;
      this.options.setTimeout(resolve, delayMs);
    });
  }
}

/** @param {string} id @param {Watched} watch @returns {Watch} */
const wire = (id, { method, request, token }) =>
  ({ id, method, ...(request && { requestJson: request }), ...(token && { resumeToken: token }) });
