import CampanileBase
import CampanileCodec
import CampanileJSON
import CampanileRPC
import CampanileService

/// Checks a content as it arrives, in chunks of any size: that it is JSON and, for the two known record types, a valid
/// container. Uses constant memory.
struct ContentCheck {
  /// The findings about a content.
  struct Findings: Sendable, Hashable {
    /// Nil unless the content is a known container.
    var recordCount: Int64?
    /// The timestamp in the container.
    var syncTimestampMs: Int64?
    var duplicateNames: [String] = []
  }

  /// Nil for a known container without a search for duplicate keys, because the container check includes JSON
  /// validation.
  private var validator: JSONValidator?
  private var container: ContainerCheck?

  init(recordType: String, isStrict: Bool, limits: SyncLimits) {
    let text = JSONLimits(sizeBytesMax: limits.contentBytesMax, duplicateNames: isStrict ? .report : .keep)
    container = Container(rawValue: recordType).map { ContainerCheck($0, limits: .init(text: text)) }
    if container == nil || isStrict { validator = JSONValidator(limits: text) }
  }

  init(of upload: StoredUpload, _ limits: SyncLimits) {
    self.init(recordType: upload.recordType, isStrict: upload.isStrict, limits: limits)
  }

  /// Whether contents of this type are known containers.
  static func isContainer(_ recordType: String) -> Bool { Container(rawValue: recordType) != nil }

  /// Throws INVALID_ARGUMENT for the first invalid byte or value.
  mutating func update(_ bytes: UnsafeRawBufferPointer) throws(RPCError) {
    do throws(JSONSyntaxError) {
      try validator?.update(bytes)
    } catch { throw .jsonInvalid(error) }
    do throws(ContainerError) {
      try container?.update(bytes)
    } catch { throw .containerInvalid(error) }
  }

  /// Returns a path cut to 256 scalars, because paths in deep documents are long.
  private static func cut(_ path: String) -> String {
    let kept = path.unicodeScalars.prefix(256)
    return kept.endIndex == path.unicodeScalars.endIndex ? path : String(kept) + "\u{2026}"
  }

  /// Finishes the check. Throws INVALID_ARGUMENT if the text is incomplete, or a required member is missing.
  mutating func finish() throws(RPCError) -> Findings {
    var findings = Findings()
    do throws(JSONSyntaxError) {
      if let summary = try validator?.finish() {
        findings.duplicateNames = summary.duplicates.map { Self.cut($0.path) }
      }
    } catch { throw .jsonInvalid(error) }
    do throws(ContainerError) {
      if let summary = try container?.finish() {
        findings.recordCount = Int64(summary.recordCount)
        let time = try? ProtoTimestamp(jsonString: "\"\(summary.syncTimestamp)\"")
        findings.syncTimestampMs = time?.millisecondsSince1970
      }
    } catch { throw .containerInvalid(error) }
    return findings
  }
}

extension RPCError {
  /// Returns INVALID_ARGUMENT with the path in the container and the error there.
  static func containerInvalid(_ failure: ContainerError) -> RPCError {
    if let syntax = failure.syntax { return .jsonInvalid(syntax) }
    return RPCError(
      .invalidArgument, "the content is not a valid container: \(failure.path): \(failure.reason)",
      .containerInvalid,
      errorMetadata: [
        "path": String(failure.path.unicodeScalars.prefix(256)), "byteOffset": String(failure.byteOffset),
        "code": failure.code.description,
      ],
      fieldViolations: [
        .init(
          field: "content", description: "\(failure.path): \(failure.reason)", reason: Reason.containerInvalid.rawValue)
      ])
  }

  /// Returns INVALID_ARGUMENT with the offset of the byte and the expected input.
  static func jsonInvalid(_ failure: JSONSyntaxError) -> RPCError {
    let reason: Reason =
      failure.code == .depthExceeded ? .jsonTooDeep : failure.code == .sizeExceeded ? .contentTooLarge : .jsonInvalid
    return RPCError(
      .invalidArgument, "the content is not valid JSON: \(failure.message)", reason: reason.rawValue,
      errorMetadata: [
        "byteOffset": String(failure.byteOffset), "expected": failure.expected, "code": failure.code.description,
      ],
      fieldViolations: [.init(field: "content", description: failure.message, reason: reason.rawValue)])
  }
}
