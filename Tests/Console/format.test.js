import assert from "node:assert/strict";
import { clean, createFormat, durationMs, pretty } from "../../Sources/Console/Web/format.js";
import { createCaller } from "../../Sources/Console/Web/caller.js";

const now = Date.parse("2026-11-24T12:00:00Z");
const format = (/** @type {string} */ language, /** @type {"local" | "utc" | "relative"} */ style) =>
  createFormat(language, { style: () => style, now: () => now, zone: "Europe/Rome" });

Deno.test("times are local, UTC or relative", () => {
  assert.equal(format("en", "local").time("2026-11-24T11:30:00Z"), "12:30");
  assert.equal(format("en", "utc").time("2026-11-24T11:30:00Z"), "11:30");
  assert.equal(format("en", "relative").time("2026-11-24T11:30:00Z"), "30 min. ago");
  assert.equal(format("it", "relative").time("2026-11-24T14:00:00Z"), "tra 2 h");
  assert.equal(format("en", "local").time("2026-11-22T11:30:00Z"), "Nov 22");
  assert.equal(format("it", "local").time("2025-11-22T11:30:00Z"), "22 nov 2025");
  assert.match(format("it", "local").full("2026-11-24T11:30:05Z"), /24 nov 2026.*12:30:05.*CET/);
});

Deno.test("absent and invalid times are empty", () => {
  for (const time of [undefined, "", "yesterday"]) {
    const { ago, full, time: short, clock } = format("en", "local");
    assert.deepEqual([ago(time), full(time), short(time), clock(time)], ["", "", "", ""]);
  }
});

Deno.test("numbers have separators, and durations units", () => {
  const { number, duration } = format("it", "local");
  assert.equal(number(1234567), "1.234.567");
  assert.equal(number("18446744073709551615").length > 20, true);
  assert.match(duration(12_000), /^12 s/);
  assert.match(duration(-5), /^0 s/);
  assert.equal(durationMs("1.5s"), 1500);
  assert.equal(durationMs(undefined), 0);
});

Deno.test("texts of others lose invisible characters and excess", () => {
  assert.equal(clean("a\u202eb\u2066c\u0000d\u200f"), "abcd");
  assert.equal(clean("👨‍👩‍👧 é\tx\ny"), "👨‍👩‍👧 é\tx\ny");
  assert.equal(clean("x".repeat(500), 10), `${"x".repeat(10)}…`);
  assert.equal(clean("a😀b", 2), "a…");
  assert.equal(clean(undefined), "");
});

Deno.test("a payload keeps its order on the screen", () => {
  assert.equal(pretty('{"a":"\u202eevil","b":1}'), '{\n  "a": "evil",\n  "b": 1\n}');
  assert.equal(pretty("not \u2066JSON"), "not JSON");
  assert.equal(pretty(undefined), "");
});

Deno.test("a device shows its time and its day", () => {
  assert.deepEqual(format("en", "utc").device(now), { clock: "13:00", date: "Tuesday, November 24" });
});

Deno.test("rights follow the gateway's rules for scopes", () => {
  const may = (/** @type {string[]} */ scopes, /** @type {string} */ scope) => createCaller({ principal: "user/a", scopes }).may(scope);
  assert.equal(may([], "notifications:write"), true);
  assert.equal(may([], "notifications:operate"), false);
  assert.equal(may([], "admin"), false);
  assert.equal(may(["admin"], "activities:operate"), true);
  assert.equal(may(["activities"], "activities:operate"), true);
  assert.equal(may(["activities"], "notifications:read"), false);
  assert.equal(may(["notifications:write"], "notifications:publish"), true);
  assert.equal(may(["notifications:write"], "notifications:read"), false);
  assert.equal(may(["notifications"], "admin"), false);
  assert.equal(createCaller({ principal: "service/x" }).user, "");
});
