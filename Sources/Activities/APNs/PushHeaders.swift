import APNs
import NIOHPACK

/// The header fields of requests and answers.
enum PushHeaders {
  struct Head: Sendable, Hashable {
    /// 0 when the field is missing or no number.
    var status = 0
    var retryAfterMs: Int64?
    var channelID: String?
  }

  /// Fields that many pushes share are indexed, so that each later push names them with a byte or two; those that differ
  /// with every push would only drive the others out of the table (RFC 7541 section 6.2.2).
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

  /// What counts of an answer's fields.
  static func head(of headers: HPACKHeaders) -> Head {
    var head = Head()
    for (name, value, _) in headers {
      switch name {
      case ":status": head.status = Int(value) ?? 0
      case APNsHeader.channelID: head.channelID = String(value.prefix(APNsLimits.channelIDBytesMax))
      case APNsHeader.retryAfter:
        // A date, the other form, is not worth a parser: the backoff serves.
        if let seconds = Int64(value), (0...86_400).contains(seconds) { head.retryAfterMs = seconds * 1_000 }
      default: break
      }
    }
    return head
  }
}
