// Compile-time checks of the types. A line after @ts-expect-error is an error if the compiler accepts it.
import { Client } from "../../Clients/TypeScript/campanile.js";
import { NotificationsService } from "../../Clients/TypeScript/generated/campanile.notifications.v1.js";
import { DevicesService } from "../../Clients/TypeScript/generated/campanile.sync.v1.js";
import { Health } from "../../Clients/TypeScript/generated/grpc.health.v1.js";
import type { Bucket, NotificationChange, WatchNotificationsResponse } from "../../Clients/TypeScript/generated/campanile.notifications.v1.js";
import type { Awkward, Choices, MapFields, Scalars, WellKnown } from "./generated/campanile.testing.v1.js";

type Equal<A, B> = (<T>() => T extends A ? 1 : 2) extends (<T>() => T extends B ? 1 : 2) ? true : false;
function check<_ extends true>(): void {}

check<Equal<NonNullable<Scalars["anInt64"]>, string>>();
check<Equal<NonNullable<Scalars["aUint64"]>, string>>();
check<Equal<NonNullable<Scalars["anInt32"]>, number>>();
check<Equal<NonNullable<Scalars["someBytes"]>, string>>();
check<Equal<NonNullable<Scalars["aDouble"]>, number | "NaN" | "Infinity" | "-Infinity">>();
check<Equal<NonNullable<Choices.Nested["kind"]>, "KIND_UNSPECIFIED" | "KIND_ONE">>();
check<Equal<NonNullable<MapFields["fixed32ToUint64"]>, Record<string, string>>>();
check<Equal<Exclude<WellKnown["int64Value"], undefined>, string | null>>();
check<Equal<Exclude<WellKnown["nullValue"], undefined>, null>>();
check<Equal<NonNullable<WellKnown["timestamp"]>, string>>();
check<Equal<NonNullable<WellKnown["fieldMask"]>, string>>();
check<Equal<NonNullable<Awkward["cus\"tom"]>, string>>();

export const known: WellKnown = { struct: { a: [1, null, { b: true }] }, any: { "@type": "x/y", value: 1 }, empty: {} };
// @ts-expect-error: a Struct is an object.
export const notStruct: WellKnown = { struct: 1 };
// @ts-expect-error: Empty has no members.
export const notEmpty: WellKnown = { empty: { a: 1 } };

const client = new Client("");

export async function calls(): Promise<void> {
  const { bucket } = await client.call(NotificationsService.createBucket, { bucket: { name: "Home", color: undefined } });
  check<Equal<typeof bucket, Bucket | undefined>>();
  // @ts-expect-error: the field has another type.
  await client.call(NotificationsService.createBucket, { bucket: { name: 1 } });
  // @ts-expect-error: no such field.
  await client.call(NotificationsService.createBucket, { bucket: { named: "Home" } });
  // @ts-expect-error: no such method.
  await client.call(NotificationsService.createBuckets, {});
  // @ts-expect-error: the method streams its responses.
  await client.call(NotificationsService.watchNotifications, {});
  // @ts-expect-error: the method is unary.
  client.stream(NotificationsService.listBuckets, {});
}

export async function streams(): Promise<void> {
  for await (const event of client.watch(NotificationsService.watchNotifications, { bucketId: "b" })) {
    if (event.kind === "gap") {
      check<Equal<typeof event.error.reason, string>>();
      continue;
    }
    check<Equal<typeof event.message, WatchNotificationsResponse>>();
    check<Equal<typeof event.message.change, NotificationChange | undefined>>();
  }
  client.watch(DevicesService.watchUpdates, { deviceId: "phone" }, {
    advance: ({ sequence }) => ({ afterSequence: sequence }),
  });
  // @ts-expect-error: a method without tokens needs `advance`.
  client.watch(DevicesService.watchUpdates, { deviceId: "phone" });
  for await (const response of client.stream(Health.watch, {})) check<Equal<typeof response.status, Health | undefined>>();
}

type Health = import("../../Clients/TypeScript/generated/grpc.health.v1.js").HealthCheckResponse.ServingStatus;
