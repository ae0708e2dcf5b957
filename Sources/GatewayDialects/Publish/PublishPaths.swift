import CampanileCodec
import GatewayHTTP

/// The OpenAPI path items of publishing with one line.
enum PublishPaths {
  static let items: [String: JSONTree] = [
    "/publish": item("", "", []),
    "/publish/{bucket}": item(
      "ToBucket", " into a bucket",
      [
        parameter(
          "bucket", in: "path", "A publish key, or the id or name of a bucket.", isRequired: true,
          schema: ["pattern": .string("^(?!\\.{1,2}$)[^/\\u0000-\\u001F\\u007F-\\u009F]+$"), "minLength": .integer(1)])
      ]),
  ]

  private static func item(_ suffix: String, _ place: String, _ parameters: [JSONTree]) -> JSONTree {
    .object([
      "parameters": .array(parameters + Self.parameters),
      "get": operation("Get\(suffix)", "Publishes parameters\(place)", nil),
      "post": operation("Post\(suffix)", "Publishes a text\(place)", form),
      "put": operation("Put\(suffix)", "Publishes a text or a file\(place)", file),
    ])
  }

  /// The body of a POST. A text of another type is the message itself, which generators of clients cannot express.
  private static let form = body(
    PublishBody.formType,
    .object([
      "type": .string("object"),
      "properties": .object(
        Dictionary(
          uniqueKeysWithValues: ["title", "message", "priority", "tags", "delay", "click", "attach", "actions"].map {
            ($0, .object(["type": .string("string")]))
          })),
    ]))
  private static let file = body(
    "application/octet-stream", .object(["type": .string("string"), "format": .string("binary")]))

  private static func body(_ type: String, _ schema: JSONTree) -> JSONTree {
    .object(["content": .object([type: .object(["schema": schema])])])
  }

  /// The parameters under their first names. Headers have the same names and more.
  private static let parameters = [
    parameter("key", in: "query", "A publish key."), parameter("title", in: "query", "At most 256 characters."),
    parameter("message", in: "query", "The text, if the body has none."),
    parameter("priority", in: "query", "1 to 5, `min`, `low`, `default`, `high`, `max`, or a `Priority`."),
    parameter("tags", in: "query", "Separated by commas."),
    parameter("delay", in: "query", "`30m`, `tomorrow 10am`, a Unix time, or RFC 3339."),
    parameter("click", in: "query", "The URL that a tap opens."),
    parameter("attach", in: "query", "The URL of a medium."),
    parameter("actions", in: "query", "ntfy's short form, or JSON."),
  ]

  private static func parameter(
    _ name: String, in place: String, _ text: String, isRequired: Bool = false, schema: [String: JSONTree] = [:]
  ) -> JSONTree {
    .object([
      "name": .string(name), "in": .string(place), "required": .bool(isRequired), "description": .string(text),
      "schema": .object(schema.merging(["type": .string("string")]) { first, _ in first }),
    ])
  }

  private static func operation(_ name: String, _ summary: String, _ body: JSONTree?) -> JSONTree {
    func reference(_ name: String) -> JSONTree { .object(["$ref": .string("#/components/responses/\(name)")]) }
    var tree = JSONTree.object([
      "operationId": .string("Publish_\(name)"), "tags": .array([.string("Publish")]), "summary": .string(summary),
      "description": .string(
        """
        Publishes with one line; docs/publish.md lists all parameters and their other names. A publish key is a \
        sufficient credential.
        """),
      "security": .array([.object(["bearer": .array([])])]),
      "responses": .object([
        "200": .object([
          "description": .string("The notification as it was understood."),
          "content": .object(["application/json": .object(["schema": reply])]),
        ]),
        "400": reference("BadRequest"), "401": reference("Unauthenticated"), "403": reference("PermissionDenied"),
        "404": reference("NotFound"), "429": reference("TooManyRequests"), "default": reference("Error"),
      ]),
    ])
    if let body { tree.set("requestBody", body) }
    return tree
  }

  private static let reply = JSONTree.object([
    "type": .string("object"),
    "required": .array(["id", "scheduled", "notification", "understood", "notes"].map(JSONTree.string)),
    "properties": .object([
      "id": .object(["type": .string("string")]), "scheduled": .object(["type": .string("boolean")]),
      "notification": .object(["type": .string("object")]),
      "understood": .object([
        "type": .string("object"), "additionalProperties": .object(["type": .string("string")]),
        "description": .string("The place of each parameter, such as `header Title`."),
      ]),
      "notes": .object(["type": .string("array"), "items": .object(["type": .string("string")])]),
    ]),
  ])
}

extension PublishRoute: DescribedDialect {
  var openAPIPaths: [String: JSONTree] { PublishPaths.items }
}
