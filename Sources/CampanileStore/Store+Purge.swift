extension Store {
  /// Repeats a deleting transaction, at most `batchesMax` times, until it deletes less than `batchRows` rows. Other
  /// writes can run between two batches.
  ///
  /// - Parameter delete: Deletes a batch and returns its number of rows.
  /// - Returns: The number of deleted rows.
  public func purge(
    batchRows: Int, batchesMax: Int, _ delete: @escaping @Sendable (WriteTransaction) throws -> Int
  ) async throws -> Int {
    var total = 0
    for _ in 0..<max(0, batchesMax) {
      let count = try await write { try delete($0) }
      total += count
      if count < batchRows { break }
    }
    return total
  }
}
