// The controls of an activity: by its driver, or a new state in an editor.

import { ActivitiesService, RoomsService, TimersService } from "../../../sdk/generated/campanile.activities.v1.js";
import { sending } from "../../forms.js";
import { field } from "../../parts.js";
import { h, show, signal } from "../../view.js";
import { jsonEditor, payloadMeter } from "./editor.js";
import { fault } from "./meter.js";
import { driverOf, isEnded } from "./reducer.js";

/** @import { Context, Readable } from "../../types.d.ts" */
/** @import { Activity } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @import { Model } from "./model.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/** @param {{ context: Context, t: T, model: Model, activity: Readable<Activity> }} options */
export function controls({ context, t, model, activity }) {
  const { client, caller, notify, fail } = context, isBusy = signal(false), activityId = activity.value.id ?? "";
  /** @param {() => Promise<{ activity?: Activity | undefined }>} call */
  const run = async (call) => {
    isBusy.value = true;
    try {
      model.show((await call()).activity);
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
      button(t.act.disconnect, async () => {
        const { endedCount } = await client.call(RoomsService.disconnectRooms, { app, requestId: requestId() });
        notify(t.done.disconnected(endedCount ?? 0));
        return {};
      }, "danger"),
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
  const { isBusy, violation, onsubmit } = sending(fail, { title: "title", body: "body", contentstate: "state" });
  /** @param {string} label @param {{ value: string }} value @param {string} name */
  const input = (label, value, name) => field(label, h("input", { value: () => value.value, autocomplete: "off",
    oninput: (/** @type {any} */ { target }) => { value.value = target.value; } }), violation(name));
  return h("form", {
    class: "stack", onsubmit: onsubmit(() => meter.attempt(async () => {
      if (fault(text.value) !== "") return;
      const { activity: updated } = await client.call(ActivitiesService.updateActivity, {
        activityId: activity.value.id ?? "", contentStateJson: text.value, requestId: crypto.randomUUID(), ...(alert() && { alert: /** @type {any} */ (alert()) }) });
      model.show(updated);
      notify(t.done.updated);
    })),
  }, jsonEditor({ t, label: t.form.state, text }), violation("state"), meter.node,
  h("div", { class: "fields" }, input(t.form.alertTitle, title, "title"), input(t.form.alertBody, body, "body")),
  h("div", null, h("button", { class: "primary", disabled: () => isBusy.value || fault(text.value) !== "" }, t.act.update)));
}
