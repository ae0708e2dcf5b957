// The controls of an activity: by its driver, or a new state in an editor.

import { ActivitiesService, RoomsService, TimersService } from "../../../sdk/generated/campanile.activities.v1.js";
import { h, show, signal } from "../../view.js";
import { jsonEditor, payloadMeter } from "./editor.js";
import { fault, refusedMeasure } from "./meter.js";
import { driverOf, isEnded } from "./reducer.js";

/** @import { Context, Readable } from "../../types.d.ts" */
/** @import { Activity } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @import { Model } from "./model.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/** @param {{ context: Context, t: T, model: Model, activity: Readable<Activity> }} options */
export function controls({ context, t, model, activity }) {
  const { client, caller, notify, fail } = context, isBusy = signal(false), activityId = activity.value.id ?? "";
  /** @param {() => Promise<{ activity?: Activity | undefined }>} call @param {string} [said] */
  const run = async (call, said) => {
    isBusy.value = true;
    try {
      model.show((await call()).activity);
      if (said) notify(said);
    } catch (error) {
      fail(error);
    }
    isBusy.value = false;
  };
  /** @param {string} name @param {() => Promise<{ activity?: Activity | undefined }>} call @param {string} [kind] */
  const button = (name, call, kind = "") => h("button", { type: "button", class: kind, disabled: isBusy, onclick: () => run(call) }, name);
  const requestId = () => crypto.randomUUID(), past = "2020-01-01T00:00:00Z";
  const timer = () => [
    activity.value.timer?.pauseTime ? button(t.act.resume, () => client.call(TimersService.resumeTimer, { activityId, requestId: requestId() }), "primary")
      : button(t.act.pause, () => client.call(TimersService.pauseTimer, { activityId, requestId: requestId() }), "primary"),
    button(t.act.complete, () => client.call(TimersService.completeTimer, { activityId })),
    button(t.act.stop, () => client.call(TimersService.stopTimer, { activityId }), "danger"),
  ];
  const room = () => {
    const { app = "", room: state } = activity.value, roomId = state?.roomId ?? "", isConnected = state?.phase === "ROOM_PHASE_CONNECTED";
    return [
      button(isConnected ? t.act.waiting : t.act.connected, () => client.call(RoomsService.reportPeer, { app, roomId, connected: !isConnected }), "primary"),
      button(t.act.leave, () => client.call(RoomsService.leaveRoom, { app, roomId, requestId: requestId() }), "danger"),
      h("button", { type: "button", class: "danger", disabled: isBusy, onclick: () => client.call(RoomsService.disconnectRooms, { app, requestId: requestId() })
        .then(({ endedCount }) => notify(t.done.disconnected(endedCount ?? 0)), fail) }, t.act.disconnect),
    ];
  };
  return show(() => !isEnded(activity.value) && caller.may("activities:write"), () => h("div", { class: "stack" },
    h("div", { class: "row wrap activity-controls" },
      () => driverOf(activity.value) === "timer" ? timer() : driverOf(activity.value) === "room" ? room()
        : [button(t.act.end, () => client.call(ActivitiesService.endActivity, { activityId })),
          button(t.act.endNow, () => client.call(ActivitiesService.endActivity, { activityId, dismissalTime: past }), "danger")],
      () => activity.value.pushesStopped ? button(t.act.startPushes, () => client.call(ActivitiesService.setActivityPushes, { activityId, enabled: true }))
        : button(t.act.stopPushes, () => client.call(ActivitiesService.setActivityPushes, { activityId, enabled: false }), "quiet")),
    show(() => driverOf(activity.value) === "caller", () => stateEditor(context, t, model, activity), () => h("p", { class: "muted" }, t.driven))));
}

/** @param {Context} context @param {T} t @param {Model} model @param {Readable<Activity>} activity */
function stateEditor(context, t, model, activity) {
  const { client, notify, fail } = context, text = signal(activity.value.contentStateJson ?? "{}");
  const title = signal(""), body = signal("");
  const alert = () => title.value || body.value ? { title: title.value, body: body.value } : undefined;
  const meter = payloadMeter(context, t, () => ({
    event: "update", stateJson: text.value, alert: alert(), staleTime: activity.value.staleTime, channelId: activity.value.channelId,
    relevanceScore: activity.value.relevanceScore === undefined ? undefined : Number(activity.value.relevanceScore),
  }));
  const isBusy = signal(false);
  return h("form", {
    class: "stack", onsubmit: async (/** @type {SubmitEvent} */ event) => {
      event.preventDefault();
      if (fault(text.value) !== "") return;
      isBusy.value = true;
      try {
        const { activity: updated } = await client.call(ActivitiesService.updateActivity, {
          activityId: activity.value.id ?? "", contentStateJson: text.value, requestId: crypto.randomUUID(), ...(alert() && { alert: /** @type {any} */ (alert()) }) });
        model.show(updated);
        notify(t.done.updated);
      } catch (error) {
        const measured = refusedMeasure(error);
        if (measured) meter.refuse(measured);
        else fail(error);
      }
      isBusy.value = false;
    },
  }, jsonEditor({ t, label: t.form.state, text }), meter.node,
  h("div", { class: "fields" }, input(t.form.alertTitle, title), input(t.form.alertBody, body)),
  h("div", null, h("button", { class: "primary", disabled: () => isBusy.value || fault(text.value) !== "" }, t.act.update)));
}

/** @param {string} label @param {{ value: string }} value */
const input = (label, value) => h("label", { class: "field" }, label,
  h("input", { value: () => value.value, autocomplete: "off", oninput: (/** @type {any} */ { target }) => { value.value = target.value; } }));
