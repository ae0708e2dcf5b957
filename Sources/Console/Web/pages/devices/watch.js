// The watch next to a phone that shows an alert: its long look, with buttons that work.

import { EngagementService, NotificationsService } from "../../../sdk/generated/campanile.notifications.v1.js";
import { watch as watchFrame } from "../../devices/watch.js";
import { present } from "../../renderers/registry.js";
import { effect, onDispose, signal } from "../../view.js";
import { addressOf, lookOfNotification, lookOfPush } from "./long-look.js";
import { activitiesOf, alertsOf, appName } from "./wall.js";

/** @import { Context, Readable } from "../../types.d.ts" */
/** @import { LongLookModel } from "../../devices/watch.js" */
/** @import { Words } from "../../renderers/types.d.ts" */
/** @import { Phone } from "./wall.js" */
/** @import { T } from "./devices.js" */

/**
 * @param {object} options
 * @param {Context} options.context @param {T} options.t @param {Words} options.words
 * @param {Readable<Phone>} options.phone
 * @param {() => number} options.nowMs
 */
export function liveWatch({ context, t, words, phone, nowMs }) {
  const { client, caller, notify, fail, format } = context;
  const look = signal(/** @type {LongLookModel | undefined} */ (undefined)), isBusy = signal(false);
  let address = { notificationId: "", receipt: "" }, isOwn = false, key = "";
  const abort = new AbortController();
  onDispose(() => abort.abort());

  // The push fills the look at once; the notification, if it is the caller's, replaces it.
  effect(() => {
    const shown = alertsOf(phone.value)[0], { user } = phone.value, now = shown ? `${user} ${shown.state.apnsId}` : "";
    if (now === key) return;
    [key, address, isOwn] = [now, addressOf(shown?.state), false];
    const app = appName(phone.value.app);
    look.value = shown && lookOfPush(shown.state, app, t.watchWords);
    if (!address.notificationId || caller.user === "" || user !== caller.user) return;
    client.call(NotificationsService.getLongLook, { notificationId: address.notificationId }, { signal: abort.signal }).then(({ longLook }) => {
      if (now !== key || !longLook) return;
      isOwn = true;
      look.value = lookOfNotification(longLook, app);
    }, () => { /* Deleted, or another user's: the push's own contents stay. */ });
  });

  /** @param {string} actionId */
  async function invoke(actionId) {
    const { notificationId, receipt } = address;
    const label = [...look.value?.baseActions ?? [], ...look.value?.actions ?? []].find((action) => action.actionId === actionId)?.label ?? actionId;
    if (!isOwn && !receipt) return notify(t.noReceipt);
    isBusy.value = true;
    try {
      if (isOwn) {
        const { run } = await client.call(NotificationsService.invokeAction, { notificationId, actionId, requestId: crypto.randomUUID() });
        const target = run?.url ?? run?.openNotificationId;
        notify(target ? t.opens(target) : t.invoked(label));
        if (actionId !== "open" && actionId !== "mark_as_read") return;
        await client.call(EngagementService.batchRecordEngagement, { reports: [{ notificationId, kind: "ENGAGEMENT_KIND_ACTED", actionId }] });
      } else {
        const kind = actionId === "open" ? /** @type {const} */ ("ENGAGEMENT_KIND_OPENED") : /** @type {const} */ ("ENGAGEMENT_KIND_ACTED");
        const { results } = await client.call(EngagementService.batchReportEngagement, {
          reports: [{ receipt, kind, ...(kind === "ENGAGEMENT_KIND_ACTED" && { actionId }) }] });
        const refused = results?.[0]?.error;
        notify(refused ? refused.message ?? "" : t.reported(label), refused ? { kind: "error" } : {});
      }
    } catch (thrown) {
      fail(thrown);
    } finally {
      isBusy.value = false;
    }
  }

  return watchFrame({
    look: () => look.value, invoke, busy: () => isBusy.value, label: () => t.watchOf(phone.value.name),
    face: () => {
      const now = nowMs(), first = activitiesOf(phone.value, now)[0];
      return {
        clock: format.device(now).clock,
        card: first && present({ attributesType: first.screen.attributesType, attributesJson: first.screen.attributesJson,
          stateJson: first.state.contentStateJson, words, nowMs: now }).watch,
      };
    },
  });
}
