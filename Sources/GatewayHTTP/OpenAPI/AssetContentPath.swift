import CampanileCodec

extension AssetContent {
  /// The OpenAPI path item for an asset's content, which no HTTP rule of the protos describes.
  static let pathItem = JSONTree.object([
    "parameters": .array([parameter("zone", in: "path"), parameter("name", in: "path")]),
    "get": .object([
      "operationId": .string("AssetsService_GetContent"), "tags": .array([.string("AssetsService")]),
      "parameters": .array([
        parameter("version", in: "query"), parameter("Range", in: "header"), parameter("If-None-Match", in: "header"),
      ]),
      "responses": .object([
        "200": content("The bytes, with ETag and Repr-Digest."),
        "206": content("The requested range of bytes."),
        "304": described("The content matches If-None-Match."), "416": described("The range begins past the end."),
        "default": failure,
      ]),
    ]),
    "head": .object([
      "operationId": .string("AssetsService_HeadContent"), "tags": .array([.string("AssetsService")]),
      "parameters": .array([parameter("version", in: "query")]),
      "responses": .object(["200": described("The headers of the bytes."), "default": failure]),
    ]),
    "put": .object([
      "operationId": .string("AssetsService_PutContent"), "tags": .array([.string("AssetsService")]),
      "parameters": .array(
        ["deviceId", "recordType", "syncTimestamp", "recordCount", "baseEtag", "onConflict", "strict"].map {
          parameter($0, in: "query")
        } + ["If-Match", "If-None-Match"].map { parameter($0, in: "header") }
          + [parameter("Repr-Digest", in: "header", isRequired: true)]),
      "requestBody": .object(["required": .bool(true), "content": anyJSON]),
      "responses": .object([
        "200": stored("The asset has a new version."), "201": stored("The asset is new."),
        "411": described("Content-Length is missing."), "412": described("The precondition failed."),
        "413": described("The content is too long."), "default": failure,
      ]),
    ]),
  ])

  private static let anyJSON = JSONTree.object(["application/json": .object(["schema": .object([:])])])
  private static let failure = JSONTree.object(["$ref": .string("#/components/responses/Error")])

  private static func parameter(_ name: String, in place: String, isRequired: Bool = false) -> JSONTree {
    .object([
      "name": .string(name), "in": .string(place), "required": .bool(isRequired || place == "path"),
      "schema": .object(["type": .string("string")]),
    ])
  }

  private static func described(_ text: String) -> JSONTree { .object(["description": .string(text)]) }

  private static func content(_ text: String) -> JSONTree {
    .object(["description": .string(text), "content": anyJSON])
  }

  private static func stored(_ text: String) -> JSONTree {
    .object([
      "description": .string(text + " The response has its ETag."),
      "content": .object([
        "application/json": .object(["schema": SchemaTrees.reference("campanile.sync.v1.PutAssetResponse")])
      ]),
    ])
  }
}
