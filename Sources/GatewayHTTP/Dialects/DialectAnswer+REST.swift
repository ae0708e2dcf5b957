package import CampanileBase
package import CampanileCodec

extension DialectAnswer {
  /// Creates a response with a complete JSON text.
  package init(_ status: Int, json: [UInt8]) {
    self.init(status, nil, headers: [Header(name: "Content-Type", value: "application/json")])
    body = json
  }

  /// Returns an error in the suite's own form (AIP-193), for paths that are not an app's.
  package static func rest(_ error: RPCError) -> DialectAnswer {
    let status = HTTPStatusCode.ofREST(error, hasCondition: false)
    var writer = JSONWriter()
    ErrorBody.rest(error, status: status, to: &writer)
    return DialectAnswer(status, json: writer.withUnsafeBytes { Array($0) })
  }

  /// The error of a request that has a body and must not have one.
  package static var bodyUnexpected: RPCError { HTTPPlan.bodyUnexpected }
}

/// A dialect whose paths belong to the suite's own API, so that the OpenAPI document contains them.
package protocol DescribedDialect: HTTPDialect {
  /// Path items by path.
  var openAPIPaths: [String: JSONTree] { get }
}
