/// A fast check for the two forms of date and time that the apps write: `2025-11-08T10:00:00Z` and
/// `2025-11-08T10:00:00.000Z`.
///
/// A text that it rejects, such as one with a day after the 28th, may still be valid: `RecordTime` decides.
enum PlainDate {
  // The forms as little-endian words: 0x30 represents a digit, every other byte itself.
  /// `0000-00-`
  private static let yearMonth: UInt64 = 0x2D30_302D_3030_3030
  /// `00T00:00`
  private static let dayTime: UInt64 = 0x3030_3A30_3054_3030
  /// `:00.000Z`
  private static let millis: UInt64 = 0x5A30_3030_2E30_303A
  /// `:00Z`
  private static let seconds: UInt32 = 0x5A30_303A

  private static let yearMonthDigits: UInt64 = 0x00FF_FF00_FFFF_FFFF
  private static let dayTimeDigits: UInt64 = 0xFFFF_00FF_FF00_FFFF
  private static let millisDigits: UInt64 = 0x00FF_FFFF_00FF_FF00
  private static let secondsDigits: UInt64 = 0x00FF_FF00

  @inline(__always)
  static func isOne(_ text: UnsafeRawBufferPointer) -> Bool {
    guard text.count == 20 || text.count == 24 else { return false }
    let date = UInt64(littleEndian: text.loadUnaligned(as: UInt64.self)) ^ yearMonth
    let time = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: 8, as: UInt64.self)) ^ dayTime
    let rest: UInt64
    if text.count == 24 {
      rest = UInt64(littleEndian: text.loadUnaligned(fromByteOffset: 16, as: UInt64.self)) ^ millis
    } else {
      rest = UInt64(UInt32(littleEndian: text.loadUnaligned(fromByteOffset: 16, as: UInt32.self)) ^ seconds)
    }
    let digits = text.count == 24 ? millisDigits : secondsDigits
    guard hasDigits(date, yearMonthDigits), hasDigits(time, dayTimeDigits), hasDigits(rest, digits) else {
      return false
    }
    // All digits are valid now, so two of them form a number.
    let (month, day) = (number(date, 5), number(time, 0))
    return date & 0xFFFF_FFFF != 0 && month &- 1 < 12 && day &- 1 < 28 && number(time, 3) < 24 && number(time, 6) < 60
      && number(rest, 1) < 60
  }

  /// Whether all bytes in `mask` are 0 to 9, and the others 0.
  @inline(__always)
  private static func hasDigits(_ word: UInt64, _ mask: UInt64) -> Bool {
    // Adding 0x76 to a byte of 10 or more carries into its highest bit. A byte with that bit already set is not a digit
    // either.
    let digits = word & mask
    let low = digits & 0x7F7F_7F7F_7F7F_7F7F
    return word & ~mask == 0 && ((low &+ 0x7676_7676_7676_7676) | digits) & mask & 0x8080_8080_8080_8080 == 0
  }

  @inline(__always)
  private static func number(_ word: UInt64, _ index: UInt64) -> UInt64 {
    (word &>> (index &* 8) & 0xFF) &* 10 &+ (word &>> (index &* 8 &+ 8) & 0xFF)
  }
}
