import CampanileAPI
import CampanileBase
import CampanileStore

/// A planned reload of the members' widgets, and its progress.
///
/// It is stored as a text in `attendance_meta`: the time at which it is due, and the number of the last member done.
struct PlannedReload: Sendable, Hashable {
  /// Changes within this time cause one reload, because the system limits the reloads of a widget each day.
  static let delayMs: Int64 = 20_000

  static let getSQL = "SELECT value FROM attendance_meta WHERE name = 'widgets.reload'"
  static let putSQL = """
    INSERT INTO attendance_meta (name, value) VALUES ('widgets.reload', $1)
    ON CONFLICT (name) DO UPDATE SET value = excluded.value
    """
  static let dropSQL = "DELETE FROM attendance_meta WHERE name = 'widgets.reload'"

  var dueMs: Int64
  var afterMember: Int64 = 0

  init(dueMs: Int64) { self.dueMs = dueMs }

  init(_ row: borrowing SQLRow) throws {
    let parts = try row.text(0).split(separator: " ").compactMap { Int64($0) }
    guard parts.count == 2 else { throw StoreError(.corrupt, "the planned reload of widgets is not readable") }
    (dueMs, afterMember) = (parts[0], parts[1])
  }

  var text: String { "\(dueMs) \(afterMember)" }

  /// The id by which the push service recognizes a repeated reload for a member.
  func requestID(member: Int64) -> String { "attendance.widgets.\(dueMs).\(member)" }
}

extension ReadTransaction {
  /// The planned reload; nil if there is none.
  func plannedReload() throws -> PlannedReload? { try queryOne(PlannedReload.getSQL) { try PlannedReload($0) } }
}

extension WriteContext {
  /// Plans a reload of the members' widgets, in the transaction of a change of a meeting that they may show.
  ///
  /// - Parameters:
  ///   - old: The meeting before; nil if it is new.
  ///   - new: The meeting after; nil if it is deleted.
  func planReload(from old: Meeting?, to new: Meeting?) throws {
    guard let widgetSignal, [old, new].contains(where: { $0.map { NoticeRules.isUpcoming($0, nowMs) } ?? false })
    else { return }
    // A reload that has begun starts again, because it has reached some members before this change.
    if let planned = try transaction.plannedReload(), planned.afterMember == 0, planned.dueMs > nowMs { return }
    let reload = PlannedReload(dueMs: nowMs + PlannedReload.delayMs)
    try transaction.execute(PlannedReload.putSQL, [.text(reload.text)])
    widgetSignal.changed()
  }
}
