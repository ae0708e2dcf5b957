import CampanileBase
import CampanileRPC

struct HelloService: HelloServiceProtocol {
  var greeting = "Hello"
  /// Replaced in tests.
  var clock: any Clock<Duration> = ContinuousClock()

  func greet(_ request: GreetRequest, context: CallContext) async throws -> GreetResponse {
    if request.name.isEmpty { throw RPCError.invalidField("name", "must be given") }
    return GreetResponse(greeting: "\(greeting), \(request.name)!")
  }

  func countDown(
    _ request: CountDownRequest, context: CallContext, responses: ResponseSink<CountDownResponse>
  ) async throws {
    guard (0...10).contains(request.from) else { throw RPCError.invalidField("from", "must be 0 to 10") }
    for number in (0..<request.from).reversed() {
      try await responses.send(CountDownResponse(number: number + 1))
      try await clock.sleep(for: .milliseconds(100))
    }
  }
}
