import assert from "node:assert/strict";
import { fieldOf } from "../../Sources/Console/Web/forms.js";
import { coalesce } from "../../Sources/Console/Web/parts.js";
import { Scope } from "../../Sources/Console/Web/signals.js";

const turns = async () => { for (let turn = 0; turn < 5; turn++) await new Promise((resolve) => setTimeout(resolve)); };

Deno.test("a refusal belongs to the first field whose name is in its path", () => {
  const fields = { subtitle: "second", title: "first", delivertime: "deliver" };
  assert.equal(fieldOf("notification.subtitle", fields), "second");
  assert.equal(fieldOf("notification.title", fields), "first");
  assert.equal(fieldOf("notification.deliver_time", fields), "deliver");
  assert.equal(fieldOf("notification.deliverTime", fields), "deliver");
  assert.equal(fieldOf("variables[who]", fields), "");
});

Deno.test("calls of a moment are one run, and a call during a run makes one more after it", async () => {
  let runs = 0, end = () => {};
  const call = coalesce(() => {
    runs++;
    return new Promise((resolve) => { end = () => resolve(undefined); });
  }, 0);
  call();
  call();
  await turns();
  assert.equal(runs, 1);
  call();
  call();
  await turns();
  assert.equal(runs, 1, "runs do not overlap");
  end();
  await turns();
  assert.equal(runs, 2);
  end();
  await turns();
  assert.equal(runs, 2);
});

Deno.test("a failed run does not stop the next one, and the end of a page stops all", async () => {
  let runs = 0;
  const scope = new Scope(undefined);
  const call = scope.run(() => coalesce(() => {
    runs++;
    return Promise.reject(new Error("planned"));
  }, 0));
  call();
  await turns();
  call();
  await turns();
  assert.equal(runs, 2);
  call();
  scope.dispose();
  await turns();
  assert.equal(runs, 2);
});
