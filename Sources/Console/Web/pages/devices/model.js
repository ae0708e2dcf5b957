// The data of the devices page: screens and their changes, the users of screens, faults, and the time.

import { ActivitiesOwners } from "./owners.js";
import { phonesOf } from "./wall.js";
import { SimulatorService } from "../../../sdk/generated/campanile.simulator.v1.js";
import { computed, onDispose, signal } from "../../view.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { Fault, SimulatedScreen } from "../../../sdk/generated/campanile.simulator.v1.js" */
/** @import { Phone } from "./wall.js" */

const screensMax = 1000;

/** @param {Context} context */
export function createModel({ client, caller, watch, fail }) {
  /** @type {Map<string, SimulatedScreen>} */
  let known = new Map();
  const screens = signal(/** @type {ReadonlyMap<string, SimulatedScreen>} */ (known)), isLoading = signal(true);
  const error = signal(/** @type {unknown} */ (undefined)), gapMs = signal(0), nowMs = signal(Date.now());
  const faults = signal(/** @type {readonly Fault[]} */ ([]));
  const owners = new ActivitiesOwners(client, caller.may("activities:operate"));
  const abort = new AbortController();
  let stop = () => {}, frame = 0, generation = 0;

  /** Shows all changes of a frame at once. */
  const publish = () => {
    frame ||= requestAnimationFrame(() => {
      frame = 0;
      screens.value = new Map(known);
    });
  };
  /** @param {SimulatedScreen} screen */
  const put = (screen) => {
    known.set(screen.id ?? "", screen);
    owners.find(screen);
  };

  /** Reads the screens and follows them. A newer reading replaces one that is under way. */
  async function load() {
    const current = ++generation;
    stop();
    isLoading.value = true;
    try {
      /** @type {typeof known} */
      const all = new Map();
      let pageToken = "", resumeToken = "";
      do {
        const page = await client.call(SimulatorService.listScreens, { pageSize: 200, pageToken }, { signal: abort.signal });
        for (const screen of page.screens ?? []) all.set(screen.id ?? "", screen);
        resumeToken ||= page.resumeToken ?? "";
        pageToken = page.nextPageToken ?? "";
      } while (pageToken && all.size < screensMax);
      if (current !== generation) return;
      known = all;
      // Phones are grouped by their users: these are known soon, or the wall is shown without them.
      const found = Promise.all(Array.from(all.values(), (screen) => owners.find(screen)));
      await Promise.race([found, new Promise((resolve) => setTimeout(resolve, 700))]);
      if (current !== generation) return;
      [error.value, screens.value] = [undefined, new Map(known)];
      follow(resumeToken);
    } catch (thrown) {
      if (current === generation) error.value = thrown;
    }
    if (current === generation) isLoading.value = false;
  }

  /** @param {string} resumeToken */
  function follow(resumeToken) {
    stop = watch(SimulatorService.watchScreens, { resumeToken }, {
      message({ screen, removedScreenId }) {
        if (screen) put(screen);
        else if (removedScreenId) known.delete(removedScreenId);
        else return;
        publish();
      },
      gap() {
        gapMs.value = Date.now();
        void load();
      },
      failed: (failure) => { error.value = failure; },
    });
  }

  async function loadFaults() {
    try {
      faults.value = (await client.call(SimulatorService.listFaults, {}, { signal: abort.signal })).faults ?? [];
    } catch {
      // The wall shows that the simulator is gone.
      if (!abort.signal.aborted) faults.value = [];
    }
  }

  /** Makes a change of the faults, and reads them again. @param {() => Promise<unknown>} change */
  async function changeFaults(change) {
    try {
      await change();
    } catch (thrown) {
      fail(thrown);
    }
    await loadFaults();
  }

  /** @type {readonly Phone[]} */
  let last = [];
  const phones = computed(() => {
    const before = new Map(last.map((phone) => [phone.id, phone]));
    // A phone that has not changed stays the same object, so that it is not drawn again.
    last = phonesOf(screens.value.values(), owners.names.value).map((phone) => {
      const old = before.get(phone.id);
      const isSame = old?.screens.length === phone.screens.length && old.screens.every((screen, index) => screen === phone.screens[index]);
      return isSame && old.name === phone.name && old.user === phone.user ? old : phone;
    });
    return last;
  });

  const second = setInterval(() => { if (!document.hidden) nowMs.value = Date.now(); }, 1000);
  // Faults end and are counted without an event.
  const slow = setInterval(() => { if (!document.hidden && faults.value.length > 0) void loadFaults(); }, 2000);
  onDispose(() => {
    generation++;
    abort.abort();
    stop();
    cancelAnimationFrame(frame);
    clearInterval(second);
    clearInterval(slow);
  });
  void load();
  void loadFaults();
  return { phones, isLoading, error, gapMs, nowMs, faults, load, changeFaults };
}
/** @typedef {ReturnType<typeof createModel>} Model */
