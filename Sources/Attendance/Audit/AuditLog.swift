import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileService
import CampanileStore

/// A row of `audit`.
struct AuditRow: Sendable, Hashable {
  static let columns = """
    sequence, at_ms, actor, address, action, subject, undo_of, salt, old_json, new_json, value_digest, hash
    """
  static let insertSQL = """
    INSERT INTO audit (\(columns)) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
    """
  static let lastSQL = "SELECT sequence, hash FROM audit ORDER BY sequence DESC LIMIT 1"
  static let oneSQL = "SELECT \(columns) FROM audit WHERE sequence = $1"
  static let listSQL = "SELECT \(columns) FROM audit WHERE sequence < $1 ORDER BY sequence DESC LIMIT $2"
  static let ofSubjectSQL = """
    SELECT \(columns) FROM audit WHERE subject = $3 AND sequence < $1 ORDER BY sequence DESC LIMIT $2
    """
  static let afterSQL = "SELECT \(columns) FROM audit WHERE sequence > $1 ORDER BY sequence LIMIT $2"
  static let redactSQL = """
    UPDATE audit SET salt = NULL, old_json = NULL, new_json = NULL WHERE subject = $1 AND salt IS NOT NULL
    """
  /// The previous hash of the first entry.
  static let origin = [UInt8](repeating: 0, count: SHA256Digest.sizeBytes)
  static let saltSizeBytes = 16

  var sequence: Int64
  var timeMs: Int64
  var actor: String
  var address: String
  var action: String
  var subject: String
  var undoOf: Int64
  /// Nil if the values were erased.
  var salt: [UInt8]?
  var oldJSON: [UInt8]?
  var newJSON: [UInt8]?
  var valueDigest: [UInt8] = []
  var hash: [UInt8] = []

  /// Returns the SHA-256 over the salt and both values. Each value is prefixed with its length; an absent one has the
  /// length 2^32 - 1.
  func digestOfValues() throws(CryptoError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(Self.saltSizeBytes + valueSizeBytes + 8)
    bytes += salt ?? []
    Self.append(oldJSON, to: &bytes)
    Self.append(newJSON, to: &bytes)
    return try SHA256.digest(bytes).bytes
  }

  /// Returns the SHA-256 over the previous hash and all fields of the entry. The values are covered by their digest.
  func digest(after previous: [UInt8]) throws(CryptoError) -> [UInt8] {
    var bytes: [UInt8] = []
    bytes.reserveCapacity(
      108 + actor.utf8.count + address.utf8.count + action.utf8.count + subject.utf8.count)
    bytes += previous
    for number in [sequence, timeMs, undoOf] { OpaqueToken.append(UInt64(bitPattern: number), to: &bytes) }
    for text in [actor, address, action, subject] { Self.append(text.utf8, to: &bytes) }
    Self.append(valueDigest, to: &bytes)
    return try SHA256.digest(bytes).bytes
  }

  private static func append(_ value: (some Collection<UInt8>)?, to bytes: inout [UInt8]) {
    let length = value.map { UInt32(clamping: $0.count) } ?? .max
    for shift in stride(from: 24, through: 0, by: -8) {
      bytes.append(UInt8(truncatingIfNeeded: length >> UInt32(shift)))
    }
    if let value { bytes += value }
  }

  init(
    timeMs: Int64, caller: AttendanceCaller, action: String, subject: String, old: AuditState?, new: AuditState?,
    undoOf: Int64
  ) {
    sequence = 0
    self.timeMs = timeMs
    actor = caller.name
    address = caller.address
    self.action = action
    self.subject = subject
    self.undoOf = undoOf
    oldJSON = old?.jsonUTF8Bytes()
    newJSON = new?.jsonUTF8Bytes()
  }

