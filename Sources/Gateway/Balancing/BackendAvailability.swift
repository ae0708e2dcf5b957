import Synchronization

/// The backends that serve on any event loop, for readiness. Thread-safe.
final class BackendAvailability: Sendable {
  private struct State {
    /// Indexed by backend and loop.
    var serving: [[Bool]]
  }

  let names: [String]
  private let state: Mutex<State>
  private let onChange: @Sendable (_ backend: String, _ isServing: Bool) -> Void

  /// - Parameter onChange: Called on an event loop when a backend starts to serve on any loop, or stops on the last
  ///   one.
  init(names: [String], loopCount: Int, onChange: @escaping @Sendable (_ backend: String, _ isServing: Bool) -> Void) {
    self.names = names
    self.onChange = onChange
    state = Mutex(State(serving: Array(repeating: Array(repeating: false, count: loopCount), count: names.count)))
  }

  func set(backend: Int, loop: Int, isServing: Bool) {
    let changed: Bool? = state.withLock { state in
      let before = state.serving[backend].contains(true)
      state.serving[backend][loop] = isServing
      let after = state.serving[backend].contains(true)
      return before == after ? nil : after
    }
    if let changed { onChange(names[backend], changed) }
  }

  /// The backends without a serving address on any loop.
  var missing: [String] {
    state.withLock { state in zip(names, state.serving).filter { !$1.contains(true) }.map(\.0) }
  }
}
