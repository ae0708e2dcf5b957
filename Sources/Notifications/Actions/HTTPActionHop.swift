import CampanileCodec
import CampanileService
import Foundation

/// One request of an action: the first one, or one that follows a redirect.
struct HTTPActionHop: Sendable, Hashable {
  var target: HTTPActionTarget
  var method: String
  var headers: [String: String]
  var body: [UInt8]

  /// The next step after a response.
  enum Next: Sendable, Hashable {
    case done
    case follow(HTTPActionHop)
    case refuse(HTTPActionResult.Reason)
  }

  /// Returns nil if the URL cannot be called. Header names and values are checked by the caller.
  init?(_ request: HTTPActionRequest) {
    guard let target = HTTPActionTarget(request.url) else { return nil }
    self.target = target
    method = request.method
    body = request.body
    headers = Dictionary(
      request.headers.map { ($0.key.lowercased(), $0.value) }, uniquingKeysWith: { first, _ in first })
    if !body.isEmpty, headers["content-type"] == nil { headers["content-type"] = request.contentType }
    if !request.idempotencyKey.isEmpty { headers["idempotency-key"] = request.idempotencyKey }
    if let credentials = target.credentials, headers["authorization"] == nil {
      headers["authorization"] = "Basic \(Data(credentials.utf8).base64EncodedString())"
    }
  }

  /// Returns the next step after a response (RFC 9110, section 15.4).
  ///
  /// 301, 302 and 303 are followed with a GET without a body (HEAD remains HEAD), 307 and 308 with the same request. A
  /// redirect from https to http is rejected. A different server does not receive the user's headers.
  func next(status: Int, location: String?) -> Next {
    guard [301, 302, 303, 307, 308].contains(status), let location else { return .done }
    guard let target = target.resolving(location), self.target.scheme == "http" || target.scheme == "https" else {
      return .refuse(.redirectRefused)
    }
    var hop = self
    hop.target = target
    if status < 307 {
      if method != "HEAD" { hop.method = "GET" }
      hop.body = []
      for name in ["content-type", "content-encoding", "content-language"] { hop.headers[name] = nil }
    }
    if !target.hasOrigin(of: self.target) {
      let contentType = hop.headers["content-type"]
      hop.headers = [:]
      hop.headers["content-type"] = contentType
    }
    return .follow(hop)
  }
}
