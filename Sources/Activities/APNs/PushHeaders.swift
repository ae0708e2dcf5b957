import APNs
import NIOHPACK

/// The header fields of requests ("Sending notification requests to APNs") and responses ("Handling notification
/// responses from APNs").
enum PushHeaders {
  struct Head: Sendable, Hashable {
    /// 0 if the field is missing or not a number.
    var status = 0
    var retryAfterMs: Int64?
    var channelID: String?
  }

  /// Returns the header fields of a request.
  ///
  /// Fields shared by many pushes are indexed, so that later pushes encode them in one or two bytes. Fields that differ
  /// with every push are not, because they would evict the others from the table (RFC 7541 section 6.2.2).
  static func headers(of request: PushRequest, authority: String) -> HPACKHeaders {
    var headers = HPACKHeaders()
    headers.reserveCapacity(12)
    headers.add(name: ":method", value: request.method)
    headers.add(name: ":scheme", value: "https")
    headers.add(name: ":path", value: request.path, indexing: .nonIndexable)
    headers.add(name: ":authority", value: authority)
    headers.add(name: APNsHeader.authorization, value: request.authorization)
    if !request.topic.isEmpty { headers.add(name: APNsHeader.topic, value: request.topic) }
    if !request.pushType.isEmpty { headers.add(name: APNsHeader.pushType, value: request.pushType) }
    if request.priority != 0 {
      headers.add(name: APNsHeader.priority, value: request.priority == 10 ? "10" : String(request.priority))
    }
    if !request.id.isEmpty { headers.add(name: APNsHeader.id, value: request.id, indexing: .nonIndexable) }
    if !request.requestID.isEmpty {
      headers.add(name: APNsHeader.requestID, value: request.requestID, indexing: .nonIndexable)
    }
    if let expiration = request.expiration {
      headers.add(name: APNsHeader.expiration, value: String(expiration), indexing: .nonIndexable)
    }
    if let collapseID = request.collapseID {
      headers.add(name: APNsHeader.collapseID, value: collapseID, indexing: .nonIndexable)
    }
    if let channelID = request.channelID {
      headers.add(name: APNsHeader.channelID, value: channelID, indexing: .nonIndexable)
    }
    return headers
  }

  /// Returns the relevant fields of a response.
  static func head(of headers: HPACKHeaders) -> Head {
    var head = Head()
    for (name, value, _) in headers {
      switch name {
      case ":status": head.status = Int(value) ?? 0
      case APNsHeader.channelID: head.channelID = String(value.prefix(APNsLimits.channelIDBytesMax))
      case APNsHeader.retryAfter:
        // The date form is not parsed: the backoff suffices.
        if let seconds = Int64(value), (0...86_400).contains(seconds) { head.retryAfterMs = seconds * 1_000 }
      default: break
      }
    }
    return head
  }
}
