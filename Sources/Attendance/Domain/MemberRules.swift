import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileService
import Foundation

/// Checks of a member that the contract does not declare. Call them after the declared ones.
enum MemberRules {
  /// Returns the key that compares names: in lower case and composed form, with spaces trimmed and collapsed.
  static func key(of name: String) -> String {
    name.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ").lowercased()
      .precomposedStringWithCanonicalMapping
  }

  /// Checks a new member.
  static func check(_ member: Member, _ path: String, _ violations: inout Violations) {
    for field in MemberField.allCases { check(field, of: member, path, &violations) }
    checkEmailMarks(member.email, "\(path).email", &violations)
    checkOrder(member, path, &violations)
  }

  static func check(_ field: MemberField, of member: Member, _ path: String, _ violations: inout Violations) {
    let place = path.isEmpty ? field.jsonName : "\(path).\(field.jsonName)"
    // One violation is enough for a field.
    guard !violations.items.contains(where: { $0.field == place }) else { return }
    switch field {
    case .name:
      if !member.name.isEmpty, key(of: member.name).isEmpty {
        violations.add(place, "must not be blank", .required)
      }
    case .email: checkEmail(member.email, place, &violations)
    case .initiationDate: checkDate(member.initiationDate, place, &violations)
    case .passingDate: checkDate(member.passingDate, place, &violations)
    case .raisingDate: checkDate(member.raisingDate, place, &violations)
    case .givenName, .familyName, .degree, .office, .role, .userID, .refusedNotices: break
    }
  }

  /// Checks that initiation, passing and raising are in order; unknown dates are skipped. Takes the whole member,
  /// because the dates may come from two updates.
  static func checkOrder(_ member: Member, _ path: String, _ violations: inout Violations) {
    let steps = [
      (member.initiationDate, "initiationDate", "the initiation"), (member.passingDate, "passingDate", "the passing"),
      (member.raisingDate, "raisingDate", "the raising"),
    ]
    var last: (day: Int64, title: String)?
    for (text, name, title) in steps {
      guard let day = Days.parse(text) else { continue }
      if let last, day < last.day {
        violations.add("\(path).\(name)", "must not be before \(last.title)", .datesOutOfOrder)
      }
      last = (day, title)
    }
  }

  /// Checks that a date of the declared form is in the calendar, as 2025-02-29 is not.
  private static func checkDate(_ text: String, _ field: String, _ violations: inout Violations) {
    if !text.isEmpty, Days.parse(text) == nil {
      violations.add(field, "must be a day of the years 1000 to 9999 as YYYY-MM-DD", .dateInvalid)
    }
  }

  /// Requires one @ with text on both sides, without spaces and control characters (far less than RFC 5322).
  private static func checkEmail(_ text: String, _ field: String, _ violations: inout Violations) {
    if text.isEmpty { return }
    let parts = text.split(separator: "@", omittingEmptySubsequences: false)
    let isPlain = text.unicodeScalars.allSatisfy { $0 != " " && $0.properties.generalCategory != .control }
    guard parts.count == 2, parts.allSatisfy({ !$0.isEmpty }), isPlain else {
      return violations.add(field, "must be an e-mail address", .emailInvalid)
    }
  }

  /// Rejects characters that start another cell or a formula in a spreadsheet. Checked only when an address changes,
  /// because stored addresses may contain them.
  static func checkEmailMarks(_ text: String, _ field: String, _ violations: inout Violations) {
    if text.unicodeScalars.contains(where: { ";\"'=|".unicodeScalars.contains($0) }) {
      violations.add(field, "must not contain ; \" ' = or |", .emailInvalid)
    }
  }
}

/// The fields of a member that callers may change.
enum MemberField: String, MaskableField {
  case name, email, degree, office, role
  case givenName = "given_name"
  case familyName = "family_name"
  case initiationDate = "initiation_date"
  case passingDate = "passing_date"
  case raisingDate = "raising_date"
  case userID = "user_id"
  case refusedNotices = "refused_notices"

  /// The fields that members may change of themselves.
  static let own: Set<MemberField> = [.email, .refusedNotices]
  /// The fields that secretaries may change of all members.
  static let degrees: Set<MemberField> = [.degree, .initiationDate, .passingDate, .raisingDate]

  func isSet(in message: Member) -> Bool {
    switch self {
    case .name: !message.name.isEmpty
    case .givenName: !message.givenName.isEmpty
    case .familyName: !message.familyName.isEmpty
    case .email: !message.email.isEmpty
    case .degree: message.degree != .unspecified
    case .office: message.office != .unspecified
    case .initiationDate: !message.initiationDate.isEmpty
    case .passingDate: !message.passingDate.isEmpty
    case .raisingDate: !message.raisingDate.isEmpty
    case .role: message.role != .unspecified
    case .userID: !message.userId.isEmpty
    case .refusedNotices: !message.refusedNotices.isEmpty
    }
  }

  func copy(from source: Member, to target: inout Member) {
    switch self {
    case .name: target.name = source.name
    case .givenName: target.givenName = source.givenName
    case .familyName: target.familyName = source.familyName
    case .email: target.email = source.email
    case .degree: target.degree = source.degree == .unspecified ? .apprentice : source.degree
    case .office: target.office = source.office == .unspecified ? .noneValue : source.office
    case .initiationDate: target.initiationDate = source.initiationDate
    case .passingDate: target.passingDate = source.passingDate
    case .raisingDate: target.raisingDate = source.raisingDate
    case .role: target.role = source.role == .unspecified ? .member : source.role
    case .userID: target.userId = source.userId
    // Ordered, each once.
    case .refusedNotices: target.refusedNotices = RefusedNotices(source.refusedNotices).kinds
    }
  }
}
