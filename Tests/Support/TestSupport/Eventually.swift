package import Testing

/// Waits until `condition` holds. Records an issue after 30 seconds.
package func eventually(_ what: Comment, _ condition: () async throws -> Bool) async throws {
  let end = ContinuousClock.now + .seconds(30)
  while ContinuousClock.now < end {
    if try await condition() { return }
    try await Task.sleep(for: .milliseconds(5))
  }
  Issue.record(what)
}
