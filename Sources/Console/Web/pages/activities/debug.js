// The six controls of a debug build, for any user.

import { ActivityDebugService as Debug, PushDeliveryService } from "../../../sdk/generated/campanile.activities.v1.js";
import { field } from "../../parts.js";
import { h, signal } from "../../view.js";

/** @import { Context } from "../../types.d.ts" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

/** @param {Context} context @param {T} t */
export function debugControls({ client, caller, fail }, t) {
  const said = signal(""), isBusy = signal(false), users = signal(/** @type {string[]} */ ([]));
  const userId = signal(caller.user), app = signal("dev.campanile.example");
  if (caller.may("activities:operate")) {
    client.call(PushDeliveryService.listActivityUsers, { pageSize: 100 }).then(({ users: found }) => { users.value = (found ?? []).map(({ userId = "" }) => userId); }, () => {});
  }
  /** @param {string} name @param {string} text @param {() => Promise<string>} call @param {string} [kind] */
  const button = (name, text, call, kind = "") => h("button", { type: "button", class: kind, "data-debug": name, disabled: () => isBusy.value || userId.value === "" || app.value === "",
    onclick: async () => {
      isBusy.value = true;
      try {
        said.value = await call();
      } catch (error) {
        fail(error);
      }
      isBusy.value = false;
    } }, text);
  const on = () => ({ userId: userId.value, app: app.value }), requestId = () => crypto.randomUUID();
  /** @param {{ activity?: import("../../../sdk/generated/campanile.activities.v1.js").Activity | undefined }} response */
  const phase = ({ activity }) => t.debug.phase(t.debug.phases[activity?.room?.phase ?? "ROOM_PHASE_UNSPECIFIED"]);
  /** @param {string} label @param {{ value: string }} value @param {string} name @param {string} [list] */
  const input = (label, value, name, list) => field(label, h("input", { name, value: () => value.value, autocomplete: "off", spellcheck: "false", list,
    oninput: (/** @type {any} */ { target }) => { value.value = target.value.trim(); } }));
  return h("section", { class: "card stack debug", "aria-label": t.debug.title }, h("div", { class: "row wrap" }, h("h2", null, t.debug.title), h("span", { class: "muted grow" }, t.debug.lead)),
    h("div", { class: "fields" }, input(t.debug.user, userId, "debug-user", "debug-users"), input(t.debug.app, app, "debug-app")),
    h("datalist", { id: "debug-users" }, () => users.value.map((user) => h("option", { value: user }))),
    h("div", { class: "row wrap" },
      button("status", t.debug.status, async () => {
        const { canStartRemotely, liveCount = 0, updateTokenCount = 0, pushToStartTokenCount = 0, deviceTokenCount = 0 } = await client.call(Debug.getActivityStatus, on());
        return `${t.debug.result(liveCount, updateTokenCount, pushToStartTokenCount, deviceTokenCount)}. ${canStartRemotely ? t.debug.canStart : t.debug.cannotStart}`;
      }),
      button("start", t.debug.start, async () => phase(await client.call(Debug.testStart, {
        ...on(), environment: "development", origin: /** @type {const} */ ("ACTIVITY_ORIGIN_LOCAL"), requestId: requestId() }))),
      button("connected", t.debug.connected, async () => phase(await client.call(Debug.testToConnected, on()))),
      button("waiting", t.debug.waiting, async () => phase(await client.call(Debug.testToWaiting, on()))),
      button("end", t.debug.end, async () => {
        await client.call(Debug.testEnd, { ...on(), requestId: requestId() });
        return t.debug.ended;
      }),
      button("endAll", t.debug.endAll, async () => t.debug.endedCount((await client.call(Debug.endAllActivities, { userId: userId.value, requestId: requestId() })).endedCount ?? 0), "danger")),
    h("p", { class: "muted debug-result", role: "status" }, () => said.value));
}
