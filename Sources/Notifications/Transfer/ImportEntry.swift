import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService

/// One valid entry of an import, ready to be stored.
struct ImportEntry: Sendable {
  enum Content: Sendable {
    case settings(UserSettings)
    case bucket(Bucket)
    case notification(Notification, contents: [String: [UInt8]])
    case scheduled(Notification, contents: [String: [UInt8]])
    case automation(AutomationKind, id: String, payload: [UInt8])
    case blockedUser(BlockedUser)
  }

  /// The position in the stream.
  var index: Int64
  var content: Content
  /// The approximate number of bytes written for this entry.
  var sizeBytes: Int

  /// Returns nil for a header. Throws INVALID_ARGUMENT for an invalid entry. Throws FAILED_PRECONDITION, reason
  /// `FORMAT_VERSION_UNKNOWN`, for a header of a newer format, which ends the import.
  init?(_ entry: TransferEntry?, index: Int64, nowMs: Int64) throws(RPCError) {
    var violations = Violations()
    let content: Content
    switch entry?.entry {
    case .header(let header):
      guard header.formatVersion <= UserExport.formatVersion else {
        throw RPCError(
          .failedPrecondition, "the export has format \(header.formatVersion), which is too new for this service",
          .formatVersionUnknown)
      }
      header.validate("entry.header.", into: &violations)
      try violations.check()
      return nil
    case .settings(let entry):
      content = .settings(ImportRules.settings(entry, "entry.settings", &violations))
    case .bucket(let entry):
      content = .bucket(ImportRules.bucket(entry, "entry.bucket", &violations))
    case .notification(let entry):
      let notification = ImportRules.notification(entry, nowMs: nowMs, "entry.notification", &violations)
      content = .notification(notification, contents: Self.contents(of: notification, entry))
    case .scheduled(let entry):
      let notification = ImportRules.scheduled(entry, nowMs: nowMs, "entry.scheduled", &violations)
      content = .scheduled(notification, contents: Self.contents(of: notification, entry))
    case .template(let entry):
      let template = ImportRules.template(entry, "entry.template", &violations)
      content = .automation(.template, id: template.id, payload: template.jsonUTF8Bytes())
    case .heartbeat(let entry):
      let heartbeat = ImportRules.heartbeat(entry, "entry.heartbeat", &violations)
      content = .automation(.heartbeat, id: heartbeat.id, payload: heartbeat.jsonUTF8Bytes())
    case .webhook(let entry):
      let webhook = ImportRules.webhook(entry, "entry.webhook", &violations)
      content = .automation(.webhook, id: webhook.id, payload: webhook.jsonUTF8Bytes())
    case .blockedUser(let entry):
      content = .blockedUser(ImportRules.blockedUser(entry, "entry.blockedUser", &violations))
    case nil:
      throw .invalidField("entry", "must be given", .required)
    }
    try violations.check()
    self.index = index
    self.content = content
    sizeBytes = Self.sizeBytes(of: content)
  }

  /// Returns only the contents that an attachment refers to.
  private static func contents(of notification: Notification, _ entry: ExportedNotification) -> [String: [UInt8]] {
    let named = Set(notification.attachments.map(\.contentId))
    return entry.contents.filter { named.contains($0.key) }
  }

  private static func sizeBytes(of content: Content) -> Int {
    switch content {
    case .settings, .bucket, .blockedUser: 1_024
    case .automation(_, _, let payload): payload.count
    case .notification(let notification, let contents), .scheduled(let notification, let contents):
      1_024 + (notification.body?.utf8.count ?? 0) + contents.values.reduce(0) { $0 + $1.count }
    }
  }
}
