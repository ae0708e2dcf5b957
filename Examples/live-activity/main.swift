import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import Foundation

// Shows a delivery as a Live Activity: starts it, updates its state three times, and ends it.
guard let key = ProcessInfo.processInfo.environment["CAMPANILE_KEY"],
  let gateway = HostPort(CommandLine.arguments.dropFirst().first ?? "127.0.0.1:7400")
else {
  print("usage: CAMPANILE_KEY=cmp_… live-activity [HOST:PORT]")
  exit(64)
}
let client = try RPCClient(ClientConfiguration(addresses: [gateway], token: key))
let activities = ActivitiesServiceClient(client)
/// The app's bundle identifier and APNs environment.
let (app, environment) = ("dev.campanile.example", "development")

func state(_ stopsLeft: Int) -> String { #"{"stopsLeft":\#(stopsLeft)}"# }

// The app has started the activity on the device, and gets its push token from ActivityKit. Here it is a random one.
let started = try await activities.startActivity(
  StartActivityRequest(app: app, environment: environment, origin: .local, contentStateJson: state(3)))
let id = started.activity?.id ?? ""
let token = (0..<64).map { _ in String(Int.random(in: 0..<16), radix: 16) }.joined()
_ = try await PushTokensServiceClient(client).registerPushToken(
  RegisterPushTokenRequest(
    kind: .activityUpdate, token: token, app: app, environment: environment, activityId: id))
print("started \(id), token \(token)")

for stopsLeft in (0..<3).reversed() {
  // Each update is pushed at least once, also if the service or the connection to APNs fails meanwhile.
  _ = try await activities.updateActivity(
    UpdateActivityRequest(activityId: id, contentStateJson: state(stopsLeft)))
  print("\(stopsLeft) stops left")
  try await Task.sleep(for: .seconds(1))
}
_ = try await activities.endActivity(EndActivityRequest(activityId: id))
print("ended")
await client.close()
