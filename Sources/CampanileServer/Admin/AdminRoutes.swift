/// Routes of an executable on its HTTP port, in addition to `/metrics`, `/healthz` and `/readyz`.
public struct AdminRoutes: Sendable {
  /// A request with its complete body.
  public struct Request: Sendable, Hashable {
    /// The method in upper case, such as `GET`.
    public var method: String
    /// The path, without the query.
    public var path: String
    /// Decoded query parameters; the last value of each name counts.
    public var query: [String: String]
    /// The header `authorization`.
    public var authorization: String?
    public var body: [UInt8]

    public init(
      method: String, path: String, query: [String: String] = [:], authorization: String? = nil, body: [UInt8] = []
    ) {
      self.method = method
      self.path = path
      self.query = query
      self.authorization = authorization
      self.body = body
    }
  }

  public struct Response: Sendable, Hashable {
    public var status: Int
    public var contentType: String
    public var body: [UInt8]

    public init(status: Int, contentType: String = "application/json", body: [UInt8]) {
      self.status = status
      self.contentType = contentType
      self.body = body
    }
  }

  /// Prefix of the paths, such as `/v1`.
  public var prefix: String
  /// Maximum size of a request body. A larger one gets 413 before it is read completely.
  public var bodyBytesMax: Int
  public var handle: @Sendable (Request) async -> Response

  public init(
    prefix: String, bodyBytesMax: Int = 256 * 1024, handle: @escaping @Sendable (Request) async -> Response
  ) {
    self.prefix = prefix
    self.bodyBytesMax = bodyBytesMax
    self.handle = handle
  }
}
