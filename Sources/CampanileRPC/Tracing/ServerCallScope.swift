public import CampanileBase
public import Logging

/// The scope of a call on a server. It reads the names from the metadata only when they are needed.
final class ServerCallScope: CallScope, @unchecked Sendable {
  // `@unchecked` because the superclass is unchecked. Both properties are constants of `Sendable` types.
  private let metadata: Metadata
  private let principal: Principal?

  init(span: Span?, metadata: Metadata, principal: Principal?) {
    self.metadata = metadata
    self.principal = principal
    super.init(span: span)
  }

  override var requestID: String? { metadata[Metadata.requestIDKey] }
  override var principalName: String? { principal?.name }
}

extension CallScope {
  /// Returns metadata for a call made by the running task, with its trace context added.
  static func outgoing(_ metadata: Metadata) -> Metadata {
    guard let trace, metadata[TraceContext.parentKey] == nil else { return metadata }
    var metadata = metadata
    trace.put(into: &metadata)
    return metadata
  }

  /// Metadata for the task's log lines.
  public var logMetadata: Logger.Metadata {
    CallRecord(requestID: requestID, principal: principalName, traceID: span?.context.traceID).logMetadata
  }
}

/// Identifying facts about a call for log lines, never its contents.
public struct CallRecord: Sendable, Hashable {
  public var requestID: String?
  public var principal: String?
  public var traceID: String?

  public init(requestID: String? = nil, principal: String? = nil, traceID: String? = nil) {
    self.requestID = requestID
    self.principal = principal
    self.traceID = traceID
  }

  public var logMetadata: Logger.Metadata {
    var metadata: Logger.Metadata = [:]
    if let requestID { metadata["requestId"] = .string(requestID) }
    if let principal { metadata["principal"] = .string(principal) }
    if let traceID { metadata["traceId"] = .string(traceID) }
    return metadata
  }
}
