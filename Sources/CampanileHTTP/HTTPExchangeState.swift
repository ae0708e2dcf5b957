package import NIOCore

/// The server's half of an HTTP/1.1 connection as a state machine without I/O.
///
/// It handles one exchange at a time, from the first byte of a request to the end of its response. The connection keeps
/// the exchange's contents, such as its call, and performs the actions. Callers pass in the time.
package struct HTTPExchangeState: Sendable {
  /// The connection's next step at the end of a response.
  package enum End: Sendable, Hashable {
    /// The peer has not read enough of the response yet. Call `end` again once the channel is writable.
    case wait
    /// Write the end; the connection accepts the next request.
    case reuse
    /// Write the end, then close.
    case close
  }

  /// The connection's next step after a timeout or input that is not HTTP.
  package enum Fault: Sendable, Hashable {
    case ignore
    /// Refuse the current request, then close.
    case refuse
    /// Respond although there is no request, then close.
    case refuseUnread
    /// Close at once.
    case close
  }

  /// Number of the current request, so that work scheduled for one request does not affect the next.
  package private(set) var number = 0
  /// Whether a request's head has arrived and its response has not ended.
  package private(set) var isOpen = false
  /// Whether the current request has been read completely.
  package private(set) var isRead = false
  /// Whether the head of the current response has been written.
  package private(set) var isHeadSent = false
  /// Whether only the end of the response is missing. It waits until the peer has read more.
  package private(set) var isEndWaiting = false
  /// Whether no further input is processed.
  package private(set) var isClosing = false
  /// Whether the server is shutting down.
  package private(set) var isQuiescing = false
  private var isLast = false
  private var restsUntil: NIODeadline?
  package var timing: HTTPTiming

  package init(now: NIODeadline) { timing = HTTPTiming(now: now) }

  /// Whether the request has been read completely and its response has not ended.
  package var isAnswering: Bool { isOpen && isRead }
  /// Whether the current response may be followed by another request.
  package var keepsAlive: Bool { isOpen && !isLast }
  /// Whether the connection would close if the response ended now. A response before the end of its request ends the
  /// connection, because the rest of the request could be long.
  package var closesAfterResponse: Bool { !keepsAlive || !isRead }

  // MARK: - the request

  package mutating func bytesArrived(now: NIODeadline) { if timing.phase == .idle { timing.enter(.head, now: now) } }

  /// Begins an exchange with the head of its request.
  package mutating func begin(keepsAlive: Bool, now: NIODeadline) {
    number += 1
    (isOpen, isRead, isHeadSent, isEndWaiting) = (true, false, false, false)
    isLast = !keepsAlive
    timing.enter(.body, now: now)
  }

  /// Returns whether part of the current request's body is processed.
  ///
  /// - Parameter streams: Whether the request goes on while its response is being sent.
  package func reads(streams: Bool) -> Bool { isOpen && !isRead && (!isHeadSent || streams) }

  /// Records the end of the request. Returns false if it is not processed; see `reads`.
  package mutating func requestEnded(streams: Bool) -> Bool {
    guard reads(streams: streams) else { return false }
    isRead = true
    return true
  }

  /// Makes the current request the connection's last one.
  package mutating func endAfterResponse() { isLast = true }

  /// Delays the request after the current one.
  package mutating func rest(until deadline: NIODeadline) { restsUntil = deadline }

  /// Returns until when the next request is delayed, once.
  package mutating func takeRest() -> NIODeadline? {
    defer { restsUntil = nil }
    return restsUntil
  }

  // MARK: - the response

  /// Returns whether the head of the response is to be written. Returns true only once per exchange.
  package mutating func sendHead() -> Bool {
    guard isOpen, !isHeadSent, !isClosing else { return false }
    isHeadSent = true
    return true
  }

  /// Ends the response, unless much of it is unread and another request may follow.
  package mutating func end(isWritable: Bool, now: NIODeadline) -> End {
    isEndWaiting = !isWritable && keepsAlive
    guard !isEndWaiting else { return .wait }
    let isReusable = !closesAfterResponse
    abandon()
    isClosing = !isReusable
    timing.enter(.idle, now: now)
    return isReusable ? .reuse : .close
  }

  /// Drops the exchange without a response, or in the middle of it.
  package mutating func abandon() {
    (isOpen, isEndWaiting) = (false, false)
  }

  // MARK: - the connection

  package mutating func close() { isClosing = true }

  package mutating func quiesce() {
    isQuiescing = true
    isLast = true
  }

  /// Returns the step after input that is not HTTP.
  package var parserFault: Fault {
    // Nothing is read behind the last request of a connection. Its response is sent regardless of this error.
    if isClosing && !isOpen || isAnswering && isLast { return .ignore }
    guard isOpen else { return .refuseUnread }
    return isHeadSent ? .close : .refuse
  }

  /// Returns the step that the connection's timeouts require now.
  package func timeoutFault(_ timeouts: HTTPTimeouts, now: NIODeadline) -> Fault {
    guard !isClosing else { return .ignore }
    switch timing.check(timeouts, now: now) {
    case .fine: return .ignore
    case .close: return .close
    case .tooSlow: return isOpen ? .refuse : .refuseUnread
    }
  }
}
