// The client with a running suite: GATEWAY is its URL, KEY a user's key, and CUTTING a proxy that cuts connections.
import assert from "node:assert/strict";
import { CallError, Client, type WatchEvent, type WatchState } from "../../Clients/TypeScript/campanile.js";
import { NotificationsService, TransferService } from "../../Clients/TypeScript/generated/campanile.notifications.v1.js";
import { ZonesService, type WatchZoneChangesResponse } from "../../Clients/TypeScript/generated/campanile.sync.v1.js";

const [gateway, cutting, key] = ["GATEWAY", "CUTTING", "KEY"].map((name) => Deno.env.get(name) ?? "") as [string, string, string];
const headers = () => ({ authorization: `Bearer ${key}` });
const client = new Client(gateway, { headers });

async function withBucket(name: string, body: (bucketId: string) => Promise<void>): Promise<void> {
  const { bucket } = await client.call(NotificationsService.createBucket, { bucket: { name } });
  assert(bucket?.id);
  try {
    await body(bucket.id);
  } finally {
    await client.call(NotificationsService.deleteBucket, { bucketId: bucket.id });
  }
}

async function failure(promise: Promise<unknown>): Promise<CallError> {
  const error = await promise.then(() => undefined, (thrown) => thrown);
  assert(error instanceof CallError, String(error));
  return error;
}

Deno.test("objects are created and listed", () =>
  withBucket("Listed", async (bucketId) => {
    const { notification } = await client.call(NotificationsService.createNotification, { notification: { bucketId, title: "à" } });
    assert.equal(notification?.priority, "PRIORITY_NORMAL");
    const { notifications } = await client.call(NotificationsService.listNotifications, { bucketId });
    assert.deepEqual(notifications?.map(({ id, title }) => [id, title]), [[notification.id, "à"]]);
  }));

Deno.test("errors have the service's reason and violations", async () => {
  const missing = await failure(client.call(NotificationsService.getNotification, { notificationId: "nothing" }));
  assert.equal(missing.code, "NOT_FOUND");
  assert.notEqual(missing.reason, "");
  const invalid = await failure(client.call(NotificationsService.createBucket, { bucket: { name: "x".repeat(10_000) } }));
  assert.equal(invalid.code, "INVALID_ARGUMENT");
  assert.equal(invalid.fieldViolations[0]?.field, "bucket.name");
  const stranger = await failure(new Client(gateway).call(NotificationsService.listBuckets, {}));
  assert.equal(stranger.code, "UNAUTHENTICATED");
  assert.notEqual(stranger.reason, "");
  const watch = new Client(gateway).watch(NotificationsService.watchNotifications, {});
  assert.equal((await failure(watch.next())).code, "UNAUTHENTICATED");
});

Deno.test("a finite stream ends", () =>
  withBucket("Exported", async (bucketId) => {
    const names: (string | undefined)[] = [];
    for await (const { entry } of client.stream(TransferService.exportUserData, {})) {
      if (entry?.bucket?.id === bucketId) names.push(entry.bucket.name);
    }
    assert.deepEqual(names, ["Exported"]);
  }));

Deno.test("a watch over a connection that is cut again and again loses and repeats nothing", () =>
  withBucket("Cut", async (bucketId) => {
    const states: WatchState[] = [];
    const watch = new Client(cutting, { headers }).watch(NotificationsService.watchNotifications, { bucketId }, {
      onState: (state) => states.push(state),
    });
    const expected = Array.from({ length: 40 }, (_, number) => `change ${number}`);
    const found: string[] = [];
    let writing: Promise<void> | undefined;
    for await (const event of watch) {
      assert(event.kind === "message");
      writing ??= (async () => {
        for (const title of expected) await client.call(NotificationsService.createNotification, { notification: { bucketId, title } });
      })();
      const title = event.message.change?.notificationCreated?.title;
      if (title) found.push(title);
      if (title === expected.at(-1)) break;
    }
    await writing;
    assert.deepEqual(found, expected);
    assert(states.filter(({ state }) => state === "waiting").length >= 5, `${states.length} states`);
  }));

Deno.test("a token that is too old gives a gap and then the new changes", async () => {
  const zoneId = "gap";
  await client.call(ZonesService.createZone, { zoneId });
  const first = await client.watch(ZonesService.watchZoneChanges, { zoneId }).next();
  assert(first.value.kind === "message");
  const resumeToken = first.value.token;
  assert(resumeToken);
  await client.call(ZonesService.deleteZone, { zoneId });
  await client.call(ZonesService.createZone, { zoneId });
  const events: WatchEvent<WatchZoneChangesResponse>[] = [];
  for await (const event of client.watch(ZonesService.watchZoneChanges, { zoneId, resumeToken })) {
    events.push(event);
    if (events.length === 2) break;
  }
  assert(events[0]?.kind === "gap" && events[0].error.reason === "TOKEN_TOO_OLD");
  assert(events[1]?.kind === "message" && events[1].message.started);
  await client.call(ZonesService.deleteZone, { zoneId });
});
