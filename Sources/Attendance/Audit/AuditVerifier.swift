import CampanileAPI
import CampanileCodec
import CampanileCrypto
import CampanileService

/// Walks the audit log from its beginning and recomputes the chain. A state machine: it is fed rows in order.
struct AuditVerifier: Sendable {
  private(set) var verified: Int64 = 0
  private(set) var redacted: Int64 = 0
  private(set) var lastSequence: Int64 = 0
  private(set) var lastHash = AuditRow.origin
  /// The first entry that is not sound, and why.
  private(set) var fault: (sequence: Int64, reason: String)?
  private let knownSequence: Int64
  private let knownHash: String

  /// `knownHash` is that of the entry `knownSequence`, kept elsewhere since an earlier verification; 0 for none.
  init(knownSequence: Int64, knownHash: String) {
    self.knownSequence = knownSequence
    self.knownHash = knownHash.lowercased()
  }

  /// False once the log is found broken.
  mutating func take(_ row: AuditRow) throws(CryptoError) -> Bool {
    guard fault == nil else { return false }
    if row.sequence != lastSequence + 1 {
      fault = (lastSequence + 1, "SEQUENCE_GAP")
    } else if row.hash != (try row.digest(after: lastHash)) {
      fault = (row.sequence, "HASH_MISMATCH")
    } else if row.salt != nil, row.valueDigest != (try row.digestOfValues()) {
      fault = (row.sequence, "VALUE_MISMATCH")
    } else if row.salt == nil, row.oldJSON != nil || row.newJSON != nil {
      // Values without their salt cannot be checked: nobody but a forger leaves them so.
      fault = (row.sequence, "VALUE_MISMATCH")
    } else if row.sequence == knownSequence, Hexadecimal.text(row.hash) != knownHash {
      fault = (row.sequence, "KNOWN_HASH_MISMATCH")
    }
    guard fault == nil else { return false }
    verified += 1
    if row.salt == nil { redacted += 1 }
    lastSequence = row.sequence
    lastHash = row.hash
    return true
  }

  /// After the last row: an entry that was known must have been there.
  mutating func finish() {
    if fault == nil, knownSequence > lastSequence { fault = (lastSequence + 1, "SEQUENCE_GAP") }
  }

  func response(isFinished: Bool) -> VerifyAuditLogResponse {
    .with {
      $0.verifiedCount = verified
      $0.redactedCount = redacted
      $0.lastSequence = lastSequence
      $0.lastHash = Hexadecimal.text(lastHash)
      $0.finished = isFinished
      $0.intact = isFinished && fault == nil
      $0.brokenSequence = fault?.sequence ?? 0
      $0.brokenReason = fault?.reason ?? ""
    }
  }
}
