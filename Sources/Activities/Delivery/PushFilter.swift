import CampanileAPI
import CampanileCodec
import CampanileService
import CampanileStore

/// The filters of a list of the delivery log.
///
/// The most selective one that is given selects an index; the others are applied to its rows. A page reads at most
/// `rowsMax` rows, so no combination of filters is a scan.
struct PushFilter: Sendable, Hashable {
  static let rowsMax = 10_000

  var request: ListPushesRequest

  /// The filters, for the scope of page tokens.
  var scope: [String] {
    [
      "pushes", request.userId, request.activityId, request.tokenId, request.app, request.reason,
      String(request.status.rawValue), String(request.action.rawValue), request.startTime?.jsonString() ?? "",
      request.endTime?.jsonString() ?? "",
    ]
  }

  /// Returns the newest matching pushes before `position`, and the id of the last row that was read if there may be
  /// more.
  func page(before position: String?, countMax: Int, in transaction: ReadTransaction) throws -> Page {
    let (sql, condition) = query
    let end = request.endTime.map { PushIDGenerator.lowerBound(timeMs: $0.millisecondsSince1970) }
    let before = min(position ?? PushReading.beyondAllIDs, end ?? PushReading.beyondAllIDs)
    let from = request.startTime.map { PushIDGenerator.lowerBound(timeMs: $0.millisecondsSince1970) } ?? ""
    var page = Page()
    var rows = 0
    var last = ""
    try transaction.forEach(
      sql, [.text(before), .text(from), .int(Self.rowsMax + 1)] + (condition.map { [$0] } ?? [])
    ) { row in
      guard rows < Self.rowsMax, page.pushes.count < countMax else {
        page.continuesAfter = last
        return false
      }
      rows += 1
      // Most rows of a selective filter match nothing, so only those that do become messages.
      if try matches(row) { page.pushes.append(try PushReading.push(row)) }
      if rows == Self.rowsMax || page.pushes.count == countMax { last = try row.text(0) }
      return true
    }
    return page
  }

  struct Page: Sendable, Hashable {
    var pushes: [Push] = []
    /// Nil after the last row.
    var continuesAfter: String?
  }

  private var query: (sql: String, condition: SQLValue?) {
    if !request.activityId.isEmpty { return (PushReading.deliveryLogOfActivitySQL, .text(request.activityId)) }
    if !request.userId.isEmpty { return (PushReading.deliveryLogOfUserSQL, .text(request.userId)) }
    if !request.reason.isEmpty { return (PushReading.deliveryLogOfReasonSQL, .text(request.reason)) }
    if request.status != .unspecified, request.status != .accepted {
      return (PushReading.deliveryLogOfFailureSQL, .integer(Int64(request.status.rawValue)))
    }
    return (PushReading.deliveryLogSQL, nil)
  }

  /// Compares the columns of `PushReading`, integers first.
  private func matches(_ row: borrowing SQLRow) throws -> Bool {
    if request.status != .unspecified, try row.integer(1) != Int64(request.status.rawValue) { return false }
    if request.action != .unspecified, try row.integer(2) != Int64(request.action.rawValue) { return false }
    if !request.app.isEmpty, try row.text(3) != request.app { return false }
    if !request.reason.isEmpty, try row.textIfPresent(11) != request.reason { return false }
    return try request.tokenId.isEmpty || row.textIfPresent(17) == request.tokenId
  }
}