  init(_ row: borrowing SQLRow) throws {
    sequence = try row.integer(0)
    timeMs = try row.integer(1)
    actor = try row.text(2)
    address = try row.text(3)
    action = try row.text(4)
    subject = try row.text(5)
    undoOf = try row.integer(6)
    salt = try row.bytesIfPresent(7)
    oldJSON = try row.bytesIfPresent(8)
    newJSON = try row.bytesIfPresent(9)
    valueDigest = try row.bytes(10)
    hash = try row.bytes(11)
  }

  var values: [SQLValue] {
    [
      .integer(sequence), .integer(timeMs), .text(actor), .text(address), .text(action), .text(subject),
      .integer(undoOf), .blob(salt), .text(oldJSON.map { String(decoding: $0, as: UTF8.self) }),
      .text(newJSON.map { String(decoding: $0, as: UTF8.self) }), .blob(valueDigest), .blob(hash),
    ]
  }

  var valueSizeBytes: Int { (oldJSON?.count ?? 0) + (newJSON?.count ?? 0) }

  /// Whether the values are omitted for callers: those of a deleted meeting or a large batch can exceed a frame.
  var hasLongValues: Bool { valueSizeBytes > Self.shownBytesMax }
  static let shownBytesMax = 1 << 20

  /// Returns the entry for callers, without long values. Throws `corrupt` if a value cannot be decoded.
  func shownEntry() throws -> AuditEntry {
    guard hasLongValues else { return try entry() }
    var short = self
    (short.oldJSON, short.newJSON) = (nil, nil)
    var entry = try short.entry()
    entry.valuesOmitted = true
    return entry
  }

  /// Returns the entry with its values. Throws `corrupt` if a value cannot be decoded.
  func entry() throws -> AuditEntry {
    AuditEntry(
      sequence: sequence, eventTime: ProtoTimestamp(millisecondsSince1970: timeMs), actor: actor, address: address,
      action: action, subject: subject, oldState: try oldJSON.map(state), newState: try newJSON.map(state),
      redacted: salt == nil, undoOf: undoOf, hashField: Hexadecimal.text(hash))
  }

  private func state(_ json: [UInt8]) throws -> AuditState {
    try AuditNames.completed(
      StoredJSON.message(AuditState.self, AuditNames.current(json, subject: subject), "a value in the audit log"))
  }
}

extension WriteContext {
  /// Appends an entry to the audit log and returns its row.
  @discardableResult
  func audit(
    _ action: String, _ subject: String, old: AuditState?, new: AuditState?, undoOf: Int64 = 0
  ) throws -> AuditRow {
    var row = AuditRow(
      timeMs: nowMs, caller: caller, action: action, subject: subject, old: old, new: new, undoOf: undoOf)
    let last = try heads.auditHead(transaction)
    row.sequence = (last?.sequence ?? 0) + 1
    var salt: [UInt8] = []
    OpaqueToken.append(random(), to: &salt)
    OpaqueToken.append(random(), to: &salt)
    row.salt = salt
    do throws(CryptoError) {
      row.valueDigest = try row.digestOfValues()
      row.hash = try row.digest(after: last?.hash ?? AuditRow.origin)
    } catch {
      throw StoreError(.unavailable, "cannot append to the audit log: \(error.message)")
    }
    try transaction.execute(AuditRow.insertSQL, row.values)
    heads.added(CommitHeads.AuditHead(sequence: row.sequence, hash: row.hash), transaction)
    return row
  }
}

extension AuditState {
  static func of(_ member: Member) -> AuditState { AuditState(member: member) }
  static func of(_ meeting: Meeting, _ attendances: [Attendance] = []) -> AuditState {
    AuditState(meeting: meeting, attendances: attendances)
  }
  /// Nil if there are no records.
  static func of(_ attendances: [Attendance]) -> AuditState? {
    attendances.isEmpty ? nil : AuditState(attendances: attendances)
  }
  static func of(_ settings: LodgeSettings) -> AuditState { AuditState(settings: settings) }
}
