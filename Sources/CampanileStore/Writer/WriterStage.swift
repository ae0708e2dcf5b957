/// Stands in for the writer's thread and the disk, so that a test decides when commits are made and what becomes of them.
package protocol WriterStage: Sendable {
  /// Runs `work` once, later than the call of this.
  func schedule(_ work: @escaping @Sendable () -> Void)
  /// Before a commit: what it throws is the disk's failure, and nothing is kept.
  func willCommit() throws(StoreError)
  /// After a commit, before anybody is told: what it throws hides that it was kept.
  func didCommit() throws(StoreError)
}
