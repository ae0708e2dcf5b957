// The tabs that share a stream. Runs in the SharedWorker, or in the tab that leads where there is none.

import { Client } from "../sdk/campanile.js";
import { WatchService } from "../sdk/generated/campanile.gateway.v1.js";
import { Watcher } from "./watcher.js";

/** @import { ConnectionState, WatchedEvent } from "./watcher.js" */

/**
 * @typedef {{ type: "hello", tab: string } | { type: "restart", tab: string }
 *   | { type: "add", tab: string, id: string, method: string, request: string, token: string }
 *   | { type: "remove", tab: string, id: string }} ToHub
 */
/**
 * @typedef {{ type: "events", tab: string, events: [string, WatchedEvent][] }
 *   | { type: "state", tab: string, state: ConnectionState, tabs: number, now: number }} ToTab
 */

// Events of this time reach a tab in one message.
const batchMs = 16;

export class Hub {
  /** @type {Map<string, { post: (message: ToTab) => void, events: [string, WatchedEvent][], ids: Set<string> }>} */
  #tabs = new Map();
  #watcher;

  /** @param {string} api @param {Record<string, string>} headers */
  constructor(api, headers) {
    const client = new Client(api, { headers: () => headers });
    this.#watcher = new Watcher({
      open: (watches, signal) => client.stream(WatchService.watchMany, { watches }, { signal }),
      update: (streamId, add, removeIds) => client.call(WatchService.updateWatches, { streamId, add, removeIds }, { timeoutMs: 10_000 }),
      onState: () => this.#tell(),
    });
    // Tabs learn the time of the last event now and then, not with each event.
    setInterval(() => this.#tell(), 5000);
    globalThis.addEventListener?.("online", () => this.#watcher.restart());
  }

  /** @param {ToHub} message @param {(message: ToTab) => void} post */
  receive(message, post) {
    const { tab } = message;
    if (message.type === "hello") {
      if (!this.#tabs.has(tab)) this.#tabs.set(tab, { post, events: [], ids: new Set() });
      // A tab holds a lock of its name; whoever gets it next learns that the tab is gone.
      navigator.locks.request(`campanile ${tab}`, () => this.#drop(tab));
      this.#watcher.run();
      this.#tell();
    } else if (message.type === "add") {
      const to = this.#tabs.get(tab), key = `${tab} ${message.id}`;
      to?.ids.add(message.id);
      this.#watcher.add(key, message, (event) => {
        if (!to || to.events.push([message.id, event]) > 1) return;
        setTimeout(() => to.post({ type: "events", tab, events: to.events.splice(0) }), batchMs);
      });
    } else if (message.type === "remove") {
      this.#tabs.get(tab)?.ids.delete(message.id);
      this.#watcher.remove(`${tab} ${message.id}`);
    } else this.#watcher.restart();
  }

  /** @param {string} tab */
  #drop(tab) {
    for (const id of this.#tabs.get(tab)?.ids ?? []) this.#watcher.remove(`${tab} ${id}`);
    if (this.#tabs.delete(tab)) this.#tell();
    if (this.#tabs.size === 0) this.#watcher.stop();
  }

  #tell() {
    for (const [tab, { post }] of this.#tabs) {
      post({ type: "state", tab, state: this.#watcher.state, tabs: this.#tabs.size, now: Date.now() });
    }
  }
}
