package import CampanileBase
package import CampanileCodec
package import CampanileRPC
import Gateway

/// An app's own API, translated into calls of the suite's methods. Served only if it is enabled in the configuration.
///
/// Like all routing, planning uses only the request's head and performs no I/O. The response is produced later by the
/// plan's task.
package protocol HTTPDialect: Sendable {
  /// Returns the plan for a request; nil for paths outside the dialect.
  ///
  /// - Parameter segments: The segments of the path, still encoded.
  func plan(_ request: RequestHead, segments: [Substring]) throws(RPCError) -> DialectPlan?
}

/// The plan for serving one request in a dialect.
package struct DialectPlan: Sendable {
  /// Makes a bounded number of calls and converts their results to the dialect's format.
  package typealias Respond = @Sendable (_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer

  /// The callers that may make a request. Checked before any byte of its body is read.
  package enum Access: Sendable {
    /// Anyone; the response needs no call.
    case none
    /// Anyone, within the rate limit for unauthenticated callers.
    case open
    /// Callers that may call this method, which the plan always calls.
    case method(MethodDescriptor)
  }

  package var access: Access
  /// Whether a body is read. If not, a request with a body is refused.
  package var takesBody: Bool
  /// The request's `Authorization` in the suite's form. An invalid one is refused in any case.
  package var authorization: String?
  /// The request's member session, which the service verifies.
  package var session: String?
  /// The methods of the path if the request's is not among them.
  package var allowed: [String] = []
  /// Converts an error to the form that the dialect's clients understand.
  package var failure: @Sendable (RPCError) -> DialectAnswer
  package var respond: Respond

  package init(
    access: Access, takesBody: Bool, authorization: String?, session: String? = nil,
    failure: @escaping @Sendable (RPCError) -> DialectAnswer, respond: @escaping Respond
  ) {
    self.access = access
    self.takesBody = takesBody
    self.authorization = authorization
    self.session = session
    self.failure = failure
    self.respond = respond
  }

  /// Returns a plan that refuses the request before any call.
  package func refused(with error: RPCError) -> DialectPlan {
    DialectPlan(access: .none, takesBody: false, authorization: authorization, failure: failure) {
      (_, _) throws(RPCError) in throw error
    }
  }

  /// The kind of request for admission.
  var kind: RequestKind {
    switch access {
    case .none: .plain
    case .open: .calls(method: nil, isOpen: true)
    case .method(let method): .calls(method: Array(method.path.utf8), isOpen: false)
    }
  }

  /// The request's credentials as a call's metadata.
  var credentials: Metadata {
    var metadata = Metadata()
    if let authorization { metadata.add(authorization, for: "authorization") }
    if let session { metadata.add(session, for: PresentedSession.metadataKey) }
    return metadata
  }

  /// Returns a plan for a path of the dialect that does not exist or that supports only other methods.
  package static func unserved(
    allowed: [String], _ authorization: String?, _ failure: @escaping @Sendable (RPCError) -> DialectAnswer
  ) -> DialectPlan {
    let names = allowed.joined(separator: ", ")
    let error = allowed.isEmpty ? HTTPRefusal.routeUnknown : HTTPRefusal.methodNotAllowed(names)
    var plan = DialectPlan(
      access: .none, takesBody: false, authorization: authorization,
      failure: { error in
        var answer = failure(error)
        if error.reason == "METHOD_NOT_ALLOWED" { answer.headers.append(.init(name: "Allow", value: names)) }
        return answer
      }, respond: { (_, _) throws(RPCError) in throw error })
    plan.allowed = allowed
    return plan
  }
}

/// A complete response in a dialect.
package struct DialectAnswer: Sendable, Hashable {
  package struct Header: Sendable, Hashable {
    package var name: String
    package var value: String

    package init(name: String, value: String) {
      self.name = name
      self.value = value
    }
  }
  package var status: Int
  package var headers: [Header] = []
  package var body: [UInt8] = []

  /// Creates a response.
  ///
  /// - Parameter tree: The body; nil for a response without one.
  package init(_ status: Int, _ tree: JSONTree?, headers: [Header] = []) {
    self.status = status
    self.headers = [Header(name: "Cache-Control", value: "no-store")] + headers
    guard let tree else { return }
    self.headers.append(Header(name: "Content-Type", value: "application/json; charset=utf-8"))
    var writer = JSONWriter()
    tree.write(to: &writer)
    body = writer.withUnsafeBytes { Array($0) }
  }

  /// Creates a response with a file as its body.
  package init(file: [UInt8], contentType: String, name: String) {
    status = 200
    headers = [
      Header(name: "Cache-Control", value: "no-store"), Header(name: "Content-Type", value: contentType),
      Header(name: "Content-Disposition", value: "attachment; filename=\"\(name)\""),
    ]
    body = file
  }
}
