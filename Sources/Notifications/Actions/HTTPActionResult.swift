import CampanileService

/// What came of one HTTP request that an action made.
struct HTTPActionResult: Sendable, Hashable {
  /// Why a request failed, in a stable word.
  struct Reason: RawRepresentable, Sendable, Hashable {
    var rawValue: String

    static let urlInvalid = Reason(rawValue: "URL_INVALID")
    static let headerInvalid = Reason(rawValue: "HEADER_INVALID")
    /// The host is, or resolves to, an address that the server may not call.
    static let addressRefused = Reason(rawValue: "ADDRESS_REFUSED")
    static let dnsFailed = Reason(rawValue: "DNS_FAILED")
    static let connectFailed = Reason(rawValue: "CONNECT_FAILED")
    static let timeout = Reason(rawValue: "TIMEOUT")
    static let tlsFailed = Reason(rawValue: "TLS_FAILED")
    static let tooManyRedirects = Reason(rawValue: "TOO_MANY_REDIRECTS")
    /// A redirect from https to http, or to what is no http URL.
    static let redirectRefused = Reason(rawValue: "REDIRECT_REFUSED")
    static let connectionClosed = Reason(rawValue: "CONNECTION_CLOSED")
    static let responseInvalid = Reason(rawValue: "RESPONSE_INVALID")
    static let requestFailed = Reason(rawValue: "REQUEST_FAILED")
    /// Too many requests are under way on this server.
    static let senderBusy = Reason(rawValue: "SENDER_BUSY")
    static let http1XX = Reason(rawValue: "HTTP_1XX")
    static let http3XX = Reason(rawValue: "HTTP_3XX")
    static let http4XX = Reason(rawValue: "HTTP_4XX")
    static let http5XX = Reason(rawValue: "HTTP_5XX")
  }

  /// Of the last response; 0 when there was none.
  var status: Int
  /// Nil when the request succeeded: 200 to 299.
  var reason: Reason?
  /// For people; carries no header, body or address.
  var message: String
  /// Whether another attempt may come out better.
  var isRetryable: Bool
  /// How long the server wants to be left alone; nil when it does not say.
  var retryAfterMs: Int64?

  var isSuccess: Bool { reason == nil }

  /// The result of a request that got no response.
  static func failure(_ reason: Reason, _ message: String) -> HTTPActionResult {
    let retryable: Set<Reason> = [.dnsFailed, .connectFailed, .timeout, .connectionClosed, .requestFailed, .senderBusy]
    return HTTPActionResult(
      status: 0, reason: reason, message: message, isRetryable: retryable.contains(reason), retryAfterMs: nil)
  }

  /// The result of a response that is no redirect to follow.
  static func response(status: Int, retryAfter: String?, nowMs: Int64) -> HTTPActionResult {
    let reason: Reason? =
      switch status {
      case 200..<300: nil
      case 300..<400: .http3XX
      case 400..<500: .http4XX
      case 500...: .http5XX
      default: .http1XX
      }
    // Of the errors of a caller, these pass with time (RFC 9110, 8470, 6585); of a server's, these do not.
    let isRetryable =
      [408, 425, 429].contains(status) || ((500..<600).contains(status) && ![501, 505].contains(status))
    return HTTPActionResult(
      status: status, reason: reason, message: reason == nil ? "" : "the server answered \(status)",
      isRetryable: isRetryable,
      retryAfterMs: isRetryable ? retryAfter.flatMap { RetryAfter.delayMs($0, nowMs: nowMs) } : nil)
  }
}

/// Reads Retry-After (RFC 9110, section 10.2.3).
enum RetryAfter {
  private static let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]

  /// Seconds, or a date in the form `Sun, 06 Nov 1994 08:49:37 GMT`; nil for everything else. Never less than 0.
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
    return (days(year, month + 1, day) * 86_400 + hours * 3_600 + minutes * 60 + seconds) * 1_000
  }

  private static func number(_ text: Substring, digits: Int, in range: ClosedRange<Int64>) -> Int64? {
    guard text.utf8.count == digits, text.utf8.allSatisfy(TextRules.isDigit), let value = Int64(text),
      range.contains(value)
    else { return nil }
    return value
  }

  /// Days since 1970 of a date in the Gregorian calendar, with years that begin in March.
  private static func days(_ year: Int64, _ month: Int, _ day: Int64) -> Int64 {
    let marchYear = month > 2 ? year : year - 1
    let marchMonth = Int64(month > 2 ? month - 3 : month + 9)
    let leapDays = marchYear / 4 - marchYear / 100 + marchYear / 400
    return marchYear * 365 + leapDays + (153 * marchMonth + 2) / 5 + day - 1 - 719_468
  }
}
