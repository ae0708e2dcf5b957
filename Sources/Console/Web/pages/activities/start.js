// The form that starts an activity: a state of the app, a timer, a room, or the unread notifications.

import { ActivitiesService, RoomsService, TimersService, UnreadService } from "../../../sdk/generated/campanile.activities.v1.js";
import { sending } from "../../forms.js";
import { field, openDialog } from "../../parts.js";
import { h, show, signal, untrack } from "../../view.js";
import { jsonEditor, payloadMeter } from "./editor.js";
import { fault } from "./meter.js";

/** @import { Context } from "../../types.d.ts" */
/** @import { Activity } from "../../../sdk/generated/campanile.activities.v1.js" */
/** @import { Model } from "./model.js" */
/** @typedef {import("../../types.d.ts").Texts<typeof import("./texts.en.js").en>} T */

const sessions = /** @type {const} */ (["COUNTDOWN", "COUNTUP", "INTERVAL", "REST", "FREESTYLE", "QUICK", "SINGLE", "MULTI"]);
const kinds = /** @type {const} */ (["timer", "room", "unread", "caller"]);
// The fields by their parts of the request's path.
const fields = {
  attributestype: "attributesType", attributesjson: "attributes", contentstate: "state", environment: "environment", method: "method", session: "session",
  duration: "minutes", roomid: "room", itemsmax: "items", url: "url", title: "alertTitle", body: "alertBody", relevance: "score", staletime: "stale", app: "app",
};
/** Returns the id of a new room: 24 random bytes. */
const roomId = () => Array.from(crypto.getRandomValues(new Uint8Array(24)), (byte) => byte.toString(16).padStart(2, "0")).join("");

