import CampanileBase
import Synchronization

/// Wakes a loop after a commit that changed what is due.
///
/// Writes call `changed` on the writer's thread.
final class CommitSignal: Sendable {
  let signal = WakeSignal()
  private let isChanged = Mutex(false)

  func changed() { isChanged.withLock { $0 = true } }

  /// Runs after every commit, successful or not. A spurious wake-up is harmless.
  func committed() {
    let mustNotify = isChanged.withLock { isChanged in
      defer { isChanged = false }
      return isChanged
    }
    if mustNotify { signal.notify() }
  }
}
