import CampanileBase
import CampanileRPC
import CampanileTesting
import Testing

@testable import service

/// The service of the tutorial, called over a socket.
@Suite(.timeLimit(.minutes(1))) struct HelloServiceTests {
  @Test func greetingsNeedAName() async throws {
    try await withClient(of: [HelloService()]) { client in
      let hello = HelloServiceClient(client)
      let response = try await hello.greet(GreetRequest(name: "Ada"))
      #expect(response.greeting == "Hello, Ada!")
      let error = await #expect(throws: RPCError.self) { try await hello.greet(GreetRequest()) }
      #expect(error?.fieldViolations.map(\.field) == ["name"])
    }
  }

  @Test func numbersFollowTheClock() async throws {
    let clock = TestClock()
    try await withClient(of: [HelloService(clock: clock)]) { client in
      var numbers: [Int32] = []
      for try await response in HelloServiceClient(client).countDown(CountDownRequest(from: 3)) {
        numbers.append(response.number)
        try await clock.waitForSleepers()
        clock.advance(by: .milliseconds(100))
      }
      #expect(numbers == [3, 2, 1])
    }
  }
}
