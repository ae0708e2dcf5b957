import CampanileBase
import CampanileCrypto
import CampanileRPC

/// A code that a secretary's device shows and members' devices present. It consists of the meeting, a step of 30 s and
/// a truncated HMAC-SHA256 over both: `ci1.3.57213880.` and 22 characters of base64url.
///
/// A code is valid in its own step and the next one. A code shown at the end of a step can therefore still be sent.
struct CheckInCode: Sendable, Hashable {
  static let stepMs: Int64 = 30_000
  /// 128 bits.
  static let macSizeBytes = 16
  static let keySizeBytes = 32
  private static let prefix = "ci1"

  /// The reason for rejecting a code.
  enum Fault: Error, Hashable {
    /// Malformed, or not signed with this key.
    case invalid
    /// Older than the previous step, or from a future step.
    case expired
  }

  let meeting: Int64
  let step: Int64

  init(meeting: Int64, nowMs: Int64) {
    self.meeting = meeting
    step = nowMs / Self.stepMs
  }

  var refreshMs: Int64 { (step + 1) * Self.stepMs }
  /// The time from which the code is rejected.
  var expireMs: Int64 { (step + 2) * Self.stepMs }

  func text(key: [UInt8]) throws(CryptoError) -> String {
    "\(Self.prefix).\(meeting).\(step).\(Base64URL.encode(try Self.mac(meeting, step, key: key)))"
  }

  /// Parses a presented code. Verifies the signature in constant time before the validity.
  static func parse(_ text: String, key: [UInt8], nowMs: Int64) throws(CryptoError) -> Result<CheckInCode, Fault> {
    let parts = text.split(separator: ".", omittingEmptySubsequences: false)
    guard text.utf8.count <= 80, parts.count == 4, parts[0] == prefix, let meeting = Int64(parts[1]), meeting > 0,
      String(meeting) == parts[1], let step = Int64(parts[2]), step >= 0, String(step) == parts[2],
      let mac = Base64URL.decode(String(parts[3])), mac.count == macSizeBytes
    else { return .failure(.invalid) }
    guard ConstantTime.equal(mac, try Self.mac(meeting, step, key: key)) else { return .failure(.invalid) }
    let now = nowMs / stepMs
    guard step == now || step == now - 1 else { return .failure(.expired) }
    return .success(CheckInCode(meeting: meeting, step: step))
  }

  private init(meeting: Int64, step: Int64) {
    self.meeting = meeting
    self.step = step
  }

  private static func mac(_ meeting: Int64, _ step: Int64, key: [UInt8]) throws(CryptoError) -> [UInt8] {
    Array(
      try HMACSHA256.code(Array("campanile-check-in/1/\(meeting)/\(step)".utf8), key: key).bytes.prefix(macSizeBytes))
  }
}
