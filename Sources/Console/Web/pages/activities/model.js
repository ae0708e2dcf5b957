// The user's activities, kept current by a watch.

import { ActivitiesService } from "../../../sdk/generated/campanile.activities.v1.js";
import { onDispose, signal } from "../../view.js";
import { apply, put } from "./reducer.js";

/** @import { Activity } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @import { Context } from "../../types.d.ts" */

const activitiesMax = 2000;

/** @param {Context} context */
export function createModel({ client, watch }) {
  const list = signal(/** @type {readonly Activity[]} */ ([])), isLoading = signal(true), error = signal(/** @type {unknown} */ (undefined));
  const gapMs = signal(0), nowMs = signal(Date.now()), abort = new AbortController();
  let stop = () => {}, generation = 0;

  /** Reads the list and follows it. A newer reading replaces one that is under way. */
  async function load() {
    const current = ++generation;
    stop();
    isLoading.value = true;
    try {
      /** @type {Activity[]} */
      const all = [];
      let pageToken = "", resumeToken = "";
      do {
        const page = await client.call(ActivitiesService.listActivities, { pageSize: 500, pageToken, includeEnded: true }, { signal: abort.signal });
        all.push(...page.activities ?? []);
        resumeToken ||= page.resumeToken ?? "";
        pageToken = page.nextPageToken ?? "";
      } while (pageToken && all.length < activitiesMax);
      if (current !== generation) return;
      [list.value, error.value] = [all, undefined];
      stop = watch(ActivitiesService.watchActivities, { resumeToken }, {
        message: ({ change }) => { if (change) list.value = apply(list.value, change); },
        gap() {
          gapMs.value = Date.now();
          void load();
        },
        failed: (failure) => { error.value = failure; },
      });
    } catch (thrown) {
      if (current === generation) error.value = thrown;
    }
    if (current === generation) isLoading.value = false;
  }
  const second = setInterval(() => { if (!document.hidden) nowMs.value = Date.now(); }, 1000);
  onDispose(() => {
    generation++;
    abort.abort();
    stop();
    clearInterval(second);
  });
  void load();
  /** Shows the result of an own call at once. @param {Activity | undefined} activity */
  const show = (activity) => { if (activity) list.value = put(list.value, activity); };
  return { list, isLoading, error, gapMs, nowMs, load, show };
}
/** @typedef {ReturnType<typeof createModel>} Model */
