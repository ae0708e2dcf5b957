// The users of screens. Each is read once, from the newest push of the screen.

import { PushDeliveryService } from "../../../sdk/generated/campanile.activities.v1.js";
import { signal } from "../../view.js";

/** @import { Client } from "../../../sdk/campanile.js" */
/** @import { SimulatedScreen } from "../../../sdk/generated/campanile.simulator.v1.js" */

const concurrentMax = 4;

export class ActivitiesOwners {
  names = signal(/** @type {ReadonlyMap<string, string>} */ (new Map()));
  /** @type {Map<string, Promise<void>>} */
  #asked = new Map();
  /** @type {(() => void)[]} */
  #waiting = [];
  #running = 0;
  #client;
  #isAllowed;

  /** @param {Client} client @param {boolean} isAllowed Whether the caller may read pushes. */
  constructor(client, isAllowed) {
    this.#client = client;
    this.#isAllowed = isAllowed;
  }

  /** Finds the user of a screen. Never fails. @param {SimulatedScreen} screen @returns {Promise<void>} */
  find(screen) {
    const id = screen.id ?? "", apnsId = screen.state?.apnsId ?? screen.lastDiscard?.apnsId;
    if (!this.#isAllowed || !apnsId || screen.kind === "SCREEN_KIND_CHANNEL") return Promise.resolve();
    const asked = this.#asked.get(id) ?? this.#ask(id, apnsId);
    this.#asked.set(id, asked);
    return asked;
  }

  /** @param {string} id @param {string} apnsId */
  async #ask(id, apnsId) {
    if (this.#running >= concurrentMax) await new Promise((resolve) => this.#waiting.push(() => resolve(undefined)));
    this.#running++;
    try {
      const { push } = await this.#client.call(PushDeliveryService.getPush, { apnsId });
      if (push?.userId) this.names.value = new Map(this.names.value).set(id, push.userId);
    } catch {
      // A push of another sender, or one that is no longer in the log: the next one may be known.
      this.#asked.delete(id);
    } finally {
      this.#running--;
      this.#waiting.shift()?.();
    }
  }
}
