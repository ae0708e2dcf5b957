/// The responses to `GET /openapi.json`.
struct OpenAPIPage: Sendable {
  static let path = "/openapi.json"

  private let file: StaticFile

  init(_ document: [UInt8]) { file = StaticFile(document, contentType: "application/json") }

  /// Returns the decision for a request: 200, or 304 if the caller's copy is current.
  func answer(to request: RequestHead) -> HTTPDecision { file.answer(to: request) }
}
