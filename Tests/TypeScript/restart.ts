// Follows a watch while its service is killed and restarted. PID is the service's process.
import assert from "node:assert/strict";
import { CallError, Client } from "../../Clients/TypeScript/campanile.js";
import { NotificationsService } from "../../Clients/TypeScript/generated/campanile.notifications.v1.js";

const headers = { authorization: `Bearer ${Deno.env.get("KEY")}` };
const client = new Client(Deno.env.get("GATEWAY") ?? "", { headers: () => headers });
const { bucket } = await client.call(NotificationsService.createBucket, { bucket: { name: "Restarted" } });
assert(bucket?.id);

async function publish(title: string): Promise<void> {
  for (;;) {
    try {
      // A method that is not idempotent: the request id lets the caller repeat it.
      const notification = { bucketId: bucket?.id, title };
      await client.call(NotificationsService.createNotification, { notification, requestId: title });
      return;
    } catch (error) {
      if (!(error instanceof CallError) || error.code !== "UNAVAILABLE") throw error;
      await new Promise((resolve) => setTimeout(resolve, 100));
    }
  }
}

const titles: (string | undefined)[] = [];
const request = { bucketId: bucket.id };
let isKilled = false;
for await (const event of client.watch(NotificationsService.watchNotifications, request)) {
  assert(event.kind === "message");
  if (event.message.started && !isKilled) {
    isKilled = true;
    await publish("before");
    Deno.kill(Number(Deno.env.get("PID")), "SIGKILL");
    await publish("after");
  }
  const created = event.message.change?.notificationCreated;
  if (created) titles.push(created.title);
  if (titles.at(-1) === "after") break;
}
assert.deepEqual(titles, ["before", "after"]);
