import CampanileBase
import CampanileRPC
import Gateway
import NIOHTTP1

/// The gateway's part of the web console: its files, its cookie, and the headers of its responses.
struct ConsoleFrontend: Sendable {
  /// The path without a trailing slash, such as `/console`.
  let path: String
  let cookie: ConsoleCookie
  let sessions: ConsoleSessions

  /// The path at which sessions begin and end.
  let sessionPath: String

  init(path: String, cookie: ConsoleCookie, sessions: ConsoleSessions) {
    self.path = path
    self.cookie = cookie
    self.sessions = sessions
    sessionPath = path + "/session"
  }

  /// Replaces the cookie of a request that the console's page has caused by the credential of its session.
  ///
  /// Everything behind this function sees an ordinary `Authorization`, which no caller can present itself. This is the
  /// only place where the cookie is read.
  ///
  /// - Returns: The head, and whether the cookie has become its credential.
  func identified(_ head: HTTPRequestHead) -> (head: HTTPRequestHead, isIdentified: Bool) {
    guard head.headers.contains(name: ConsoleCookie.header) else { return (head, false) }
    // A sign-in needs no earlier session.
    guard head.method != .POST || Self.path(of: head.uri) != sessionPath,
      let found = cookie.credential(of: head).flatMap({ sessions.present($0) })
    else { return (head, false) }
    var head = head
    head.headers.add(name: "authorization", value: found.authorization)
    if let token = found.lodgeToken { head.headers.add(name: PresentedSession.metadataKey, value: token) }
    return (head, true)
  }

  /// Returns whether a request's path belongs to the console.
  func owns(uri: String) -> Bool { Self.owns(uri: uri, path: path) }

  static func owns(uri: String, path: String) -> Bool {
    guard uri.hasPrefix(path) else { return false }
    guard let next = uri.dropFirst(path.count).first else { return true }
    return next == "/" || next == "?"
  }

  private static func path(of uri: String) -> Substring { uri.prefix { $0 != "?" } }

  /// The headers of every response of the console.
  ///
  /// The only policy for Trusted Types returns the URL of the SharedWorker; scripts have no other sink.
  static let headers: [(String, String)] = [
    (
      "Content-Security-Policy",
      [
        "default-src 'none'", "script-src 'self'", "style-src 'self'", "connect-src 'self'",
        "img-src 'self' blob: data:", "worker-src 'self'", "manifest-src 'self'", "base-uri 'none'",
        "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'",
        "trusted-types console-worker",
      ].joined(separator: "; ")
    ),
    ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Opener-Policy", "same-origin"),
    ("Cross-Origin-Resource-Policy", "same-origin"), ("X-Frame-Options", "DENY"),
    (
      "Permissions-Policy",
      "accelerometer=(), autoplay=(), camera=(), display-capture=(), geolocation=(), gyroscope=(), hid=(), "
        + "magnetometer=(), microphone=(), midi=(), payment=(), serial=(), usb=()"
    ),
  ]
}
