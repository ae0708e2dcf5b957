import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileCrypto
import CampanileService

/// Recomputes the hash chain of the audit log from its beginning. A state machine: feed it rows in order.
struct AuditVerifier: Sendable {
  private(set) var verified: Int64 = 0
  private(set) var redacted: Int64 = 0
  private(set) var lastSequence: Int64 = 0
  private(set) var lastHash = AuditRow.origin
  /// The first invalid entry and the reason.
  private(set) var fault: (sequence: Int64, reason: AuditFault)?
  private let knownSequence: Int64
  private let knownHash: String

  /// `knownHash` is the hash of entry `knownSequence`, saved from an earlier verification; pass 0 if there is none.
  init(knownSequence: Int64, knownHash: String) {
    self.knownSequence = knownSequence
    self.knownHash = knownHash.lowercased()
  }

  /// Verifies the next row. Returns false once the log is broken.
  mutating func take(_ row: AuditRow) throws(CryptoError) -> Bool {
    guard fault == nil else { return false }
    if row.sequence != lastSequence + 1 {
      fault = (lastSequence + 1, .sequenceGap)
    } else if row.hash != (try row.digest(after: lastHash)) {
      fault = (row.sequence, .hashMismatch)
    } else if row.salt != nil, row.valueDigest != (try row.digestOfValues()) {
      fault = (row.sequence, .valueMismatch)
    } else if row.salt == nil, row.oldJSON != nil || row.newJSON != nil {
      // Without their salt, values cannot be verified. Erasure removes both, so only tampering leaves values alone.
      fault = (row.sequence, .valueMismatch)
    } else if row.sequence == knownSequence, Hexadecimal.text(row.hash) != knownHash {
      fault = (row.sequence, .knownHashMismatch)
    }
    guard fault == nil else { return false }
    verified += 1
    if row.salt == nil { redacted += 1 }
    lastSequence = row.sequence
    lastHash = row.hash
    return true
  }

  /// Call after the last row: the log is broken if it ends before the known entry.
  mutating func finish() {
    if fault == nil, knownSequence > lastSequence { fault = (lastSequence + 1, .sequenceGap) }
  }

  func response(isFinished: Bool) -> VerifyAuditLogResponse {
    VerifyAuditLogResponse(
      verifiedCount: verified, redactedCount: redacted, lastSequence: lastSequence,
      lastHash: Hexadecimal.text(lastHash), finished: isFinished, intact: isFinished && fault == nil,
      brokenSequence: fault?.sequence ?? 0, fault: fault?.reason ?? .unspecified)
  }
}
