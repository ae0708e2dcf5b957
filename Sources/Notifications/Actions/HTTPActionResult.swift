import CampanileBase
import CampanileCodec
import CampanileService

/// The result of an HTTP request made by an action.
struct HTTPActionResult: Sendable, Hashable {
  /// A stable code for the cause of a failure.
  struct Reason: RawRepresentable, Sendable, Hashable {
    var rawValue: String

    static let urlInvalid = Reason(rawValue: "URL_INVALID")
    static let headerInvalid = Reason(rawValue: "HEADER_INVALID")
    /// The host is an address that the server may not call, or a name that does not resolve to an address that it may
    /// call.
    static let addressRefused = Reason(rawValue: "ADDRESS_REFUSED")
    static let connectFailed = Reason(rawValue: "CONNECT_FAILED")
    static let timeout = Reason(rawValue: "TIMEOUT")
    static let tlsFailed = Reason(rawValue: "TLS_FAILED")
    static let tooManyRedirects = Reason(rawValue: "TOO_MANY_REDIRECTS")
    /// A redirect from https to http, or to a URL that is not http or https.
    static let redirectRefused = Reason(rawValue: "REDIRECT_REFUSED")
    static let connectionClosed = Reason(rawValue: "CONNECTION_CLOSED")
    static let responseInvalid = Reason(rawValue: "RESPONSE_INVALID")
    static let requestFailed = Reason(rawValue: "REQUEST_FAILED")
    /// Nothing was sent: there are too many concurrent requests by the user, to the host, or in total.
    static let senderBusy = Reason(rawValue: "SENDER_BUSY")
    static let http1XX = Reason(rawValue: "HTTP_1XX")
    static let http3XX = Reason(rawValue: "HTTP_3XX")
    static let http4XX = Reason(rawValue: "HTTP_4XX")
    static let http5XX = Reason(rawValue: "HTTP_5XX")
  }

  /// The status of the last response; 0 if there was none.
  var status: Int
  /// Nil if the request succeeded: 200 to 299.
  var reason: Reason?
  /// A text for people. Contains no header, body or address.
  var message: String
  /// Whether another attempt may succeed.
  var isRetryable: Bool
  /// The delay requested by the server; nil if it does not request one.
  var retryAfterMs: Int64?

  var isSuccess: Bool { reason == nil }

  /// Returns the result of a request without a response.
  static func failure(_ reason: Reason, _ message: String) -> HTTPActionResult {
    let retryable: Set<Reason> = [.connectFailed, .timeout, .connectionClosed, .requestFailed, .senderBusy]
    return HTTPActionResult(
      status: 0, reason: reason, message: message, isRetryable: retryable.contains(reason), retryAfterMs: nil)
  }

  /// The result for a name without an address or with a forbidden one. Name servers fail occasionally, so it is
  /// retryable.
  static let hostRefused = HTTPActionResult(
    status: 0, reason: .addressRefused, message: "the host has no address that may be called", isRetryable: true,
    retryAfterMs: nil)

  /// Returns the result of a response that is not a redirect to follow.
  static func response(status: Int, retryAfter: String?, nowMs: Int64) -> HTTPActionResult {
    let reason: Reason? =
      switch status {
      case 200..<300: nil
      case 300..<400: .http3XX
      case 400..<500: .http4XX
      case 500...: .http5XX
      default: .http1XX
      }
    // These client errors are temporary (RFC 9110, 8470, 6585), and these server errors are permanent.
    let isRetryable =
      [408, 425, 429].contains(status) || ((500..<600).contains(status) && ![501, 505].contains(status))
    return HTTPActionResult(
      status: status, reason: reason, message: reason == nil ? "" : "the server responded with \(status)",
      isRetryable: isRetryable,
      retryAfterMs: isRetryable ? retryAfter.flatMap { RetryAfter.delayMs($0, nowMs: nowMs) } : nil)
  }
}

/// Parses Retry-After (RFC 9110, section 10.2.3).
enum RetryAfter {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Returns the delay of a number of seconds or a date such as `Sun, 06 Nov 1994 08:49:37 GMT`; nil for any other
  /// text. Never less than 0.
  static func delayMs(_ text: String, nowMs: Int64) -> Int64? {
    let text = String(text.prefix(64))
    if !text.isEmpty, text.utf8.count <= 9, text.utf8.allSatisfy(TextRules.isDigit), let seconds = Int64(text) {
      return seconds * 1_000
    }
    return dateMs(text).map { max(0, $0 - nowMs) }
  }

  private static func dateMs(_ text: String) -> Int64? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[0].utf8.count == 4, words[0].hasSuffix(","), words[5] == "GMT",
      let day = number(words[1], digits: 2, in: 1...31), let month = months.firstIndex(of: String(words[2])),
      let year = number(words[3], digits: 4, in: 1970...9999)
    else { return nil }
    let clock = words[4].split(separator: ":", omittingEmptySubsequences: false)
    guard clock.count == 3, let hours = number(clock[0], digits: 2, in: 0...23),
      let minutes = number(clock[1], digits: 2, in: 0...59), let seconds = number(clock[2], digits: 2, in: 0...60)
    else { return nil }
    // The day is not checked against the month: April 31 becomes May 1.
    guard let first = CivilDate(year: Int(year), month: month + 1, day: 1) else { return nil }
    let days = Int64(first.daysSince1970) + day - 1
    return (days * 86_400 + hours * 3_600 + minutes * 60 + seconds) * 1_000
  }

  private static func number(_ text: Substring, digits: Int, in range: ClosedRange<Int64>) -> Int64? {
    guard text.utf8.count == digits, text.utf8.allSatisfy(TextRules.isDigit), let value = Int64(text),
      range.contains(value)
    else { return nil }
    return value
  }
}
