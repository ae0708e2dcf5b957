import CampanileAPI
import CampanileCodec
import CampanileContract
import CampanileRPC
import Gateway

/// The REST API as an OpenAPI 3.1 document (spec.openapis.org/oas/v3.1.0): the routes from the table that requests are
/// matched against, their texts and constraints from the contract.
enum OpenAPIDocument {
  /// Returns the document as JSON.
  ///
  /// - Parameter dialects: Those whose paths are part of the document.
  static func bytes(_ table: HTTPTable, _ dialects: [any DescribedDialect] = []) -> [UInt8] {
    // The descriptors are compiled in, and the generator has read the same options.
    guard let contract = try? Contract(descriptorSet: DescriptorSet.serializedBytes) else { return [] }
    var writer = JSONWriter()
    tree(table, contract, dialects).write(to: &writer)
    return writer.withUnsafeBytes { [UInt8]($0) }
  }

  private static func tree(
    _ table: HTTPTable, _ contract: Contract, _ dialects: [any DescribedDialect]
  ) -> JSONTree {
    var schemas = SchemaTrees(contract, requests: Set(table.bindings.map(\.method.descriptor.requestType)))
    var paths: [String: JSONTree] = [:]
    var services: Set<String> = []
    for path in SharedPath.all(table.bindings) {
      var item = JSONTree.object([:])
      for binding in path.bindings {
        guard let operation = Operation(path, binding, contract) else { continue }
        item.set(binding.verb.lowercased(), operation.tree(&schemas))
        services.insert(operation.method.service)
      }
      paths[path.path] = item
    }
    if let download = contract.method(AssetsServiceMethods.downloadAsset.path),
      let put = contract.method(AssetsServiceMethods.putAsset.path), table.method(download.path[...]) != nil
    {
      let content = AssetContentPath(download: download, put: put, contract)
      paths[AssetContent.path] = content.item(&schemas)
    }
    for dialect in dialects { paths.merge(dialect.openAPIPaths) { first, _ in first } }
    let tags = contract.services.filter { services.contains($0.name) }.map(tag)
    var components = schemas.components
    components["Error"] = ErrorResponses.schema
    components["ErrorDetail"] = ErrorResponses.detailSchema
    return .object([
      "openapi": .string("3.1.0"), "info": info, "servers": .array([.object(["url": .string("/")])]),
      "security": .array([.object(["bearer": .array([])])]),
      "tags": .array(tags + (dialects.isEmpty ? [] : [publishTag])), "paths": .object(paths),
      "components": .object([
        "securitySchemes": securitySchemes, "schemas": .object(components), "responses": ErrorResponses.components,
        "parameters": headers,
      ]),
    ])
  }

  private static let info = JSONTree.object([
    "title": .string("Campanile"), "version": .string("1"),
    "summary": .string("Notifications, Live Activities, synchronized files and the attendance of a lodge."),
    "description": .string(
      """
      The methods of the suite as REST. Each is also served by the Connect protocol at `/SERVICE/METHOD`.

      An error has a stable `reason` in its first detail. Every operation may also fail because of its credential \
      (`CREDENTIAL_MISSING`), a limit (`RATE_LIMITED`), or an unavailable service. Several invalid fields are reported \
      together, with the reason `FIELDS_INVALID`.
      """),
    "license": .object(["name": .string("Apache License 2.0"), "identifier": .string("Apache-2.0")]),
  ])

  private static let securitySchemes = JSONTree.object([
    "bearer": .object([
      "type": .string("http"), "scheme": .string("bearer"),
      "description": .string("An API key (`cmp_…`), or a token of the configured issuer."),
    ]),
    "attendanceSession": .object([
      "type": .string("apiKey"), "in": .string("header"), "name": .string(PresentedSession.metadataKey),
      "description": .string("A member's session (`cas_…`) from `SessionsService_Login`."),
    ]),
    "accessToken": .object([
      "type": .string("apiKey"), "in": .string("query"), "name": .string(HTTPPlanner.queryToken),
      "description": .string(
        "The bearer's key, for event streams of browsers, which cannot set headers. Prefer the header elsewhere."),
    ]),
  ])

  private static let headers = JSONTree.object([
    "IfMatch": header(
      "If-Match", "The etag that the object must have, in double quotes; `*` for any.",
      .entityTag, example: "\"v3\""),
    "IdempotencyKey": header(
      "Idempotency-Key", "A repetition with the same key within 24 h returns the first response.",
      .text(pattern: "^[!-~]{1,64}$"), example: "7f0c2d9a"),
  ])

  private static func header(
    _ name: String, _ description: String, _ schema: JSONTree, example: String
  ) -> JSONTree {
    .object([
      "name": .string(name), "in": .string("header"), "description": .string(description), "schema": schema,
      "example": .string(example),
    ])
  }

  /// The tag of the operations that translate into methods.
  private static let publishTag = JSONTree.object([
    "name": .string("Publish"), "description": .string("Publishes texts with the names of other servers."),
  ])

  private static func tag(_ service: Contract.Service) -> JSONTree {
    .object([
      "name": .string(String(service.name.split(separator: ".").last ?? "")),
      "description": .string(service.documentation.text),
    ])
  }
}
