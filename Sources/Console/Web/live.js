// The tab's end of the shared stream: watches, and the state of the connection.

import { signal } from "./view.js";

/** @import { WatchFunction } from "./types.d.ts" */
/** @import { ConnectionState } from "./watcher.js" */
/** @import { ToHub, ToTab } from "./hub.js" */

/**
 * @param {{ api: string, headers: Record<string, string> }} options
 */
export function connect({ api, headers }) {
  const tab = crypto.randomUUID();
  const state = signal(/** @type {ConnectionState & { tabs: number }} */ ({ state: "connecting", lastEventMs: 0, retryMs: 0, tabs: 1 }));
  /** @typedef {{ method: string, request: string, token: string, handlers: import("./types.d.ts").WatchHandlers<any> }} TabWatch */
  /** @type {Map<string, TabWatch>} */
  const watches = new Map();
  /** @type {(message: ToHub) => void} */
  let post = () => {};
  let next = 1, isRestarting = false;

  /** @param {ToTab} message */
  const receive = (message) => {
    if (message.tab !== tab) return;
    if (message.type === "state") {
      // A state from before the hub learnt of a new session is out of date.
      if (isRestarting && message.state.state === "signedOut") return;
      isRestarting = false;
      state.value = { ...message.state, tabs: message.tabs };
      return;
    }
    for (const [id, event] of message.events) {
      const watch = watches.get(id);
      if (!watch) continue;
      if (event.kind === "gap") watch.handlers.gap?.();
      else if (event.kind === "failed") {
        watches.delete(id);
        watch.handlers.failed?.(event);
      } else {
        if (event.token) watch.token = event.token;
        watch.handlers.message(JSON.parse(event.json));
      }
    }
  };
  /** Greets a hub, which may be a new one, with all watches. */
  const greet = () => {
    post({ type: "hello", tab });
    for (const [id, { method, request, token }] of watches) post({ type: "add", tab, id, method, request, token });
  };

  /** The lock is held as long as the tab exists. @param {() => void} then */
  const holdLock = (then) => void navigator.locks.request(`campanile ${tab}`, () => {
    then();
    return new Promise(() => {});
  });
  const url = new URL("worker.js", import.meta.url);
  url.search = String(new URLSearchParams({ with: JSON.stringify({ api, headers }) }));
  if ("SharedWorker" in globalThis) {
    const types = /** @type {any} */ (globalThis).trustedTypes;
    const trusted = types?.createPolicy("console-worker", {
      /** @param {string} given */
      createScriptURL: (given) => {
        if (given !== url.href) throw new TypeError("only the console's worker may be started");
        return given;
      },
    }).createScriptURL(url.href) ?? url.href;
    holdLock(() => {
      const worker = new SharedWorker(trusted, { type: "module", name: "campanile" });
      worker.port.onmessage = ({ data }) => receive(data);
      post = (message) => worker.port.postMessage(message);
      greet();
    });
  } else {
    const channel = new BroadcastChannel("campanile");
    channel.onmessage = ({ data }) => {
      if (data.type === "lead") greet();
      else if (data.type === "state" || data.type === "events") receive(data);
    };
    holdLock(() => {
      post = (message) => channel.postMessage(message);
      greet();
    });
    // The tab that gets this lock leads until it ends.
    void navigator.locks.request("campanile leader", async () => {
      const { Hub } = await import("./hub.js");
      const hub = new Hub(api, headers), inbox = new BroadcastChannel("campanile");
      inbox.onmessage = ({ data }) => {
        if (data.type !== "lead" && data.type !== "state" && data.type !== "events") hub.receive(data, (message) => inbox.postMessage(message));
      };
      inbox.postMessage({ type: "lead" });
      return new Promise(() => {});
    });
  }

  /** @type {WatchFunction} */
  const watch = (method, request, handlers) => {
    // The hub replaces the token as the watch goes on, so it is not in the request's text.
    const { resumeToken: token = "", ...rest } = /** @type {{ resumeToken?: string }} */ (request);
    const id = String(next++), entry = { method: method.path, request: JSON.stringify(rest), token, handlers };
    watches.set(id, entry);
    post({ type: "add", tab, id, method: entry.method, request: entry.request, token });
    return () => {
      if (watches.delete(id)) post({ type: "remove", tab, id });
    };
  };
  /** Connects at once, such as with a new session. */
  const restart = () => {
    isRestarting = true;
    state.value = { ...state.value, state: "connecting" };
    post({ type: "restart", tab });
  };
  return { state, watch, restart };
}
