/// Requests of an executable's own on its HTTP port, beside `/metrics` and the like.
public struct AdminRoutes: Sendable {
  /// A request whose body has come whole.
  public struct Request: Sendable, Hashable {
    /// Upper-case, such as `GET`.
    public var method: String
    /// Without the query.
    public var path: String
    /// The last of each name, decoded.
    public var query: [String: String]
    /// The value of `authorization`.
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

  /// What the paths begin with, such as `/v1`.
  public var prefix: String
  /// A longer body is answered with 413 before it is read to its end.
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
