import CampanileNotifications
import Foundation

#if canImport(Glibc)
  import Glibc
#else
  import Darwin
#endif

// A process that tests run alongside others and kill.
//   client-process outbox PATH LOG OBJECT COUNT   adds calls to two objects, prints each once it is durable, and sends
//   client-process gateway PATH BUCKET OBJECT COUNT   the same at the gateway of CAMPANILE_CLIENT_URL
//   client-process renew PATH ISSUER COUNT        renews a credential of a store COUNT times
let arguments = CommandLine.arguments

@Sendable func append(_ line: String, to descriptor: Int32) {
  let bytes = Array((line + "\n").utf8)
  _ = write(descriptor, bytes, bytes.count)
}

/// A server that writes each accepted call to a file.
struct LoggingServer: JSONCaller {
  let descriptor: Int32

  func call(
    _ method: MethodDescriptor, json: [UInt8], options: CallOptions
  ) async throws(RPCError) -> [UInt8] {
    guard let request = try? CreateNotificationRequest(jsonUTF8: json) else {
      throw RPCError(.internalError, "damaged")
    }
    append(request.notification?.title ?? "", to: descriptor)
    return Array("{}".utf8)
  }
}

func runOutbox(path: String, server: some JSONCaller, bucketID: String, object: String, count: Int) async throws {
  let outbox = Outbox(path: path)
  let sender = Task { try await outbox.run(through: server) { append("failed \($0)", to: STDERR_FILENO) } }
  for number in 0..<count {
    let title = "\(object)\(number % 2) \(number)"
    let request = CreateNotificationRequest(notification: .init(bucketId: bucketID, title: title))
    do throws(RPCError) {
      try outbox.add(NotificationsServiceMethods.createNotification, request, object: "\(object)\(number % 2)")
      append(title, to: STDOUT_FILENO)
    } catch {
      guard error.reason == "OUTBOX_FULL" else { throw error }
    }
    await Task.yield()
  }
  sender.cancel()
  _ = try? await sender.value
}

/// Renews credentials. Each renewal secret is valid once, as at an issuer that rotates them.
func renew(path: String, issuer: String, count: Int) async throws {
  let store = FileCredentialStore(path: path)
  let credentials = StoredCredentials(store) { stale in
    guard let valid = try? String(contentsOfFile: issuer, encoding: .utf8), valid == stale.renewalSecret,
      let number = Int(valid)
    else { throw RPCError(.unauthenticated, "the renewal secret was used before", reason: "RENEWAL_REUSED") }
    do { try await Task.sleep(for: .milliseconds(2)) } catch {}
    try? "\(number + 1)".write(toFile: issuer, atomically: true, encoding: .utf8)
    return Credential("secret-\(number + 1)", renewalSecret: "\(number + 1)")
  }
  for _ in 0..<count {
    guard let current = try await credentials.credential() else { throw RPCError(.internalError, "no credential") }
    guard let next = try await credentials.replacement(for: current), next != current else {
      throw RPCError(.internalError, "no replacement")
    }
    append(next.secret, to: STDOUT_FILENO)
  }
}

switch arguments.dropFirst().first {
case "outbox":
  let server = LoggingServer(descriptor: open(arguments[3], O_WRONLY | O_CREAT | O_APPEND, 0o600))
  try await runOutbox(
    path: arguments[2], server: server, bucketID: "", object: arguments[4], count: Int(arguments[5]) ?? 0)
case "gateway":
  let variables = ProcessInfo.processInfo.environment
  guard let url = URL(string: variables["CAMPANILE_CLIENT_URL"] ?? ""), let key = variables["CAMPANILE_CLIENT_KEY"]
  else {
    exit(64)
  }
  try await runOutbox(
    path: arguments[2], server: Campanile(url, credentials: FixedCredential(key: key)).caller, bucketID: arguments[3],
    object: arguments[4], count: Int(arguments[5]) ?? 0)
case "renew": try await renew(path: arguments[2], issuer: arguments[3], count: Int(arguments[4]) ?? 0)
default: exit(64)
}
