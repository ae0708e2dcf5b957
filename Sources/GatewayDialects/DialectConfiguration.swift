package import GatewayHTTP

/// An app whose own HTTP API the gateway can serve.
public enum Dialect: String, Sendable, Hashable, CaseIterable {
  case kilwinning, zentik, firebase
}

/// The dialects that are served in addition to the suite's own paths.
package struct DialectConfiguration: Sendable {
  package var enabled: Set<Dialect> = []
  /// Whether session cookies are restricted to encrypted connections. Required wherever others can eavesdrop.
  package var areCookiesSecure = true
  /// The app that the Firebase callables serve.
  package var firebase = FirebaseConfiguration(app: "")

  package init() {}

  /// Creates the enabled dialects in order of precedence, after publishing with one line, which is always served.
  package func dialects(nowMs: @escaping @Sendable () -> Int64) -> [any HTTPDialect] {
    [PublishRoute(nowMs: nowMs)]
      + Dialect.allCases.filter(enabled.contains).map { dialect -> any HTTPDialect in
        switch dialect {
        case .kilwinning: KilwinningDialect(isCookieSecure: areCookiesSecure, nowMs: nowMs)
        case .zentik: ZentikDialect(nowMs: nowMs)
        case .firebase: FirebaseDialect(configuration: firebase, nowMs: nowMs)
        }
      }
  }
}

/// Configuration of the Growth app in Activities.
public struct FirebaseConfiguration: Sendable, Hashable {
  /// The app's bundle id.
  public var app: String
  /// Whether dates in a pushed content-state are written as seconds since 2001, which the app's widget decodes, or
  /// remain as sent.
  public var writesFoundationDates = true

  public init(app: String) { self.app = app }
}
