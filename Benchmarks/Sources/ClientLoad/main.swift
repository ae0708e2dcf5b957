// Load generator with the suite's own client: IN_FLIGHT tasks on one event loop and one connection.
//
// usage: ClientLoad PORT METHOD ARGUMENT IN_FLIGHT CALLS      prints the calls per second
// METHOD and ARGUMENT: echo SIZE, expand MESSAGES, get NOTIFICATION, create BUCKET. The last two call as user/bench,
// with the internal token of CAMPANILE_INTERNAL_TOKEN.
import CampanileAPI
import CampanileBase
import CampanileRPC
import Foundation
import NIOCore
import NIOPosix

let arguments = Array(CommandLine.arguments.dropFirst())
guard arguments.count == 5, let port = Int(arguments[0]), let inFlight = Int(arguments[3]),
  let calls = Int(arguments[4])
else {
  FileHandle.standardError.write(Data("usage: ClientLoad PORT METHOD ARGUMENT IN_FLIGHT CALLS\n".utf8))
  exit(64)
}
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let client = try RPCClient(
  ClientConfiguration(
    host: "127.0.0.1", port: port, token: ProcessInfo.processInfo.environment["CAMPANILE_INTERNAL_TOKEN"]),
  group: group)
let executor = LoopExecutor(group.next())
let echo = EchoServiceClient(client)
let notifications = NotificationsServiceClient(client)
let options = CallOptions(metadata: ["campanile-principal": "user/bench"])

/// Makes one call. Returns whether the response was the expected one.
let call: @Sendable () async throws -> Bool
let number = Int(arguments[2]) ?? 0
switch arguments[1] {
case "echo":
  var request = EchoRequest()
  request.payload = String(repeating: "x", count: number)
  call = { [request] in try await echo.echo(request).payload.utf8.count == number }
case "expand":
  var request = ExpandRequest()
  request.payload = String(repeating: "x", count: 100)
  request.count = Int32(number)
  call = { [request] in
    var seen: Int32 = 0
    for try await message in echo.expand(request) where message.index == seen { seen += 1 }
    return Int(seen) == number
  }
case "get":
  var request = GetNotificationRequest()
  request.notificationId = arguments[2]
  call = { [request] in
    try await notifications.getNotification(request, options: options).notification?.id == request.notificationId
  }
default:
  var draft = CampanileAPI.Notification()
  draft.bucketId = arguments[2]
  draft.title = "A notification"
  draft.body = String(repeating: "x", count: 200)
  draft.priority = .normal
  var request = CreateNotificationRequest()
  request.notification = draft
  call = { [request] in
    try await notifications.createNotification(request, options: options).notification?.id.isEmpty == false
  }
}

@Sendable func run(_ count: Int) async throws {
  for _ in 0..<count {
    guard try await call() else { throw RPCError(.internalError, "unexpected response") }
  }
}

try await run(max(1, min(500, calls / 10)))
let start = ContinuousClock.now
let each = max(1, calls / inFlight)
try await withThrowingTaskGroup(of: Void.self) { tasks in
  for _ in 0..<inFlight { tasks.addTask(executorPreference: executor) { try await run(each) } }
  try await tasks.waitForAll()
}
print(Double(each * inFlight) / ((ContinuousClock.now - start) / .seconds(1)))
