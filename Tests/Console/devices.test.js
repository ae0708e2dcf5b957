import assert from "node:assert/strict";
import { effectOf, faultName, presets } from "../../Sources/Console/Web/pages/devices/fault-names.js";
import { addressOf, lookOfNotification, lookOfPush } from "../../Sources/Console/Web/pages/devices/long-look.js";
import * as scrubbing from "../../Sources/Console/Web/pages/devices/scrubber.js";
import { en } from "../../Sources/Console/Web/pages/devices/texts.en.js";
import { activitiesOf, alertsOf, badgeOf, budgetOf, discardsOf, lookOf, phonesOf } from "../../Sources/Console/Web/pages/devices/wall.js";

/** @import { ScreenState, SimulatedScreen } from "../../Sources/Console/sdk/generated/campanile.simulator.v1.js" */

const nowMs = Date.UTC(2026, 10, 24, 12, 0, 0);
/** @param {number} seconds */
const at = (seconds) => new Date(nowMs + seconds * 1000).toISOString();
/** @param {number} number @returns {ScreenState} */
const state = (number) => ({ number: String(number), showTime: at(number - 100), event: "SCREEN_EVENT_UPDATE", contentStateJson: `{"n":${number}}` });
/** @param {string} id @param {SimulatedScreen} [more] @returns {SimulatedScreen} */
const screen = (id, more) => ({ id, app: "com.example.app", device: id, kind: "SCREEN_KIND_ACTIVITY", connected: true, ...more });

Deno.test("a state is live, then stale; an ended one is dismissed at its time", () => {
  const update = { ...state(1), staleTime: at(10) };
  assert.equal(lookOf(update, nowMs), "started");
  assert.equal(lookOf(update, nowMs + 10_000), "stale");
  const end = { ...update, event: /** @type {const} */ ("SCREEN_EVENT_END"), dismissalTime: at(60) };
  assert.equal(lookOf(end, nowMs + 20_000), "ended");
  assert.equal(lookOf(end, nowMs + 60_000), "dismissed");
  assert.equal(lookOf({ ...end, dismissalTime: undefined }, nowMs + 1e9), "ended");
  for (const none of [undefined, {}, { event: /** @type {const} */ ("SCREEN_EVENT_ALERT"), contentStateJson: "{}" }]) assert.equal(lookOf(none, nowMs), undefined);
});

Deno.test("tokens of a named device or of a user are on one phone; each of a user's devices is a phone", () => {
  const screens = [
    screen("aa", { device: "Anna’s iPhone" }), screen("bb", { device: "Anna’s iPhone", kind: "SCREEN_KIND_DEVICE" }), screen("cc"), screen("dd"),
    screen("e1", { kind: "SCREEN_KIND_DEVICE" }), screen("e2", { kind: "SCREEN_KIND_DEVICE" }), screen("ff", { kind: "SCREEN_KIND_WIDGETS" }), screen("1234567890"),
  ];
  const owners = new Map([["cc", "bruno"], ["dd", "bruno"], ["e1", "bruno"], ["e2", "bruno"]]);
  const phones = phonesOf(screens, owners).map(({ name, screens }) => [name, screens.map(({ id }) => id)]);
  assert.deepEqual(phones, [["1234…7890", ["1234567890"]], ["Anna’s iPhone", ["aa", "bb"]], ["bruno", ["cc", "dd", "e1"]], ["bruno", ["e2"]]]);
  assert.deepEqual(phonesOf([], owners), []);
});

Deno.test("the most relevant live activity comes first, and a dismissed one is gone", () => {
  const one = screen("a", { state: { ...state(1), relevanceScore: 50 } }), two = screen("b", { state: { ...state(1), relevanceScore: 100 } });
  const ended = screen("c", { state: { ...state(1), event: "SCREEN_EVENT_END", relevanceScore: 500 } });
  const gone = screen("d", { state: { ...state(1), event: "SCREEN_EVENT_END", dismissalTime: at(-1) } });
  const phone = { screens: [one, ended, gone, two] };
  assert.deepEqual(activitiesOf(phone, nowMs).map(({ screen, look }) => [screen.id, look]), [["b", "started"], ["a", "started"], ["c", "ended"]]);
});

Deno.test("a phone has the alerts and the badge of its device, the scarcest budget, and all ignored pushes", () => {
  const device = screen("a", { kind: "SCREEN_KIND_DEVICE", state: { ...state(1), alert: { title: "Porta" }, badge: 3 }, discardCounts: { OFFLINE: "2" } });
  const phone = { screens: [device, screen("b", { budget: { usedCount: 9, limitCount: 10 }, discardCounts: { OFFLINE: "1", WITHHELD: "7" } }), screen("c", { budget: { usedCount: 1, limitCount: 10 } })] };
  assert.deepEqual([alertsOf(phone).map(({ alert }) => alert.title), badgeOf(phone), budgetOf(phone)], [["Porta"], 3, { used: 9, limit: 10 }]);
  assert.deepEqual(discardsOf(phone), [{ reason: "WITHHELD", count: 7 }, { reason: "OFFLINE", count: 3 }]);
  assert.deepEqual([badgeOf({ screens: [] }), budgetOf({ screens: [] }), discardsOf({ screens: [] })], [0, undefined, []]);
});

