// Calls the echo service with the suite's own client: IN_FLIGHT tasks on one event loop, one connection.
//
// usage: EchoLoad PORT IN_FLIGHT CALLS SIZE      prints {"callsPerSecond":…,"p50Us":…}
import CampanileAPI
import CampanileRPC
import Foundation
import NIOCore
import NIOPosix

let numbers = CommandLine.arguments.dropFirst().compactMap { Int($0) }
guard numbers.count == 4 else {
  FileHandle.standardError.write(Data("usage: EchoLoad PORT IN_FLIGHT CALLS SIZE\n".utf8))
  exit(64)
}
let (port, inFlight, calls, size) = (numbers[0], numbers[1], numbers[2], numbers[3])
let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
let client = EchoServiceClient(try RPCClient(ClientConfiguration(host: "127.0.0.1", port: port), group: group))
let executor = LoopExecutor(group.next())
let request = {
  var request = EchoRequest()
  request.payload = String(repeating: "x", count: size)
  return request
}()

@Sendable func run(_ count: Int) async throws -> [UInt64] {
  var taken: [UInt64] = []
  taken.reserveCapacity(count)
  for _ in 0..<count {
    let start = DispatchTime.now().uptimeNanoseconds
    let response = try await client.echo(request)
    guard response.payload.utf8.count == size else { throw RPCError(.internalError, "another payload came back") }
    taken.append(DispatchTime.now().uptimeNanoseconds - start)
  }
  return taken
}

_ = try await run(500)
let start = DispatchTime.now().uptimeNanoseconds
let each = max(1, calls / inFlight)
let all = try await withThrowingTaskGroup(of: [UInt64].self) { tasks in
  for _ in 0..<inFlight { tasks.addTask(executorPreference: executor) { try await run(each) } }
  var all: [UInt64] = []
  for try await taken in tasks { all += taken }
  return all
}
let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
let p50 = Double(all.sorted()[all.count / 2]) / 1000
print("{\"callsPerSecond\":\(Double(all.count) / seconds),\"p50Us\":\(p50)}")
