import CampanileAPI
import CampanileCodec
import CampanileRPC
import CampanileService
import Foundation

/// Validation rules for a member.
enum MemberRules {
  static let nameMax = 128
  static let partMax = 64
  static let emailMax = 254
  /// The allowed length of a new PIN in characters. Shorter PINs that were set earlier stay valid.
  static let pinRange = 6...64

  /// Returns the key that compares names: in lower case and composed form, with spaces trimmed and collapsed.
  static func key(of name: String) -> String {
    name.split(separator: " ", omittingEmptySubsequences: true).joined(separator: " ").lowercased()
      .precomposedStringWithCanonicalMapping
  }

  /// Checks every field of a new member that a caller may set.
  static func check(_ member: Member, _ path: String, _ violations: inout Violations) {
    for field in MemberField.allCases { check(field, of: member, path, &violations) }
    checkEmailMarks(member.email, "\(path).email", &violations)
    checkOrder(member, path, &violations)
  }

  static func check(_ field: MemberField, of member: Member, _ path: String, _ violations: inout Violations) {
    switch field {
    case .name:
      violations.text(member.name, "\(path).name", min: 1, max: nameMax)
      if !member.name.isEmpty, key(of: member.name).isEmpty {
        violations.add("\(path).name", "must not be blank", .required)
      }
    case .firstName: violations.text(member.firstName, "\(path).firstName", max: partMax)
    case .lastName: violations.text(member.lastName, "\(path).lastName", max: partMax)
    case .email: checkEmail(member.email, "\(path).email", &violations)
    case .degree:
      if case .unrecognized = member.degree {
        violations.add("\(path).degree", "must be APPRENTICE, FELLOW or MASTER", .enumUnknown)
      }
    case .office:
      if case .unrecognized = member.office { violations.add("\(path).office", "must be a known office", .enumUnknown) }
    case .initiationDate: checkDate(member.initiationDate, "\(path).initiationDate", &violations)
    case .passingDate: checkDate(member.passingDate, "\(path).passingDate", &violations)
    case .raisingDate: checkDate(member.raisingDate, "\(path).raisingDate", &violations)
    case .role:
      if case .unrecognized = member.role {
        violations.add("\(path).role", "must be MEMBER, SECRETARY or ADMIN", .enumUnknown)
      }
    case .userID:
      if !member.userId.isEmpty, Principal("user/\(member.userId)") == nil {
        violations.add("\(path).userId", "must be 1 to 128 characters of A-Z a-z 0-9 . _ : @ -", .idInvalid)
      }
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

  static func checkPin(_ pin: String, _ field: String, mayBeEmpty: Bool, _ violations: inout Violations) {
    if pin.isEmpty, mayBeEmpty { return }
    guard pinRange.contains(pin.unicodeScalars.count) else {
      return violations.add(
        field, "must have \(pinRange.lowerBound) to \(pinRange.upperBound) characters", .outOfRange)
    }
  }

  private static func checkDate(_ text: String, _ field: String, _ violations: inout Violations) {
    if !text.isEmpty, Days.parse(text) == nil {
      violations.add(field, "must be a day of the years 1000 to 9999 as YYYY-MM-DD", .dateInvalid)
    }
  }

  /// Requires one @ with text on both sides, without spaces and control characters (far less than RFC 5322).
  private static func checkEmail(_ text: String, _ field: String, _ violations: inout Violations) {
    if text.isEmpty { return }
    guard text.utf8.count <= emailMax else {
      return violations.add(field, "must have at most \(emailMax) bytes", .tooLong)
    }
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
  case firstName = "first_name"
  case lastName = "last_name"
  case initiationDate = "initiation_date"
  case passingDate = "passing_date"
  case raisingDate = "raising_date"
  case userID = "user_id"

  func isSet(in message: Member) -> Bool {
    switch self {
    case .name: !message.name.isEmpty
    case .firstName: !message.firstName.isEmpty
    case .lastName: !message.lastName.isEmpty
    case .email: !message.email.isEmpty
    case .degree: message.degree != .unspecified
    case .office: message.office != .unspecified
    case .initiationDate: !message.initiationDate.isEmpty
    case .passingDate: !message.passingDate.isEmpty
    case .raisingDate: !message.raisingDate.isEmpty
    case .role: message.role != .unspecified
    case .userID: !message.userId.isEmpty
    }
  }

  func copy(from source: Member, to target: inout Member) {
    switch self {
    case .name: target.name = source.name
    case .firstName: target.firstName = source.firstName
    case .lastName: target.lastName = source.lastName
    case .email: target.email = source.email
    case .degree: target.degree = source.degree == .unspecified ? .apprentice : source.degree
    case .office: target.office = source.office
    case .initiationDate: target.initiationDate = source.initiationDate
    case .passingDate: target.passingDate = source.passingDate
    case .raisingDate: target.raisingDate = source.raisingDate
    case .role: target.role = source.role == .unspecified ? .member : source.role
    case .userID: target.userId = source.userId
    }
  }
}
