/// A day of the proleptic Gregorian calendar.
///
/// Internally, years begin in March, so that the leap day is their last day. Every 400 years then have 146,097 days,
/// and month m begins on day (153 m + 2) / 5 of its year.
public struct CivilDate: Sendable, Hashable {
  public var year: Int
  public var month: Int
  public var day: Int

  // Computed, so that other modules see the numbers.
  @inlinable static var daysFromYear0To1970: Int { 719_468 }
  @inlinable static var daysPerEra: Int { 146_097 }

  /// Creates a date; nil if the day does not exist in the years 1...9999.
  @inlinable
  public init?(year: Int, month: Int, day: Int) {
    guard (1...9999).contains(year), (1...12).contains(month), day >= 1, day <= Self.days(in: month, of: year) else {
      return nil
    }
    self.year = year
    self.month = month
    self.day = day
  }

  /// Creates a date from a number of days that is within the years 1...9999.
  @inlinable
  public init(daysSince1970 days: Int) {
    let shifted = days + Self.daysFromYear0To1970
    let era = shifted / Self.daysPerEra
    let dayOfEra = shifted % Self.daysPerEra
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = dayOfYear - (153 * monthFromMarch + 2) / 5 + 1
    month = monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9
    year = era * 400 + yearOfEra + (month <= 2 ? 1 : 0)
  }

  /// The number of days since 1970-01-01; negative before it.
  @inlinable
  public var daysSince1970: Int {
    let shiftedYear = month <= 2 ? year - 1 : year
    let era = shiftedYear / 400
    let yearOfEra = shiftedYear % 400
    let monthFromMarch = month > 2 ? month - 3 : month + 9
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + day - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * Self.daysPerEra + dayOfEra - Self.daysFromYear0To1970
  }

  @inlinable
  static func days(in month: Int, of year: Int) -> Int {
    switch month {
    case 2: year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}
