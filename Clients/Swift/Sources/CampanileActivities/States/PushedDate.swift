import CampanileClient
import Foundation

/// A date in a pushed state, in any form that Activities can push.
///
/// ActivityKit decodes a state with a plain `JSONDecoder`, whose dates are numbers of seconds since 2001. The operator
/// chooses the form of an app: that one, seconds since 1970, or ISO 8601. The types of this module decode all of them.
enum PushedDate {
  /// Numbers from here on are seconds since 1970: until 2042, dates in seconds since 2001 are smaller.
  static let unixSecondsMin = 1_300_000_000.0

  static func date(seconds: Double) -> Date {
    seconds < unixSecondsMin ? Date(timeIntervalSinceReferenceDate: seconds) : Date(timeIntervalSince1970: seconds)
  }

  /// Returns the time of an RFC 3339 text; `nil` if it is invalid.
  static func date(text: String) -> Date? { (try? ProtoTimestamp(jsonString: "\"\(text)\""))?.date }
}

extension KeyedDecodingContainer {
  /// Decodes a date in any form.
  func pushedDate(forKey key: Key) throws -> Date {
    if let seconds = try? decode(Double.self, forKey: key) { return PushedDate.date(seconds: seconds) }
    guard let date = PushedDate.date(text: try decode(String.self, forKey: key)) else {
      throw DecodingError.dataCorruptedError(forKey: key, in: self, debugDescription: "is not a date")
    }
    return date
  }

  /// Decodes a date in any form; `nil` if the key is missing or null.
  func pushedDateIfPresent(forKey key: Key) throws -> Date? {
    guard contains(key), try !decodeNil(forKey: key) else { return nil }
    return try pushedDate(forKey: key)
  }
}
