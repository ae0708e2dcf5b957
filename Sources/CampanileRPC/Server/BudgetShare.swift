/// The bytes that a connection has reserved in a process-wide budget, and their holder. Used on the connection's event
/// loop.
package struct BudgetShare {
  package private(set) var reservedBytes = 0
  private var holder = ""
  private var isStranger = false

  package init() {}

  /// Changes the reservation to `sizeBytes`. A first reservation is made for `holder`; later ones keep their holder.
  ///
  /// - Parameter isStranger: Whether the holder has no credential; like `holder`, it is used only for a first
  ///   reservation.
  /// - Throws: `Fault` if the budget has no room; the reservation is then unchanged.
  package mutating func reserve(
    _ sizeBytes: Int, for holder: @autoclosure () -> String, isStranger: Bool = false, in budget: WaitingBytesBudget
  ) throws(WaitingBytesBudget.Fault) {
    guard sizeBytes > reservedBytes else { return lower(to: sizeBytes, in: budget) }
    if reservedBytes == 0 { (self.holder, self.isStranger) = (holder(), isStranger) }
    try budget.reserve(sizeBytes - reservedBytes, for: self.holder, isStranger: self.isStranger)
    reservedBytes = sizeBytes
  }

  /// Lowers the reservation to `sizeBytes`.
  package mutating func lower(to sizeBytes: Int, in budget: WaitingBytesBudget) {
    guard sizeBytes < reservedBytes else { return }
    budget.release(reservedBytes - sizeBytes, for: holder, isStranger: isStranger)
    reservedBytes = sizeBytes
  }
}
