// The long look of a watch, from a push alone or from the notification. Pure.

import { listOf, member, textOf } from "../../renderers/values.js";
import { parseObject } from "../../renderers/registry.js";

/** @import { LongLook } from "../../../sdk/generated/campanile.notifications.v1.js" */
/** @import { ScreenState } from "../../../sdk/generated/campanile.simulator.v1.js" */
/** @import { LongLookModel } from "../../devices/watch.js" */

/** @typedef {{ action: string }} LookWords */

/** Returns the ids with which the buttons of a push call back: the notification's, and the receipt. @param {ScreenState | undefined} state */
export function addressOf(state) {
  const payload = parseObject(state?.payloadJson) ?? {};
  return { notificationId: textOf(member(payload, "nid")), receipt: typeof member(payload, "rct") === "string" ? String(payload["rct"]) : "" };
}

// The labels and colours of GetLongLook, which the apps show in every language.
const baseActions = [
  { actionId: "mark_as_read", label: "Mark", icon: "checkmark.circle.fill", color: "#34C759" },
  { actionId: "delete", label: "Delete", icon: "trash.circle.fill", color: "#FF3B30" },
  { actionId: "open", label: "Open", icon: "arrow.right.circle.fill", color: "#007AFF" },
];

/**
 * Builds the long look that an app's extension shows from the push alone.
 *
 * @param {ScreenState | undefined} state @param {string} app @param {LookWords} words @returns {LongLookModel | undefined}
 */
export function lookOfPush(state, app, words) {
  if (!state?.alert) return undefined;
  const payload = parseObject(state.payloadJson) ?? {}, media = listOf(member(payload, "att")).map((each) => textOf(each));
  const image = media.find((each) => /^(IMAGE|GIF):/.test(each))?.replace(/^[A-Z]+:/, "") ?? "";
  // The base actions stand for the notification's own of their types.
  const isBase = /^(MARK_AS_READ|DELETE|OPEN_NOTIFICATION)$/;
  return {
    app,
    title: textOf(member(payload, "tit"), textOf(state.alert.title, app)),
    subtitle: textOf(member(payload, "stl"), textOf(state.alert.subtitle)),
    body: textOf(member(payload, "bdy"), textOf(state.alert.body)),
    image: image.split("/").at(-1) ?? "",
    baseActions,
    actions: listOf(member(payload, "act")).flatMap((action, index) => isBase.test(textOf(member(action, "type"))) ? []
      : [{ actionId: String(index), label: textOf(member(action, "title"), words.action), icon: "", destructive: member(action, "destructive") === true }]),
  };
}

/** @param {LongLook} look @param {string} app @returns {LongLookModel} */
export const lookOfNotification = (look, app) => ({
  app: textOf(look.bucketName, app),
  title: textOf(look.title), subtitle: textOf(look.subtitle), body: textOf(look.body),
  image: textOf(look.imageUrl ?? look.imageContentId).split("/").at(-1) ?? "",
  baseActions: (look.baseActions ?? []).map(button),
  actions: (look.actions ?? []).map(button),
});

/** @param {import("../../../sdk/generated/campanile.notifications.v1.js").LongLookAction} action */
const button = ({ actionId = "", label = "", icon = "", color, destructive = false }) => ({
  actionId, label: textOf(label, actionId), icon, destructive, color: /^#[0-9A-Fa-f]{6}$/.test(color ?? "") ? color : undefined,
});
