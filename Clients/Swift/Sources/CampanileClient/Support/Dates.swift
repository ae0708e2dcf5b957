public import CampanileCodec
public import Foundation

extension ProtoTimestamp {
  /// Creates the time of a date, to the millisecond.
  public init(_ date: Date) {
    self.init(millisecondsSince1970: Int64((date.timeIntervalSince1970 * 1000).rounded()))
  }

  /// The date, to the millisecond.
  public var date: Date { Date(timeIntervalSince1970: Double(millisecondsSince1970) / 1000) }
}

extension ProtoDuration {
  /// Creates a duration from seconds, to the millisecond.
  public init(_ interval: TimeInterval) { self.init(milliseconds: Int64((interval * 1000).rounded())) }

  /// The seconds, to the millisecond.
  public var timeInterval: TimeInterval { Double(milliseconds) / 1000 }
}
