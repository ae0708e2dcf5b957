import assert from "node:assert/strict";
import { createModel } from "../../Sources/Console/Web/pages/inbox/model.js";
import { apply, join, placeOf } from "../../Sources/Console/Web/pages/inbox/reducer.js";
import { quietWeek } from "../../Sources/Console/Web/pages/inbox/week.js";
import { Scope, signal } from "../../Sources/Console/Web/signals.js";

/** @param {string} id */
const row = (id, bucketId = "b_1", readTime = /** @type {string | undefined} */ (undefined)) => ({ id, bucketId, ...(readTime && { readTime }) });
const list = ["n_9", "n_7", "n_5"].map((id) => row(id)), all = { bucketId: "", unreadOnly: false };
const ids = (/** @type {readonly { id?: string | undefined }[]} */ items) => items.map(({ id }) => id);

Deno.test("a new notification takes its place, once", () => {
  const once = apply(list, [{ notificationCreated: row("n_8") }], all, true);
  assert.deepEqual(ids(once), ["n_9", "n_8", "n_7", "n_5"]);
  assert.deepEqual(ids(apply(once, [{ notificationCreated: row("n_8") }], all, true)), ids(once));
  assert.equal(list.length, 3);
});

Deno.test("rows below an incomplete list wait for their page", () => {
  assert.deepEqual(ids(apply(list, [{ notificationCreated: row("n_1") }], all, false)), ["n_9", "n_7", "n_5"]);
  assert.deepEqual(ids(apply(list, [{ notificationCreated: row("n_1") }], all, true)), ["n_9", "n_7", "n_5", "n_1"]);
});

Deno.test("a filter keeps others out, and a row that is read meanwhile stays", () => {
  assert.deepEqual(apply(list, [{ notificationCreated: row("n_8", "b_2") }], { bucketId: "b_1", unreadOnly: false }, true), list);
  assert.deepEqual(apply(list, [{ notificationCreated: row("n_8", "b_1", "2026-01-01T00:00:00Z") }], { bucketId: "", unreadOnly: true }, true), list);
  const read = apply(list, [{ notificationUpdated: row("n_7", "b_1", "2026-01-01T00:00:00Z") }], { bucketId: "", unreadOnly: true }, true);
  assert.equal(read[1].readTime, "2026-01-01T00:00:00Z");
});

Deno.test("deletions and read marks apply", () => {
  assert.deepEqual(ids(apply(list, [{ notificationDeleted: { notificationId: "n_7" } }], all, true)), ["n_9", "n_5"]);
  assert.deepEqual(apply(list, [{ notificationDeleted: { notificationId: "n_6" } }], all, true), list);
  assert.deepEqual(apply(list, [{ bucketDeleted: { bucketId: "b_1" } }], all, true), []);
  const marked = apply(list, [{ notificationsMarkedRead: { throughNotificationId: "n_7", readTime: "t" } }], all, true);
  assert.deepEqual(marked.map(({ readTime }) => readTime), [undefined, "t", "t"]);
  assert.deepEqual(apply(list, [{}], all, true), list);
});

Deno.test("pages join without repetition, and absent ids belong to the end", () => {
  assert.deepEqual(ids(join(list, [row("n_5"), row("n_3")])), ["n_9", "n_7", "n_5", "n_3"]);
  assert.deepEqual(ids(join([], list)), ids(list));
  assert.equal(placeOf(list, "n_0"), 3);
});

Deno.test("a hundred thousand rows are changed in milliseconds, by halving", () => {
  const many = Array.from({ length: 100_000 }, (_, index) => row(`n_${String(999_999 - index).padStart(8, "0")}`));
  const changed = apply(many, [{ notificationUpdated: row("n_00950000", "b_1", "t") }], all, true);
  assert.equal(changed[49_999].readTime, "t");
});

Deno.test("quiet hours pass midnight and the end of the week", () => {
  const week = quietWeek([{ days: ["DAY_OF_WEEK_SUNDAY"], start: "22:00", end: "07:30" }, { start: "13:00", end: "14:00" }]);
  assert.deepEqual(week[6], [[780, 840], [1320, 1440]]);
  assert.deepEqual(week[0], [[0, 450], [780, 840]]);
  assert.deepEqual(week[1], [[780, 840]]);
  assert.deepEqual(quietWeek([{ days: ["DAY_OF_WEEK_MONDAY"], start: "00:00", end: "24:00" }])[0], [[0, 1440]]);
});

Deno.test("the end of an action keeps a selection that was made meanwhile, and a failed one its own", async () => {
  let end = () => {}, isOffline = false;
  /** @type {unknown[]} */
  const failures = [];
  const call = (/** @type {{ path: string }} */ { path }) => isOffline ? Promise.reject(new Error("offline"))
    : path.endsWith("/UndeleteNotifications") ? new Promise((resolve) => { end = () => resolve({}); }) : Promise.resolve({ notifications: list });
  const context = { client: { call }, route: signal({ parts: ["all"], query: {} }), navigate() {}, notify() {}, fail: (/** @type {unknown} */ error) => failures.push(error), watch: () => () => {} };
  const scope = new Scope(), model = scope.run(() => createModel(/** @type {any} */ (context), /** @type {any} */ ({ restored: String })));
  model.toggle("n_7");
  const restored = model.restore();
  assert.equal(model.selection.value.size, 0);
  model.toggle("n_9");
  end();
  await restored;
  assert.deepEqual([...model.selection.value], ["n_9"]);
  assert.equal(failures.length, 0);
  isOffline = true;
  await model.restore();
  assert.deepEqual([...model.selection.value], ["n_9"]);
  assert.equal(failures.length, 1);
  scope.dispose();
});
