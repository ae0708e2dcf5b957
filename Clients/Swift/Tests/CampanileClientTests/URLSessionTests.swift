#if os(Linux) || os(macOS)
  import Foundation
  import Testing

  @testable import CampanileClient
  import CampanileNotifications

  /// The transport over real connections.
  struct URLSessionTests {
    private let bucket = Array(#"{"bucket":{"id":"b_1","name":"Builds"}}"#.utf8)

    private func caller(
      _ server: LocalServer, _ configure: (inout HTTPCallerConfiguration) -> Void = { _ in }
    ) -> HTTPCaller {
      var configuration = HTTPCallerConfiguration()
      configure(&configuration)
      return HTTPCaller(server.url, credentials: FixedCredential(key: "cmp_1"), configuration: configuration)
    }

    private func getBucket(_ caller: HTTPCaller, _ options: CallOptions = .init()) async throws -> String {
      try await NotificationsServiceClient(caller).getBucket(.init(bucketId: "b_1"), options: options).bucket?.name
        ?? ""
    }

    @Test func callsShareAConnectionAndSendNoCookies() async throws {
      let server = try LocalServer { [bucket] exchange in
        exchange.respond("200 OK", bucket, headers: "Content-Type: application/json\r\nSet-Cookie: a=b\r\n")
      }
      let caller = caller(server)
      for _ in 0..<3 { #expect(try await getBucket(caller) == "Builds") }
      for head in server.requests {
        let lower = head.lowercased()
        #expect(lower.hasPrefix("post /campanile.notifications.v1.notificationsservice/getbucket http/1.1"))
        #expect(lower.contains("\r\nauthorization: bearer cmp_1"))
        #expect(lower.contains("\r\nconnect-timeout-ms: ") && lower.contains("gzip"))
        #expect(!lower.contains("\r\ncookie:"))
      }
    }

    @Test func compressedResponseIsDecompressed() async throws {
      let text = "H4sIAAAAAAACA6tWSipNzk4tUbKqVspMUbJSSoo3VNJRykvMTQVynEozc1KKlWprAZbuSL8nAAAA"
      let packed = try #require(Data(base64Encoded: text))
      let server = try LocalServer { exchange in
        exchange.respond(
          "200 OK", [UInt8](packed), headers: "Content-Type: application/json\r\nContent-Encoding: gzip\r\n")
      }
      #expect(try await getBucket(caller(server)) == "Builds")
    }

    @Test func endlessResponseIsCutAtTheLimit() async throws {
      let server = try LocalServer { exchange in
        exchange.send("HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n")
        for _ in 0..<200 { exchange.sendChunk([UInt8](repeating: 32, count: 100_000)) }
        exchange.waitForClose()
      }
      let error = await rpcError { try await getBucket(caller(server) { $0.responseBytesMax = 1_000_000 }) }
      #expect(error?.reason == "RESPONSE_TOO_LARGE")
    }

    @Test(arguments: ["301 Moved Permanently", "302 Found", "307 Temporary Redirect", "308 Permanent Redirect"])
    func redirectIsRefused(status: String) async throws {
      let other = try LocalServer { [bucket] exchange in exchange.respond("200 OK", bucket) }
      let location = "Location: \(other.url)/x\r\n"
      let server = try LocalServer { exchange in exchange.respond(status, [], headers: location) }
      let error = await rpcError { try await getBucket(caller(server), CallOptions(attemptsMax: 1)) }
      #expect(error?.reason == "REDIRECT_REFUSED")
      #expect(other.requests.isEmpty)
    }

    @Test func refusedConnectionIsNotProcessed() async throws {
      let port = try LocalServer { _ in }.port
      let caller = HTTPCaller(URL(string: "http://127.0.0.1:\(port)")!)
      let error = await rpcError { try await getBucket(caller, CallOptions(attemptsMax: 2)) }
      #expect(error?.code == .unavailable && error?.processed == false)
    }

    @Test func cutResponseIsUnavailable() async throws {
      let server = try LocalServer { exchange in
        exchange.respond("200 OK", Array(#"{"bucket":{}}"#.utf8), length: 500)
        shutdown(exchange.descriptor, Int32(SHUT_RDWR))
      }
      let error = await rpcError { try await getBucket(caller(server), CallOptions(attemptsMax: 1)) }
      #expect(error?.code == .unavailable)
    }

    @Test func deadlineAndCancellationCloseTheConnection() async throws {
      let closed = Locked(0)
      let server = try LocalServer { exchange in
        exchange.waitForClose()
        closed.withLock { $0 += 1 }
      }
      let caller = caller(server)
      #expect(await rpcError { try await getBucket(caller, CallOptions(timeoutMs: 100)) }?.code == .deadlineExceeded)
      try await eventually("a closed connection") { closed.withLock { $0 } == 1 }
      let task = Task { await rpcError { try await getBucket(caller) } }
      try await eventually("a second request") { server.requests.count == 2 }
      task.cancel()
      #expect(await task.value?.code == .cancelled)
      try await eventually("a closed connection") { closed.withLock { $0 } == 2 }
    }

    @Test func messagesArriveWhileTheStreamIsOpen() async throws {
      let mayContinue = DispatchSemaphore(value: 0)
      let server = try LocalServer { exchange in
        exchange.beginStream()
        for index in 0..<50 {
          exchange.sendEnvelope(#"{"resumeToken":"\#(index)"}"#)
          mayContinue.wait()
        }
        exchange.sendEnvelope("{}", flags: 2)
        exchange.send("0\r\n\r\n")
      }
      var tokens: [String] = []
      for try await response in NotificationsServiceClient(caller(server)).watchNotifications(.init()) {
        tokens.append(response.resumeToken)
        mayContinue.signal()
      }
      #expect(tokens == (0..<50).map(String.init))
    }

    @Test func releasedStreamClosesTheConnection() async throws {
      let closed = Locked(false)
      let server = try LocalServer { exchange in
        exchange.beginStream()
        exchange.sendEnvelope(#"{"resumeToken":"1"}"#)
        exchange.waitForClose()
        closed.withLock { $0 = true }
      }
      for try await _ in NotificationsServiceClient(caller(server)).watchNotifications(.init()) { break }
      try await eventually("a closed connection") { closed.withLock { $0 } }
    }

    @Test func cutStreamIsUnavailableAfterItsMessages() async throws {
      let server = try LocalServer { exchange in
        exchange.beginStream()
        exchange.sendEnvelope(#"{"resumeToken":"1"}"#)
        exchange.send("20\r\n{\"resumeTok")
        shutdown(exchange.descriptor, Int32(SHUT_RDWR))
      }
      var tokens: [String] = []
      let stream = NotificationsServiceClient(caller(server)).watchNotifications(.init())
      let error = await rpcError { for try await response in stream { tokens.append(response.resumeToken) } }
      #expect(tokens == ["1"])
      #expect(error?.code == .unavailable)
    }

    @Test func watchGoesOnAfterTheServerIsBack() async throws {
      let count = Locked(0)
      let server = try LocalServer { exchange in
        let number = count.withLock { count in
          count += 1
          return count
        }
        exchange.beginStream()
        exchange.sendEnvelope(#"{"resumeToken":"\#(number)","started":{}}"#)
        shutdown(exchange.descriptor, Int32(SHUT_RDWR))
      }
      let campanile = Campanile(server.url)
      var tokens: [String] = []
      for try await event in campanile.notifications.watch() {
        if case .started(let token) = event { tokens.append(token) }
        if tokens.count == 3 { break }
      }
      #expect(tokens == ["1", "2", "3"])
    }
  }
#endif
