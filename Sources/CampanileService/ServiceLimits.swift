/// The limits that every service has.
public protocol ServiceLimits: Sendable {
  /// Entries of a batch and ids of a call. More: INVALID_ARGUMENT, reason `TOO_MANY`.
  var batchEntriesMax: Int { get }
  /// Objects on one page. A larger `page_size`: INVALID_ARGUMENT, reason `OUT_OF_RANGE`.
  var pageSizeMax: Int { get }
  /// The size of a page when the request says none.
  var pageSizeDefault: Int { get }
  /// Open watches of one user. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  var watchesPerUserMax: Int { get }
  /// Open watches of the whole service. One more: RESOURCE_EXHAUSTED, reason `WATCHES_EXHAUSTED`.
  var watchesMax: Int { get }
}
