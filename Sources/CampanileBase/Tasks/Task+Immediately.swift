extension Task where Failure == Never {
  /// Starts a task immediately on this thread until it first suspends, and then continues it on `executor`.
  ///
  /// Before macOS 26 and the systems of its year, the whole task runs on `executor`.
  @inlinable
  @inline(__always)
  @discardableResult
  package static func immediately(
    on executor: (any TaskExecutor)? = nil,
    @_inheritActorContext @_implicitSelfCapture
    operation: sending @escaping @isolated(any) () async -> Success
  ) -> Task<Success, Never> {
    guard #available(macOS 26, iOS 26, tvOS 26, watchOS 26, visionOS 26, *) else {
      return Task(executorPreference: executor, operation: operation)
    }
    return Task.immediate(executorPreference: executor, operation: operation)
  }
}
