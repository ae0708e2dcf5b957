// The Hummingbird baseline: `POST /echo` decodes a Codable JSON message and encodes it again, on one event loop. Prints its port.
import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOPosix

struct Message: ResponseCodable {
  var payload: String
}

let router = Router()
router.post("echo") { request, context in
  try await request.decode(as: Message.self, context: context)
}
var logger = Logger(label: "echo")
logger.logLevel = .warning
let application = Application(
  router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
  onServerRunning: { channel in
    FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\n".utf8))
  },
  eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), logger: logger)
try await application.runService()
