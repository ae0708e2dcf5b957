import assert from "node:assert/strict";
import { present, register } from "../../Sources/Console/Web/renderers/registry.js";
import { en } from "../../Sources/Console/Web/renderers/texts.en.js";
import { it } from "../../Sources/Console/Web/renderers/texts.it.js";
import { clockText, dateMs } from "../../Sources/Console/Web/renderers/values.js";

const nowMs = Date.UTC(2026, 10, 24, 12, 0, 0), since2001 = nowMs / 1000 - 978_307_200;
/** @param {any} state @param {object} [more] @returns {any} */
const draw = (state, more = {}) => present({
  attributesType: undefined, attributesJson: undefined, stateJson: typeof state === "string" ? state : JSON.stringify(state), nowMs, words: en, ...more,
});
/** All texts of a tree. @param {any} piece @returns {string[]} */
const texts = (piece) => piece === undefined ? [] : piece.children ? piece.children.flatMap(texts)
  : piece.text !== undefined ? [piece.text] : piece.label !== undefined ? [piece.label] : [];
/** @param {any} piece @param {string} type @returns {any[]} */
const find = (piece, type) => piece.type === type ? [piece] : (piece.children ?? []).flatMap((/** @type {any} */ child) => find(child, type));

const unreadState = {
  notifications: [
    { id: "n_1", title: "Porta", subtitle: "Ingresso", bucketId: "b_1", bucketName: "Casa", createdAt: since2001 },
    { id: "n_2", title: "Build 7", bucketId: "b_2", bucketName: "CI", createdAt: since2001 },
  ],
  unreadCount: 12, lastUpdate: since2001,
};

Deno.test("unread notifications show their true number, the icons of their buckets, and how to view all", () => {
  const shown = draw(unreadState);
  assert.deepEqual(shown.renderer, "unread");
  assert.deepEqual(texts(shown.lockScreen), ["Notifications", "12 unread", "Porta", "Ingresso", "Build 7", "10 more", "Tap to view all"]);
  assert.deepEqual(find(shown.lockScreen, "icon").map(({ letter }) => letter), ["C", "C"]);
  assert.deepEqual(texts(shown.compactTrailing), ["12"]);
  assert.ok(shown.spoken.startsWith("12 unread. Porta, Ingresso"));
  assert.deepEqual(texts(draw({ notifications: [], unreadCount: 0 }).lockScreen).slice(0, 2), ["Notifications", "All read"]);
  assert.deepEqual(texts(draw({ ...unreadState, unreadCount: 1e6 }).minimal), ["99+"]);
});

Deno.test("at most five notifications are shown", () => {
  const notifications = Array.from({ length: 20 }, (_, index) => ({ id: `${index}`, title: `T${index}`, bucketId: "b" }));
  assert.deepEqual(find(draw({ notifications, unreadCount: 20 }).lockScreen, "icon").length, 5);
});

Deno.test("a room is yellow while it waits and green while a peer is connected", () => {
  const state = { phase: "waiting", roomId: "a1".repeat(24), title: "Waiting for peer", colorHex: "#F7C948", lastUpdated: since2001 - 65 };
  const waiting = draw(state);
  assert.deepEqual(waiting.minimal, { type: "dot", color: "#F7C948" });
  assert.deepEqual(texts(waiting.lockScreen), ["Waiting for peer", "Room a1a1a1a1…", "1:05"]);
  const connected = draw({ ...state, phase: "connected", title: "Peer connected", colorHex: "red; background: url(x)" });
  assert.deepEqual(connected.minimal, { type: "dot", color: "#34C759" }, "a colour that is not #RRGGBB is not used");
  assert.deepEqual(texts(draw(state, { words: it }).lockScreen)[0], it.roomWaiting);
  assert.deepEqual(texts(draw({ ...state, title: "Room of Anna" }).lockScreen)[0], "Room of Anna", "an app's own title");
});

const timerState = { startedAt: since2001 - 600, isPaused: false, duration: 1800, methodName: "Workout", sessionType: "countdown", totalPausedDuration: 120 };

Deno.test("a timer counts from its start without its pauses", () => {
  const running = draw(timerState);
  assert.deepEqual(texts(running.compactTrailing), ["22:00"]);
  assert.deepEqual(find(running.lockScreen, "progress")[0].part, 480 / 1800);
  assert.ok(running.ticks);
  assert.deepEqual(texts(draw(timerState, { nowMs: nowMs + 30_000 }).compactTrailing), ["21:30"]);
  assert.deepEqual(texts(draw({ ...timerState, sessionType: "countup" }).compactTrailing), ["8:00"]);
  const open = draw({ ...timerState, duration: 0, sessionType: "freestyle" });
  assert.deepEqual([texts(open.compactTrailing), find(open.lockScreen, "progress").length, open.minimal.type], [["8:00"], 0, "symbol"]);
});

Deno.test("a paused timer stands still, and a completed one is at its end", () => {
  const state = { ...timerState, pausedAt: since2001 - 60, isPaused: true };
  const paused = draw(state, { nowMs: nowMs + 3_600_000 });
  assert.deepEqual([texts(paused.compactTrailing), paused.ticks], [["23:00"], false]);
  assert.ok(texts(paused.lockScreen).includes("Paused") && texts(paused.lockScreen).includes("Resume"));
  const completed = draw({ ...timerState, sessionType: "completed" });
  assert.deepEqual([texts(completed.compactTrailing), completed.ticks], [["0:00"], false]);
  assert.ok(!texts(completed.lockScreen).includes("Stop"));
});

