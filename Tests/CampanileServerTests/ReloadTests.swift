import CampanileBase
import Logging
import Synchronization
import TestSupport
import Testing

@testable import CampanileServer

/// Changes of settings in a running process.
@Suite struct ReloadTests {
  private let logs = Collector()

  private func loader() -> SettingsLoader {
    SettingsLoader(
      executable: "campanile-test",
      settings: CommonConfiguration.all(defaultPort: 7499) + [.int("rate", default: 1, in: 1...9, help: "a rate")])
  }

  private func load(_ file: String) throws -> Settings {
    guard case .run(let settings) = try loader().load(arguments: ["--config", file], environment: [:]) else {
      throw StartupError("no run")
    }
    return settings
  }

  private func logger() -> Logger {
    Logger(label: "t") { [logs] label in
      CampanileLogHandler(label: label, level: .info, format: .json, sink: logs)
    }
  }

  @Test func reloadAppliesAllSettingsOrNone() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("c.json", #"{"rate": 2, "log-level": "info"}"#)
    let levels = SharedLogLevel(.info)
    let rate = Mutex(2)
    let part = Reloadable(keys: ["rate"]) { settings in
      let asked = try settings.int("rate")
      if asked == 9 { throw StartupError("nine is too many") }
      return { rate.withLock { $0 = asked } }
    }
    let reloader = Reloader(
      settings: try load(file), parts: [.logLevel(levels), part], logger: logger(), load: { try load(file) })

    _ = try folder.file("c.json", #"{"rate": 3, "log-level": "debug"}"#)
    #expect(try await reloader.reload("test") == ["log-level", "rate"])
    #expect(rate.withLock { $0 } == 3 && levels.level == .debug)

    // An error in any part leaves everything unchanged.
    let broken = [
      (#"{"rate": 9, "log-level": "error"}"#, "nine is too many"),
      (#"{"rate": 4, "log-level": "loud"}"#, "log-level"),
      (#"{"rate": 4, "port": 1}"#, "port can be changed only by a restart"),
      (#"{"rate": 4"#, "JSON object"), (#"{"rat": 4}"#, "unknown setting"),
    ]
    for (text, words) in broken {
      _ = try folder.file("c.json", text)
      await #expect(throws: (any Error).self) { try await reloader.reload("test") }
      #expect(logs.all.last?.contains(words) == true, "\(logs.all.last ?? "")")
      #expect(rate.withLock { $0 } == 3 && levels.level == .debug)
    }
    _ = try folder.file("c.json", #"{"rate": 4, "log-level": "debug"}"#)
    #expect(try await reloader.reload("test") == ["rate"])
    #expect(rate.withLock { $0 } == 4)
  }

  @Test func changedFileIsReloadedOnceStable() async throws {
    let folder = try TemporaryFolder()
    let file = try folder.file("c.json", #"{"rate": 2}"#)
    let rate = Mutex(2)
    let part = Reloadable(keys: ["rate"]) { settings in
      let asked = try settings.int("rate")
      return { rate.withLock { $0 = asked } }
    }
    let reloader = Reloader(settings: try load(file), parts: [part], logger: logger(), load: { try load(file) })
    await reloader.check()
    await reloader.check()
    #expect(logs.all.isEmpty)
    _ = try folder.file("c.json", #"{"rate":   7}"#)
    await reloader.check()
    #expect(rate.withLock { $0 } == 2)
    await reloader.check()
    #expect(rate.withLock { $0 } == 7)
    await reloader.check()
    await reloader.check()
    #expect(logs.all.count == 1)
  }

  @Test func watchReportsStableChanges() throws {
    let folder = try TemporaryFolder()
    let one = try folder.file("one", "1")
    let two = folder.path + "/two"
    let paths = [one, two]
    var watch = FileWatch(FileStamp.stamps(paths))
    var seen = [watch.look(FileStamp.stamps(paths))]
    _ = try folder.file("one", "other")
    seen.append(watch.look(FileStamp.stamps(paths)))
    // The second file is written later. Both are reported together.
    _ = try folder.file("two", "2")
    seen.append(watch.look(FileStamp.stamps(paths)))
    seen.append(watch.look(FileStamp.stamps(paths)))
    seen.append(watch.look(FileStamp.stamps(paths)))
    #expect(seen == [false, false, false, true, false])
  }

  @Test func operatorLevelStaysUntilConfiguredLevelChanges() {
    let levels = SharedLogLevel(.info)
    let handler = CampanileLogHandler(label: "t", levels: levels, format: .json, sink: logs)
    var own = handler
    own.logLevel = .error
    levels.set(.trace)
    #expect(handler.logLevel == .trace && own.logLevel == .error)
    levels.configure(.info)
    #expect(levels.level == .trace)
    levels.configure(.warning)
    #expect(levels.level == .warning)
  }

  @Test func runningPortResumesAllWaiters() async throws {
    let running = RunningPort()
    let cancelled = Task { await running.port() }
    cancelled.cancel()
    #expect(await cancelled.value == nil)
    async let first = running.port()
    async let second = running.port()
    running.set(7)
    #expect(await [first, second] == [7, 7])
    #expect(await running.port() == 7)
  }
}

/// Access control of the admin port, and the redirect to HTTPS.
@Suite struct OperatorTests {
  private func request(_ change: (inout OperatorGuard) -> Void = { _ in }) -> OperatorGuard.Refusal? {
    var request = OperatorGuard(peer: "127.0.0.1", host: "127.0.0.1:7600", method: "GET")
    change(&request)
    return request.refusal
  }

  @Test func localProgramsAreServed() {
    #expect(request() == nil)
    for host in ["localhost", "localhost:1", "127.0.0.1", "[::1]:7600", "[::1]", "127.8.9.1:7600"] {
      #expect(request { $0.host = host } == nil)
    }
    for peer in ["::1", "127.3.2.1", "::ffff:127.0.0.1"] { #expect(request { $0.peer = peer } == nil) }
    #expect(request { ($0.method, $0.contentType) = ("POST", "application/json; charset=utf-8") } == nil)
    // A URL entered in a browser's address bar.
    #expect(request { $0.fetchSite = "none" } == nil)
  }

  @Test func otherRequestsAreRejected() {
    for peer in ["192.0.2.1", "10.0.0.1", "::ffff:10.0.0.1", "fe80::1", "", nil] {
      #expect(request { $0.peer = peer } == .notLoopback)
    }
    // DNS rebinding: a page's host name that resolves to 127.0.0.1.
    for host in ["evil.example", "evil.example:7600", "127.0.0.1.evil.example", "localhost.evil.example:7600", "", nil]
    {
      #expect(request { $0.host = host } == .foreignHost)
    }
    #expect(request { $0.hasOrigin = true } == .foreignPage)
    for site in ["cross-site", "same-site", "same-origin"] { #expect(request { $0.fetchSite = site } == .foreignPage) }
    for type in [
      "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx", "", nil,
    ] {
      for method in ["POST", "PUT", "DELETE"] {
        #expect(request { ($0.method, $0.contentType) = (method, type) } == .notJSON)
      }
    }
  }

  @Test(
    arguments: [
      (nil, "api.example", "/a?b=c", 443, "https://api.example/a?b=c"),
      (nil, "api.example:80", "/", 7480, "https://api.example:7480/"),
      (nil, "[2001:db8::1]:80", "/x", 7480, "https://[2001:db8::1]:7480/x"),
      ("https://front.example", "api.example", "/a", 7480, "https://front.example/a"),
      ("https://front.example", nil, "/a", 7480, "https://front.example/a"),
      (nil, nil, "/a", 443, nil), (nil, "api.example/evil", "/a", 443, nil), (nil, "a@evil.example", "/a", 443, nil),
      (nil, "a\r\nSet-Cookie: x", "/a", 443, nil), (nil, "api.example", "http://evil.example/", 443, nil),
      (nil, "api.example", "/a\r\nb", 443, nil), (nil, "api.example", "*", 443, nil),
      (nil, "api.example", nil, 443, nil),
    ] as [(String?, String?, String?, Int, String?)])
  func requestsAreRedirectedToHTTPS(base: String?, authority: String?, path: String?, port: Int, location: String?) {
    let redirect = HTTPSRedirect(base: base)
    #expect(redirect.location(authority: authority, path: path, httpsPort: port) == location)
  }
}
