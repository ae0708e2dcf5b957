/// Replaces the writer's thread and the disk, so that a test controls the time and the result of each commit.
package protocol WriterStage: Sendable {
  /// Runs `work` once, after this call has returned.
  func schedule(_ work: @escaping @Sendable () -> Void)
  /// Called before a commit. An error counts as a disk failure, and nothing is kept.
  func willCommit() throws(StoreError)
  /// Called after a commit and before its callers are notified. An error hides that the commit succeeded.
  func didCommit() throws(StoreError)
}
