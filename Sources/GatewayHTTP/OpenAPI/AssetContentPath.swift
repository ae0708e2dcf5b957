import CampanileCodec
import CampanileContract

/// The OpenAPI path item of an asset's content, which no HTTP rule of the protos describes.
struct AssetContentPath {
  private let download: Contract.Method
  private let put: Contract.Method
  private let downloadText: OperationText
  private let putText: OperationText
  private let tag: JSONTree

  init(download: Contract.Method, put: Contract.Method, _ contract: Contract) {
    self.download = download
    self.put = put
    downloadText = OperationText(download, contract)
    putText = OperationText(put, contract)
    tag = .array([.string(download.shortService)])
  }

  func item(_ schemas: inout SchemaTrees) -> JSONTree {
    let version = parameters(["version"], of: download.requestType, &schemas)
    let put = put(&schemas)
    return .object([
      "parameters": .array(
        [("zoneId", TextPatterns.zoneID), ("name", TextPatterns.segment)].map { name, pattern in
          Self.parameter(name, in: "path", .text(pattern: pattern), isRequired: true)
        }),
      "get": operation(
        "GetContent", "Returns the bytes of an asset", downloadText, download,
        [
          "parameters": .array(
            version + [
              Self.parameter("Range", in: "header", .text(pattern: "^bytes=[0-9]{1,15}-$")),
              Self.parameter("If-None-Match", in: "header", .entityTag),
            ]),
          "responses": Self.responses([
            "200": Self.content("The bytes, with `ETag` and `Repr-Digest`."),
            "206": Self.content("The requested range of bytes."),
            "304": .described("The content matches `If-None-Match`."),
            "416": .described("The range begins past the end."),
          ]),
        ]),
      "head": operation(
        "HeadContent", "Returns the headers of an asset's bytes", downloadText, download,
        [
          "parameters": .array(version),
          "responses": .object([
            "200": .described("The headers of the bytes."), "default": .described("An error, without a body."),
          ]),
        ]),
      "put": put,
    ])
  }

  private func put(_ schemas: inout SchemaTrees) -> JSONTree {
    let query =
      parameters(["device_id"], of: put.requestType, &schemas)
      + parameters(UploadPlan.queryFields.sorted(), of: "campanile.sync.v1.AssetPut", &schemas)
    let conditions = ["If-Match", "If-None-Match"].map {
      Self.parameter($0, in: "header", .entityTag)
    }
    let digest = JSONTree.text(pattern: "^sha-256=:[A-Za-z0-9+/]{43}=:$")
    func stored(_ text: String) -> JSONTree {
      var tree = JSONTree.described(text + " The response has its `ETag`.")
      tree.set("content", .content(schemas.reference(put.responseType), ConnectRequest.unaryType))
      return tree
    }
    return operation(
      "PutContent", "Stores a new version of an asset", putText, put,
      [
        "parameters": .array(
          query + conditions + [Self.parameter("Repr-Digest", in: "header", digest, isRequired: true)]),
        "requestBody": .object(["required": .bool(true), "content": .content(.object([:]), ConnectRequest.unaryType)]),
        "responses": Self.responses([
          "200": stored("The asset has a new version."), "201": stored("The asset is new."),
          "411": ErrorResponses.reference("Error"), "412": ErrorResponses.reference("PreconditionFailed"),
          "413": ErrorResponses.reference("Error"),
        ]),
      ])
  }

  private func operation(
    _ name: String, _ summary: String, _ text: OperationText, _ method: Contract.Method, _ members: [String: JSONTree]
  ) -> JSONTree {
    .object(
      [
        "operationId": .string("\(method.shortService)_\(name)"), "tags": tag, "summary": .string(summary),
        "description": .string(text.description), "security": .array([.object(["bearer": .array([])])]),
      ].merging(members) { $1 })
  }

  /// Returns the query parameters of fields of a message.
  private func parameters(_ names: [String], of message: String, _ schemas: inout SchemaTrees) -> [JSONTree] {
    guard let message = schemas.contract.messages[message] else { return [] }
    return message.fields.filter { names.contains($0.name) || names.contains($0.jsonName) }.map { field in
      var parameter = Self.parameter(field.jsonName, in: "query", schemas.queryValue(of: field, in: message))
      if !field.documentation.isEmpty { parameter.set("description", .string(field.documentation.text)) }
      return parameter
    }
  }

  private static func parameter(
    _ name: String, in place: String, _ schema: JSONTree, isRequired: Bool = false
  ) -> JSONTree {
    .object([
      "name": .string(name), "in": .string(place), "required": .bool(isRequired), "schema": schema,
    ])
  }

  private static func responses(_ members: [String: JSONTree]) -> JSONTree {
    let errors = ErrorResponses.byStatus.filter { $0.status != 409 && $0.status != 412 }.map {
      ("\($0.status)", ErrorResponses.reference($0.name))
    }
    return .object(
      members.merging(errors + [("default", ErrorResponses.reference("Error"))]) { own, _ in own })
  }

  private static func content(_ text: String) -> JSONTree {
    var tree = JSONTree.described(text)
    tree.set("content", .content(.object([:]), ConnectRequest.unaryType))
    return tree
  }
}
