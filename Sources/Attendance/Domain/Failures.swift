import CampanileBase
import CampanileCodec
import CampanileService

extension RPCError {
  static func memberNotFound(_ id: String, field: String) -> RPCError {
    missing("member", id, field: field, .memberNotFound)
  }

  static func meetingNotFound(_ id: String, field: String) -> RPCError {
    missing("meeting", id, field: field, .meetingNotFound)
  }

  /// Returns ALREADY_EXISTS for a value that must be unique among members.
  static func taken(_ field: String, _ reason: Reason) -> RPCError {
    RPCError(
      .alreadyExists, "\(field): is already used by another member", reason: reason.rawValue,
      fieldViolations: [.init(field: field, description: "is already used by another member", reason: reason.rawValue)])
  }
}
