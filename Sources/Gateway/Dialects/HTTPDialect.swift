import CampanileCodec
import CampanileRPC

/// An app's own paths and words, translated into calls of the suite's methods. Served only where a setting says so.
///
/// Decided by a request's head and without I/O, as all routing is; what it answers is found out later, on the plan's own task.
protocol HTTPDialect: Sendable {
  /// What answers the request; `nil` for paths that are not the dialect's.
  ///
  /// - Parameter segments: the path's, still encoded.
  func plan(_ request: HTTPRequestText, segments: [Substring]) throws(RPCError) -> DialectPlan?
}

/// How one request in a dialect is answered.
struct DialectPlan: Sendable {
  /// Makes calls, at most a bounded number of them, and puts their results into the dialect's words.
  typealias Respond = @Sendable (_ body: [UInt8], _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer

  /// Whether a body is read. A request that brings one to a plan that reads none is refused.
  var takesBody: Bool
  /// The request's `Authorization` as the suite understands it. A wrong one is refused, whatever the plan would do.
  var authorization: String?
  /// Failures in the form that the dialect's clients understand.
  var failure: @Sendable (RPCError) -> DialectAnswer
  var respond: Respond

  /// The same request, refused before anything is called.
  func refused(with error: RPCError) -> DialectPlan {
    DialectPlan(takesBody: false, authorization: authorization, failure: failure) { (_, _) throws(RPCError) in
      throw error
    }
  }

  /// A path of the dialect's that nothing is at, or that takes other methods.
  static func unserved(
    allowed: [String], _ authorization: String?, _ failure: @escaping @Sendable (RPCError) -> DialectAnswer
  ) -> DialectPlan {
    let names = allowed.joined(separator: ", ")
    let error =
      allowed.isEmpty
      ? RPCError(.notFound, "there is nothing at this path", reason: "ROUTE_UNKNOWN", processed: false)
      : RPCError(.unimplemented, "the path takes \(names)", reason: "METHOD_NOT_ALLOWED", processed: false)
    let plan = DialectPlan(
      takesBody: false, authorization: authorization,
      failure: { error in
        var answer = failure(error)
        if error.reason == "METHOD_NOT_ALLOWED" { answer.headers.append(.init(name: "Allow", value: names)) }
        return answer
      }, respond: { (_, _) throws(RPCError) in throw error })
    return plan
  }
}

/// A whole answer in a dialect.
struct DialectAnswer: Sendable, Hashable {
  struct Header: Sendable, Hashable {
    var name: String
    var value: String
  }
  var status: Int
  var headers: [Header] = []
  var body: [UInt8] = []

  /// - Parameter tree: becomes the body; `nil` for none.
  init(_ status: Int, _ tree: JSONTree?, headers: [Header] = []) {
    self.status = status
    self.headers = [Header(name: "Cache-Control", value: "no-store")] + headers
    guard let tree else { return }
    self.headers.append(Header(name: "Content-Type", value: "application/json; charset=utf-8"))
    var writer = JSONWriter()
    tree.write(to: &writer)
    body = writer.withUnsafeBytes { Array($0) }
  }
}

extension HTTPRequestText {
  /// Refuses a body that is not JSON, and one that nothing would read.
  ///
  /// Throws INVALID_ARGUMENT `CONTENT_TYPE_UNSUPPORTED` or `BODY_UNEXPECTED`. A type of its own is also what keeps a form on
  /// another site's page from posting with a visitor's cookie.
  func checkDialectBody(isTaken: Bool) throws(RPCError) {
    guard hasBody else { return }
    guard isTaken else { throw HTTPPlan.bodyUnexpected }
    guard ConnectRequest.shape(contentType: self["content-type"]) == .unary else {
      throw HTTPRefusal.unsupportedType(ConnectRequest.unaryType, style: .rest).error
    }
  }
}