Deno.test("the scrubber keeps 20 states in order, and follows the newest until it is moved", () => {
  let scrubber = scrubbing.add(scrubbing.start, [3, 1, 2].map(state));
  assert.deepEqual(scrubber.states.map(({ number }) => number), ["1", "2", "3"]);
  assert.equal(scrubbing.current(scrubber)?.number, "3");
  scrubber = scrubbing.add(scrubber, [state(4), state(4)]);
  assert.equal(scrubbing.indexOf(scrubber), 3);
  scrubber = scrubbing.move(scrubber, 1);
  assert.equal(scrubbing.current(scrubber)?.number, "2");
  scrubber = scrubbing.add(scrubber, [state(5)]);
  assert.equal(scrubbing.current(scrubber)?.number, "2", "a new state does not move what is looked at");
  assert.equal(scrubbing.momentMs(scrubber, nowMs), Date.parse(at(3 - 100)), "the state is looked at until the next one");
  scrubber = scrubbing.add(scrubber, Array.from({ length: 30 }, (_, index) => state(index + 6)));
  assert.deepEqual([scrubber.states.length, scrubbing.current(scrubber)?.number], [20, "16"], "the oldest takes the place of one that is gone");
  scrubber = scrubbing.move(scrubber, 99);
  assert.deepEqual([scrubber.number, scrubbing.momentMs(scrubber, nowMs)], [undefined, nowMs], "the last place follows");
  assert.equal(scrubbing.follow(scrubbing.move(scrubber, 0)).number, undefined);
  assert.deepEqual([scrubbing.indexOf(scrubbing.start), scrubbing.current(scrubbing.start), scrubbing.move(scrubbing.start, 3).number], [-1, undefined, undefined]);
});

const words = en.watchWords;

Deno.test("a push alone fills the long look: texts, image, three fixed buttons and the other actions", () => {
  const payload = {
    aps: {}, nid: "n_1", rct: "receipt", tit: "Porta", stl: "Ingresso", bdy: "È aperta.", att: ["AUDIO:https://x/a.mp3", "IMAGE:https://example.org/door.jpg"],
    act: [{ type: "NAVIGATE", value: "https://x", title: "Camera" }, { type: "MARK_AS_READ", title: "Visto" }, { type: "BACKGROUND_CALL", title: "Apri", destructive: true }],
  };
  const push = { ...state(1), alert: { title: "Casa", body: "…" }, payloadJson: JSON.stringify(payload) }, look = lookOfPush(push, "app", words);
  assert.deepEqual([look?.title, look?.subtitle, look?.body, look?.image], ["Porta", "Ingresso", "È aperta.", "door.jpg"]);
  assert.deepEqual(look?.baseActions.map(({ actionId }) => actionId), ["mark_as_read", "delete", "open"]);
  assert.deepEqual(look?.actions.map(({ actionId, label, destructive }) => [actionId, label, destructive]), [["0", "Camera", false], ["2", "Apri", true]]);
  assert.deepEqual(addressOf(push), { notificationId: "n_1", receipt: "receipt" });
});

Deno.test("a long look of hostile or missing payloads never throws", () => {
  for (const payloadJson of [undefined, "", "[", "7", '{"att":7,"act":"x","tit":{},"nid":[],"rct":{}}', '{"att":[null,{}],"act":[null,7,[],{"type":{},"title":[]}]}']) {
    const look = lookOfPush({ ...state(1), payloadJson, alert: { title: "T", body: "B" } }, "app", words);
    assert.deepEqual([look?.title, look?.body, look?.baseActions.length], ["T", "B", 3]);
    assert.deepEqual(addressOf({ payloadJson }), { notificationId: "", receipt: "" });
  }
  assert.equal(lookOfPush(state(1), "app", words), undefined, "without an alert there is none");
  const look = lookOfNotification({ title: "T", baseActions: [{ actionId: "open", color: "url(x)" }] }, "app");
  assert.deepEqual([look.baseActions[0]?.label, look.baseActions[0]?.color, look.body], ["open", undefined, ""]);
});

Deno.test("faults have names by their effect", () => {
  assert.deepEqual(Object.values(presets).map(effectOf), ["answer", "answer", "answer", "delay", "goAway", "reset", "stall"]);
  assert.deepEqual([faultName(presets.fifth, en), faultName(presets.slow, en), faultName(presets.goaway, en)], ["Refusal ServiceUnavailable 20 %", "Delay 2s", "GOAWAY 1/10"]);
});
