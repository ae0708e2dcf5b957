extension Task where Failure == any Error {
  /// Starts a task immediately on this thread until it first suspends, and then continues it on `executor`.
  ///
  /// Before macOS 26 and the systems of its year, the whole task runs on `executor`.
  ///
  /// The operation may throw, because the library would wrap one that cannot, in a further allocation.
  @inlinable
  @inline(__always)
  @discardableResult
  package static func immediately(
    on executor: (any TaskExecutor)? = nil,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async throws -> Success
  ) -> Task<Success, any Error> {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
      return Task(executorPreference: executor, operation: operation)
    }
    return Task.immediate(executorPreference: executor, operation: operation)
  }
}