/** @param {Context} context @param {T} t @param {Model} model */
export function openStart(context, t, model) {
  const { client, navigate, notify, fail, t: shell } = context, last = model.list.value[0];
  const kind = signal(/** @type {typeof kinds[number]} */ ("timer")), isRemote = signal(false), { isBusy, violation, onsubmit } = sending(fail, fields);
  const state = signal('{\n  "phase": "waiting"\n}'), attributes = signal("{}"), values = signal(/** @type {Record<string, string>} */ ({}));
  const text = (/** @type {string} */ name) => values.value[name] ?? "";
  // Fields that are not shown are not sent.
  const alert = () => isRemote.value && (text("alertTitle") || text("alertBody"))
    ? { title: text("alertTitle"), body: text("alertBody"), ...(text("sound") && { sound: { name: "default" } }) } : undefined;
  const attributesType = () => isRemote.value ? text("attributesType") : "", attributesJson = () => isRemote.value ? attributes.value : "{}";
  const meter = payloadMeter(context, t, () => ({
    event: "start", stateJson: state.value, attributesType: attributesType(), attributesJson: attributesJson(),
    alert: alert() && { title: text("alertTitle"), body: text("alertBody") },
    relevanceScore: text("score") ? Number(text("score")) : undefined,
  }));
  const number = (/** @type {string} */ name) => text(name) ? Number(text(name)) : undefined;

  /** @returns {Promise<{ activity?: Activity | undefined }>} */
  function start() {
    const score = number("score"), stale = number("stale"), url = text("url");
    const shared = {
      app: text("app"), environment: text("environment"), origin: isRemote.value ? /** @type {const} */ ("ACTIVITY_ORIGIN_REMOTE") : /** @type {const} */ ("ACTIVITY_ORIGIN_LOCAL"),
      requestId: crypto.randomUUID(), ...(score !== undefined && { relevanceScore: score }),
      ...(stale !== undefined && { staleTime: new Date(Date.now() + stale * 60_000).toISOString() }),
      ...(attributesType() && { attributesType: attributesType() }), ...(alert() && { alert: alert() }),
    };
    const given = attributesJson().trim() === "{}" ? {} : { attributesJson: attributesJson() }, tap = url && { url };
    if (kind.value === "caller") return client.call(ActivitiesService.startActivity, { ...shared, attributesJson: attributesJson(), contentStateJson: state.value });
    if (kind.value === "room") return client.call(RoomsService.joinRoom, { ...shared, ...given, ...tap, roomId: text("room") });
    if (kind.value === "unread") return client.call(UnreadService.startUnreadActivity, { ...shared, ...given, ...tap, itemsMax: number("items") ?? 5 });
    const minutes = number("minutes");
    return client.call(TimersService.startTimer, {
      ...shared, ...given, ...tap, methodName: text("method"), sessionType: /** @type {any} */ (`TIMER_SESSION_TYPE_${text("session") || "COUNTDOWN"}`),
      ...(minutes !== undefined && { duration: `${minutes * 60}s` }), ...(text("completes") && { completesByItself: true }),
    });
  }

  /** @param {string} name @param {string} value @param {import("../../types.d.ts").Props} [more] */
  const input = (name, value, more = {}) => {
    untrack(() => { values.value = { ...values.value, [name]: value }; });
    const isCheck = more["type"] === "checkbox";
    return h("input", { name, ...(isCheck ? {} : { value }), autocomplete: "off", spellcheck: "false", ...more,
      oninput: (/** @type {any} */ { target }) => { values.value = { ...values.value, [name]: isCheck ? (target.checked ? "1" : "") : target.value }; } });
  };
  /** @param {string} label @param {string} name @param {string} value @param {import("../../types.d.ts").Props} [more] */
  const entry = (label, name, value, more) => field(label, input(name, value, more), violation(name));
  openDialog(shell, t.form.title, (close) => h("form", {
    class: "stack", onsubmit: onsubmit(() => meter.attempt(async () => {
      const { activity } = await start();
      model.show(activity);
      close();
      notify(t.done.started);
      navigate(`activities/${activity?.id ?? ""}`);
    })),
  },
  h("div", { class: "segments", role: "group", "aria-label": t.form.kind }, kinds.map((name) => h("button", {
    type: "button", "aria-pressed": () => String(kind.value === name), onclick: () => { kind.value = name; } }, t.form.kinds[name]))),
  h("div", { class: "fields" }, entry(t.form.app, "app", last?.app ?? "dev.campanile.example", { required: true }),
    entry(t.form.environment, "environment", last?.environment ?? "development", { required: true })),
  () => kind.value === "timer" ? h("div", { class: "fields" }, entry(t.form.method, "method", "Workout"),
    field(t.form.session, select("session", sessions.map((name) => [name, name.toLowerCase()]), values), violation("session")), entry(t.form.duration, "minutes", "30", { type: "number", min: 1, max: 480 }),
    h("label", { class: "row" }, input("completes", "", { type: "checkbox" }), t.form.completes))
    : kind.value === "room" ? entry(t.form.room, "room", roomId(), { pattern: "[0-9a-f]{48}", required: true, class: "mono" })
    : kind.value === "unread" ? entry(t.form.items, "items", "5", { type: "number", min: 1, max: 5 })
    : h("div", { class: "stack" }, jsonEditor({ t, label: t.form.state, text: state }), violation("state"), meter.node),
  () => kind.value === "caller" ? null : entry(t.form.url, "url", "", { type: "url" }),
  h("label", { class: "row" }, h("input", { type: "checkbox", name: "remote", onchange: (/** @type {any} */ { target }) => { isRemote.value = target.checked; } }), t.form.remote),
  show(isRemote, () => h("div", { class: "stack" }, h("p", { class: "muted" }, t.form.needed),
    h("div", { class: "fields" }, entry(t.form.attributesType, "attributesType", "", { required: true }), entry(t.form.alertTitle, "alertTitle", "", { required: true }),
      entry(t.form.alertBody, "alertBody", "", { required: true }), h("label", { class: "row" }, input("sound", "", { type: "checkbox" }), t.form.sound)),
    jsonEditor({ t, label: t.form.attributes, text: attributes }), violation("attributes"))),
  h("details", null, h("summary", null, `${t.form.score}, ${t.form.staleAfter.toLowerCase()}`), h("div", { class: "fields" },
    entry(t.form.score, "score", "", { type: "number", min: 0 }), entry(t.form.staleAfter, "stale", "", { type: "number", min: 1 }))),
  h("div", { class: "row" }, h("span", { class: "grow" }), h("button", { type: "button", onclick: close }, shell.cancel),
    h("button", { class: "primary", disabled: () => isBusy.value || (kind.value === "caller" && fault(state.value) !== "") }, t.form.send))));
}

/** @param {string} name @param {[string, string][]} options @param {{ value: Record<string, string> }} values */
function select(name, options, values) {
  // A select that is drawn again shows its first option.
  untrack(() => { values.value = { ...values.value, [name]: options[0]?.[0] ?? "" }; });
  return h("select", { name, onchange: (/** @type {any} */ { target }) => { values.value = { ...values.value, [name]: target.value }; } },
    options.map(([value, label]) => h("option", { value }, label)));
}