Deno.test("dates are read in each form of an app", () => {
  assert.deepEqual(dateMs(since2001, "any"), nowMs);
  assert.deepEqual(dateMs(nowMs / 1000, "any"), nowMs);
  assert.deepEqual(dateMs(nowMs / 1000, "unix"), nowMs);
  assert.deepEqual(dateMs(since2001, "foundation"), nowMs);
  assert.deepEqual(dateMs("2026-11-24T12:00:00.000Z", "iso8601"), nowMs);
  for (const value of ["soon", "2026", "1e99", NaN, 1e300, null, [], {}, true, ""]) assert.deepEqual(dateMs(value, "any"), undefined, `${value}`);
  const iso = { ...timerState, startedAt: "2026-11-24T11:50:00Z" };
  assert.deepEqual(texts(draw(iso).compactTrailing), ["22:00"]);
  assert.deepEqual([clockText(-1), clockText(3_723_000), clockText(1e300)], ["0:00", "1:02:03", "99:59:59"]);
});

Deno.test("other states are lists of names and values", () => {
  const shown = draw({ score: "1:0", teams: { home: "Roma", away: "Lazio" }, minute: 63, goals: [9, 44], live: true, note: null, deep: { a: { b: { c: { d: 1 } } } } },
    { attributesType: "MatchAttributes" });
  assert.deepEqual(shown.renderer, "generic");
  assert.deepEqual(texts(shown.lockScreen), ["Match", "score", "1:0", "teams.home", "Roma", "teams.away", "Lazio", "minute", "63",
    "goals.0", "9", "goals.1", "44", "and 3 more"]);
  assert.deepEqual(texts(draw({}).lockScreen), ["Live Activity", "No content"]);
});

const hostile = [
  "", "null", "[]", "7", '"x"', "{", "\u0000", "{}", '{"__proto__":{"phase":"connected"}}', '{"constructor":1,"toString":2,"hasOwnProperty":3}',
  '{"notifications":null,"unreadCount":{}}', '{"notifications":[null,1,"x",[],{"title":{},"bucketName":[]}],"unreadCount":-1e308}',
  '{"notifications":[{"__proto__":null}],"unreadCount":"<img src=x onerror=alert(1)>"}',
  '{"phase":"connected","roomId":{},"colorHex":"javascript:alert(1)","title":["<b>"],"lastUpdated":"x"}', '{"phase":"__proto__","roomId":null}',
  '{"startedAt":null,"duration":-5,"sessionType":[]}', '{"startedAt":1e308,"duration":1e308,"totalPausedDuration":1e308,"sessionType":"countdown"}',
  '{"startedAt":"9999999-01-01T00:00:00Z","pausedAt":{},"duration":"1800","sessionType":7,"methodName":{"a":1}}',
  `{"a":${"[".repeat(1500)}${"]".repeat(1500)}}`, `{"${"k".repeat(2000)}":"${"\u202Eevil ".repeat(300)}"}`,
  JSON.stringify(Object.fromEntries(Array.from({ length: 400 }, (_, index) => [`k${index}`, index]))), '{"e":"\\ud800","f":"👩‍👩‍👧‍👦\\u0000\\n"}',
];

Deno.test("no state throws, and none brings more than short texts and known colours", () => {
  /** @param {any} piece */
  const check = (piece) => {
    if (piece === undefined) return;
    assert.ok(["column", "row", "text", "clock", "symbol", "dot", "progress", "icon", "button", "space", "line"].includes(piece.type), piece.type);
    if (piece.text !== undefined) assert.ok(typeof piece.text === "string" && piece.text.length <= 1200 && !/[\p{Cc}\u202E]/u.test(piece.text));
    if (piece.color !== undefined) assert.ok(/^#[0-9A-Fa-f]{6}$/.test(piece.color), piece.color);
    if (piece.part !== undefined) assert.ok(piece.part >= 0 && piece.part <= 1, `${piece.part}`);
    for (const child of piece.children ?? []) check(child);
  };
  for (const stateJson of hostile) {
    for (const attributesType of [undefined, "", "__proto__", "x".repeat(5000), "\u202E<b>"]) {
      for (const attributesJson of [undefined, "[", '{"roomId":[]}', "null"]) {
        const shown = present({ attributesType, attributesJson, stateJson, nowMs, words: it });
        for (const part of [shown.lockScreen, shown.compactLeading, shown.compactTrailing, shown.minimal, shown.watch, ...Object.values(shown.expanded)]) check(part);
        assert.ok(typeof shown.spoken === "string");
      }
    }
  }
});

Deno.test("a text that is no JSON object is reported", () => {
  assert.deepEqual(draw("[1]").problem, en.notJSON);
  assert.deepEqual(draw("{}").problem, undefined);
});

Deno.test("an app adds a renderer; one that fails gives way to the generic one", () => {
  /** @type {Pick<import("../../Sources/Console/Web/renderers/types.d.ts").Renderer, "fits">} */
  const base = { fits: ({ state }) => "score" in state };
  const remove = register({ ...base, name: "match", render: () => { throw new Error("no pitch"); } });
  const failed = draw({ score: "1:0" });
  assert.deepEqual([failed.renderer, failed.problem], ["generic", "match: no pitch"]);
  remove();
  const again = register({ ...base, name: "match", render: (input) => ({ ...draw({}), spoken: `${input.state.score}` }) });
  assert.deepEqual([draw({ score: "1:0" }).renderer, draw({ score: "1:0" }).spoken], ["match", "1:0"]);
  again();
  assert.deepEqual(draw({ score: "1:0" }).renderer, "generic");
});
