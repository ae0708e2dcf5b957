/// The limits that every service has.
public protocol ServiceLimits: Sendable {
  /// Entries of a batch, and ids of a call. Above: INVALID_ARGUMENT, reason `TOO_MANY`.
  var batchEntriesMax: Int { get }
  /// Objects on one page. A larger `page_size` is cut down to it.
  var pageSizeMax: Int { get }
  /// The page size of a request that does not set one.
  var pageSizeDefault: Int { get }
  /// Open watches of one user. Above: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  var watchesPerUserMax: Int { get }
  /// Open watches of the whole service; the last quarter is reserved for users without one (`SharedLimit`). Above:
  /// RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  var watchesMax: Int { get }
}

extension ServiceLimits {
  var watches: SharedLimit { SharedLimit(total: watchesMax, perUser: watchesPerUserMax) }
}
