import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import CampanileStore

extension SQLiteActivitiesRepository {
  func setPushes(_ areEnabled: Bool, ofActivity id: String, user: String) async throws -> Activity {
    try await write { transaction in
      let old = try find(id, user: user, transaction)
      guard old.isLive else { throw RPCError.activityEnded() }
      guard old.arePushesStopped == areEnabled else { return old.message }
      var activity = old
      activity.arePushesStopped = !areEnabled
      // First, because a full queue refuses the state that continuing pushes.
      if areEnabled { try stateWriter.admit(.update, of: activity, transaction) }
      try transaction.execute(ActivityRow.pushesSQL, [.text(user), .text(id), .bool(!areEnabled)])
      if !areEnabled {
        for lane in old.lanes where activity.channelID.isEmpty {
          guard case .activity(let tokenID) = lane else { continue }
          try queue.dropStates(lane: lane.text, tokenID: tokenID, app: activity.app, in: transaction)
        }
      }
      return try apply(StateChange(traceParent: CallScope.trace?.text), to: activity, transaction).message
    }
  }

  func newActivityID() -> String { ids.next(prefix: SortableID.activityPrefix).id }
}
