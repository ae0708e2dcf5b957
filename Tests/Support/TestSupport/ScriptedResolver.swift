package import CampanileBase
import CampanileRPC
import Synchronization

/// A resolver that returns the addresses that a test sets.
package final class ScriptedResolver: HostResolving {
  private let state: Mutex<(answers: [String], askedCount: Int)>

  package init(_ answers: [String]) { state = Mutex((answers, 0)) }

  package var askedCount: Int { state.withLock { $0.askedCount } }

  package func set(_ addresses: [String]) { state.withLock { $0.answers = addresses } }

  package func addresses(of host: String) async -> [IPAddress] {
    let answers = state.withLock { state in
      state.askedCount += 1
      return state.answers
    }
    return answers.compactMap { IPAddress($0) }
  }
}
