import assert from "node:assert/strict";
import { computed, effect, flush, onDispose, Scope, signal } from "../../Sources/Console/Web/signals.js";

Deno.test("an effect runs again after what it read has changed, once for all changes of a turn", () => {
  const a = signal(1), b = signal(2);
  /** @type {number[]} */
  const seen = [];
  effect(() => { seen.push(a.value + b.value); });
  a.value = 10;
  b.value = 20;
  flush();
  assert.deepEqual(seen, [3, 30]);
});

Deno.test("an equal value changes nothing", () => {
  const a = signal(NaN);
  let runs = 0;
  effect(() => { void a.value; runs++; });
  a.value = NaN;
  flush();
  assert.equal(runs, 1);
});

Deno.test("a computed value is computed when it is read, and hides equal results", () => {
  const a = signal(1);
  let computations = 0, runs = 0;
  const isOdd = computed(() => { computations++; return a.value % 2 === 1; });
  assert.equal(computations, 0);
  effect(() => { void isOdd.value; runs++; });
  a.value = 3;
  flush();
  assert.deepEqual([computations, runs], [2, 1]);
  a.value = 4;
  flush();
  assert.equal(runs, 2);
});

Deno.test("a diamond runs once and sees consistent values", () => {
  const a = signal(1), left = computed(() => a.value * 2), right = computed(() => a.value * 3);
  /** @type {number[][]} */
  const seen = [];
  effect(() => { seen.push([left.value, right.value]); });
  a.value = 2;
  flush();
  assert.deepEqual(seen, [[2, 3], [4, 6]]);
});

Deno.test("what is no longer read is no longer followed", () => {
  const isOn = signal(true), a = signal(1);
  let runs = 0;
  effect(() => { runs++; if (isOn.value) void a.value; });
  isOn.value = false;
  flush();
  a.value = 2;
  flush();
  assert.equal(runs, 2);
});

Deno.test("effects end with their scope, inner ones also when the outer one runs again", () => {
  const a = signal(0), scope = new Scope(undefined);
  /** @type {string[]} */
  const log = [];
  scope.run(() => effect(() => {
    const value = a.value;
    effect(() => { void a.value; onDispose(() => log.push(`end ${value}`)); });
  }));
  a.value = 1;
  flush();
  assert.deepEqual(log, ["end 0"]);
  scope.dispose();
  a.value = 2;
  flush();
  assert.deepEqual(log, ["end 0", "end 1"]);
});

Deno.test("an error of an effect reaches the nearest handler", () => {
  const a = signal(0), scope = new Scope(undefined);
  /** @type {unknown[]} */
  const errors = [];
  scope.handle = (error) => errors.push(error);
  scope.run(() => effect(() => { if (a.value > 0) throw "wrong"; }));
  a.value = 1;
  flush();
  assert.deepEqual(errors, ["wrong"]);
});

Deno.test("an error without a handler is reported, and the other effects run", () => {
  const a = signal(0), ends = [effect(() => { if (a.value > 0) throw "first"; })];
  let seen = -1;
  ends.push(effect(() => { seen = a.value; }));
  /** @type {unknown[]} */
  const reported = [];
  const listener = (/** @type {ErrorEvent} */ event) => {
    event.preventDefault();
    reported.push(event.error);
  };
  addEventListener("error", listener);
  a.value = 1;
  flush();
  removeEventListener("error", listener);
  assert.deepEqual([seen, reported], [1, ["first"]]);
  for (const end of ends) end();
});

Deno.test("an effect that changes what it reads is stopped", () => {
  const a = signal(0), isOn = signal(false);
  const end = effect(() => { if (isOn.value) a.value = a.value + 1; });
  isOn.value = true;
  assert.throws(() => flush(), /changes what it reads/);
  end();
});
