public import CampanileBase
public import CampanileCodec
import CampanileRPC
public import CampanileStore

/// Page sizes and page tokens (AIP-158).
public enum Paging {
  /// Returns the page size to use: the default for 0, and at most the limit (AIP-158). A negative one is a violation.
  public static func size(_ requested: Int32, _ limits: some ServiceLimits, _ violations: inout Violations) -> Int {
    violations.range(requested, "pageSize", from: 0)
    return size(requested, limits)
  }

  /// Returns the page size to use for a validated request.
  public static func size(_ requested: Int32, _ limits: some ServiceLimits) -> Int {
    min(requested > 0 ? Int(requested) : limits.pageSizeDefault, limits.pageSizeMax)
  }

  public static func token(_ position: [String], scope: [String]) -> String {
    OpaqueToken.encode(Array(position.joined(separator: "\u{0}").utf8), scope: scope)
  }

  /// Returns the position inside a token, or nil for the first page. A token of another query or user is a violation.
  public static func position(
    _ token: String, parts: Int, scope: [String], _ violations: inout Violations
  ) -> [String]? {
    if token.isEmpty { return nil }
    if let payload = OpaqueToken.decode(token, scope: scope), let text = String(validating: payload, as: UTF8.self) {
      let position = text.split(separator: "\u{0}", omittingEmptySubsequences: false).map(String.init)
      if position.count == parts { return position }
    }
    violations.add("pageToken", "is not a token of this list", .pageTokenInvalid)
    return nil
  }
}

/// A query for one page of a user's list. Its position is the sort key of the last object of the previous page.
public struct PositionQuery: Sendable, Hashable {
  public var user: String
  public var pageSize: Int
  /// Empty for the first page.
  public var position: [String]
  private var scope: [String]

  /// Creates a query. Rejects tokens of another scope.
  ///
  /// - Parameters:
  ///   - scope: Names the list and its filters.
  ///   - parts: The number of parts of a position.
  public init(
    user: String, pageSize: Int32, pageToken: String, scope: [String], parts: Int, limits: some ServiceLimits
  ) throws(RPCError) {
    var violations = Violations()
    self.user = user
    self.scope = scope + [user]
    self.pageSize = Paging.size(pageSize, limits, &violations)
    position = Paging.position(pageToken, parts: parts, scope: self.scope, &violations) ?? []
    try violations.check()
  }

  /// Returns the page token for a position.
  public func token(_ position: [String]) -> String { Paging.token(position, scope: scope) }

  /// Returns the arguments of `id >= $1 AND id < $2 ORDER BY id LIMIT $3`, for a list of the ids with a prefix.
  ///
  /// There is one lower bound: SQLite seeks with one of several, and reads all rows that only the others exclude. The
  /// first text after the last id ends with U+0001, because neither ids nor texts of PostgreSQL contain U+0000.
  public func idRange(prefix: String) -> [SQLValue] {
    [.text(position.first.map { $0 + "\u{1}" } ?? prefix), .text(prefix + "\u{10FFFF}"), .int(pageSize + 1)]
  }

  /// Returns the page from up to one object more than the page size. The token is empty after the last page.
  public func page<T>(_ found: [T], _ key: (T) -> [String]) -> (page: [T], nextPageToken: String) {
    guard found.count > pageSize, let last = found.prefix(pageSize).last else { return (found, "") }
    return (Array(found.prefix(pageSize)), Paging.token(key(last), scope: scope))
  }

  /// Returns the page from collected rows. The token is empty after the last page.
  public func page<T>(_ rows: PageRows<T>, _ key: (T) -> [String]) -> (page: [T], nextPageToken: String) {
    guard rows.hasMore, let last = rows.items.last else { return (rows.items, "") }
    return (rows.items, Paging.token(key(last), scope: scope))
  }
}

/// Collects objects of varying size for one page, which ends at a maximum number of objects or bytes. A page therefore
/// fits into a frame. The first object is always accepted.
///
/// The code is inlinable, because lists are a hot path and must be specialized for the types of each service.
@frozen
public struct PageRows<T> {
  @usableFromInline var taken: [T] = []
  @usableFromInline var isCut = false
  @usableFromInline var sizeBytes = 0
  @usableFromInline let countMax: Int
  @usableFromInline let sizeBytesMax: Int

  @inlinable public var items: [T] { taken }
  /// Whether an object was left for the next page.
  @inlinable public var hasMore: Bool { isCut }

  @inlinable
  public init(countMax: Int, sizeBytesMax: Int = 2 << 20) {
    self.countMax = countMax
    self.sizeBytesMax = sizeBytesMax
  }

  /// Returns false if the page is full: the object belongs to the next page, and reading should stop.
  @inlinable
  public mutating func add(_ item: T, sizeBytes: Int) -> Bool {
    guard taken.isEmpty || (taken.count < countMax && self.sizeBytes + sizeBytes <= sizeBytesMax) else {
      isCut = true
      return false
    }
    taken.append(item)
    self.sizeBytes += sizeBytes
    return true
  }
}

extension PageRows: Sendable where T: Sendable {}
