import Hummingbird
import NIOPosix

struct GreetRequest: Decodable { var name: String }
struct GreetResponse: ResponseEncodable { var greeting: String }
struct CountDownRequest: Decodable { var from: Int32 }

let router = Router()
router.post("greet") { request, context in
  let request = try await request.decode(as: GreetRequest.self, context: context)
  if request.name.isEmpty { throw HTTPError(.badRequest, message: "name: must be given") }
  return GreetResponse(greeting: "Hello, \(request.name)!")
}
router.post("countDown") { request, context in
  let request = try await request.decode(as: CountDownRequest.self, context: context)
  guard (0...10).contains(request.from) else { throw HTTPError(.badRequest, message: "from: must be 0 to 10") }
  return Response(
    status: .ok,
    body: ResponseBody { writer in
      for number in (0..<request.from).reversed() {
        try await writer.write(ByteBuffer(string: "data: {\"number\":\(number + 1)}\n\n"))
        try await Task.sleep(for: .milliseconds(100))
      }
      try await writer.finish(nil)
    })
}
let application = Application(
  router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
  onServerRunning: { channel in print(channel.localAddress?.port ?? 0) },
  eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)))
try await application.runService()
