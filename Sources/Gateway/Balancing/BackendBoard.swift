import Synchronization

/// Which backends serve, as all event loops together see it: what readiness is told from. Safe from any thread.
final class BackendBoard: Sendable {
  private struct State {
    /// By backend and loop.
    var serving: [[Bool]]
  }

  let names: [String]
  private let state: Mutex<State>
  private let onChange: @Sendable (_ backend: String, _ isServing: Bool) -> Void

  /// - Parameter onChange: told when a backend begins to serve on any loop, or stops on the last one; on an event loop.
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

  /// The backends that no loop has a serving address of.
  var missing: [String] {
    state.withLock { state in zip(names, state.serving).filter { !$1.contains(true) }.map(\.0) }
  }
}
