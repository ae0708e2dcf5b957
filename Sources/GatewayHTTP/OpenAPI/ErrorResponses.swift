import CampanileCodec

/// The error responses that operations share.
enum ErrorResponses {
  /// The responses with their own status; all others are `Error`.
  static let byStatus: [(status: Int, name: String)] = [
    (400, "BadRequest"), (401, "Unauthenticated"), (403, "PermissionDenied"), (404, "NotFound"), (409, "Conflict"),
    (412, "PreconditionFailed"), (429, "TooManyRequests"),
  ]

  private static let descriptions = [
    "BadRequest": """
    The request is invalid, or the state does not permit it. `fieldViolations` names each invalid field with its reason.
    """,
    "Unauthenticated": "The credential is missing, wrong, expired or revoked. Public methods refuse a wrong one too.",
    "PermissionDenied": "The credential does not have the scope, or the caller may not perform the call.",
    "NotFound": "The object does not exist, or belongs to another caller.",
    "Conflict": "The object exists already, or another call has changed it.",
    "PreconditionFailed": "The entity tag of `If-Match` is not the current one.",
    "TooManyRequests": "A limit is reached. `Retry-After` states when to try again, if that helps.",
    "Error": "An error (AIP-193).",
  ]

  static func reference(_ name: String) -> JSONTree { .object(["$ref": .string("#/components/responses/\(name)")]) }

  /// The members of `components.responses`.
  static var components: JSONTree {
    .object(
      descriptions.mapValues { text in
        var tree = JSONTree.described(text)
        tree.set("content", .content(SchemaTrees.reference(toComponent: "Error"), ConnectRequest.unaryType))
        return tree
      })
  }

  /// The schema of an error's body (AIP-193).
  static let schema = JSONTree.object([
    "type": .string("object"), "required": .array([.string("error")]),
    "properties": .object([
      "error": .object([
        "type": .string("object"), "required": .array(["code", "message", "status", "details"].map(JSONTree.string)),
        "properties": .object([
          "code": .object(["type": .string("integer"), "description": .string("The HTTP status.")]),
          "message": .text(),
          "status": .object([
            "type": .string("string"), "description": .string("The gRPC status, such as `NOT_FOUND`."),
          ]),
          "details": .object(["type": .string("array"), "items": SchemaTrees.reference(toComponent: "ErrorDetail")]),
        ]),
      ])
    ]),
  ])

  /// The schema of an error's detail: `google.rpc.ErrorInfo`, `BadRequest` or `RetryInfo`, by its type.
  static let detailSchema = JSONTree.object([
    "type": .string("object"), "required": .array([.string("@type")]),
    "properties": .object([
      "@type": .text(examples: ["type.googleapis.com/google.rpc.ErrorInfo"]),
      "reason": .object([
        "type": .string("string"), "description": .string("The stable reason, such as `ETAG_MISMATCH`."),
      ]),
      "domain": .text(),
      "metadata": .object(["type": .string("object"), "additionalProperties": .text()]),
      "fieldViolations": .object([
        "type": .string("array"),
        "items": .object([
          "type": .string("object"), "required": .array([.string("field"), .string("description")]),
          "properties": .object(["field": .text(), "description": .text(), "reason": .text()]),
        ]),
      ]),
      "retryDelay": .text(pattern: TextPatterns.duration),
    ]),
  ])
}
