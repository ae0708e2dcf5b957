import CampanileBase
import Logging
import NIOCore
import NIOEmbedded
import Testing

@testable import CampanileRPC

/// The public durations of options, limits and errors, which are stored in milliseconds.
@Suite struct DurationTests {
  private static let durations: [(Duration, Int64)] = [
    (.zero, 0), (.milliseconds(250), 250), (.nanoseconds(1), 1), (.microseconds(1_500), 2), (.seconds(-1), -1_000),
    (.seconds(Int64.max), .max), (.seconds(Int64.min), .min),
  ]

  @Test(arguments: Self.durations)
  func durationsAreRoundedUpToMillisecondsAndClamped(duration: Duration, ms: Int64) {
    var options = CallOptions(timeout: duration)
    #expect(options.timeoutMs == ms && options.timeout == .milliseconds(ms))
    options = CallOptions()
    #expect(options.timeout == nil)
    options.timeout = duration
    #expect(options.timeoutMs == ms)
    options.timeout = nil
    #expect(options.timeoutMs == nil)

    var error = RPCError(.unavailable, "later", retryAfter: duration)
    #expect(error.retryAfterMs == ms && error.retryAfter == .milliseconds(ms))
    error.retryAfter = nil
    #expect(error.retryAfterMs == nil)

    var limits = WireLimits()
    limits.idlePing = duration
    #expect(limits.idlePingMs == ms && limits.idlePing == .milliseconds(ms))

    var configuration = ClientConfiguration(host: "127.0.0.1", port: 1)
    configuration.timeoutDefault = duration
    #expect(configuration.timeoutMsDefault == ms && configuration.timeoutDefault == .milliseconds(ms))
  }

  @Test func eachLimitIsStoredInItsOwnMilliseconds() {
    let pairs: [(WritableKeyPath<WireLimits, Duration>, WritableKeyPath<WireLimits, Int64>)] = [
      (\.floodWindow, \.floodWindowMs), (\.frameTimeout, \.frameTimeoutMs),
      (\.strangerFrameTimeout, \.strangerFrameTimeoutMs), (\.strangerIdle, \.strangerIdleMs),
      (\.idlePing, \.idlePingMs), (\.unresponsive, \.unresponsiveMs), (\.timeoutDefault, \.timeoutMsDefault),
      (\.timeoutMax, \.timeoutMsMax),
    ]
    var (limits, expected) = (WireLimits(), WireLimits())
    for (index, (duration, milliseconds)) in pairs.enumerated() {
      limits[keyPath: duration] = .milliseconds(index + 1)
      expected[keyPath: milliseconds] = Int64(index + 1)
      #expect(limits == expected)
      #expect(limits[keyPath: duration] == .milliseconds(index + 1))
    }
  }

  @Test func deadlineIsRoundedUpAndEndsAtZero() {
    let now = NIODeadline.uptimeNanoseconds(1_000_000_000)
    let deadline = Deadline.after(.microseconds(1_500), now: now)
    #expect(deadline == .after(timeoutMs: 2, now: now))
    #expect(deadline.remaining(now: now + .microseconds(500)) == .milliseconds(2))
    #expect(deadline.remaining(now: now + .seconds(1)) == .zero)
  }

  @Test func delayOfABackoffIsRoundedUpAndNotNegative() {
    func delay(_ initialDelay: Duration) -> Duration {
      Backoff(initialDelay: initialDelay, delayMax: .seconds(2)).delay(failures: 1, random: 0.5)
    }
    #expect(delay(.microseconds(1_500)) == .milliseconds(2))
    #expect(delay(.seconds(-1)) == .zero)
    #expect(delay(.seconds(Int64.max)) == .seconds(2))
  }

  private static let thresholds: [(Duration, Int64)] = [
    (.microseconds(1_500), 2_000_000), (.zero, .max), (.seconds(-1), .max), (.seconds(Int64.max), .max),
    (.seconds(Int64.min), .max),
  ]

  @Test(arguments: Self.thresholds)
  func thresholdOfSlowCallsIsRoundedUpAndNeverOverflows(slowCall: Duration, ns: Int64) {
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    #expect(CallObservation(tracer: nil, slowCall: slowCall, logger: logger).slowNs == ns)
  }

  /// Sets the timeout of each call, and records what remains of it at the call's start.
  private struct Timed: CallDispatcher {
    let timeout: Duration
    let remaining = ClientLog<Duration?>()

    func startCall(_ call: ServerCall, method: UnsafeRawBufferPointer, params: UnsafeRawBufferPointer) {
      call.setDeadline(timeout: timeout)
      remaining.add(call.deadline?.remaining(now: call.startedAt))
      call.succeed(UnsafeRawBufferPointer(start: nil, count: 0))
      call.handlerEnded()
    }
  }

  private static let timeouts: [(Duration, Duration)] = [
    (.microseconds(1_500), .milliseconds(2)), (.seconds(-1), .zero), (.seconds(Int64.max), WireLimits().timeoutMax),
  ]

  @Test(arguments: Self.timeouts)
  func timeoutOfACallIsRoundedUpAndClamped(timeout: Duration, expected: Duration) throws {
    let loop = EmbeddedEventLoop()
    let dispatcher = Timed(timeout: timeout)
    let logger = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = RPCServer(ServerConfiguration(logger: logger), dispatcher: dispatcher, group: loop)
    let channel = EmbeddedChannel(loop: loop)
    try server.serve(channel)
    try channel.connect(to: SocketAddress(ipAddress: "192.0.2.1", port: 1000)).wait()
    let call = #"{"jsonrpc":"2.0","id":1,"method":"a.B/C"}"#
    var frame = ByteBuffer(integer: UInt32(call.utf8.count))
    frame.writeString(call)
    try channel.writeInbound(frame)
    #expect(dispatcher.remaining.all == [expected])
    _ = try channel.finish()
  }
}
