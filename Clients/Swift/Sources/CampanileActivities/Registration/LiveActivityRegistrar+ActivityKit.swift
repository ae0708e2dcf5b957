#if canImport(ActivityKit) && !os(macOS)
  public import ActivityKit
  import CampanileClient
  import Foundation

  /// An activity of the system. `Activity` alone is also the name of a message of Activities.
  public typealias LiveActivity<Attributes: ActivityAttributes> = ActivityKit.Activity<Attributes>

  extension LiveActivityRegistrar {
    /// Registers the tokens of all activities of a type, running and new, until the registrar is released.
    ///
    /// Call it at every launch, also at launches in the background: the system wakes the app for a new token. A token
    /// that arrived before is read from the activity itself.
    ///
    /// - Parameter activityID: Returns the id under which Activities knows an activity. By default it is ActivityKit's.
    public func follow<Attributes: ActivityAttributes & Sendable>(
      _ type: Attributes.Type,
      activityID: @escaping @Sendable (_ attributes: Attributes, _ id: String) -> String = { $1 }
    ) {
      tasks.add(Task { [weak self] in await self?.followActivities(of: type, activityID) })
      tasks.add(Task { [weak self] in await self?.followStarts(of: type) })
      tasks.add(Task { [weak self] in await self?.followAuthorization() })
    }

    private func followActivities<Attributes: ActivityAttributes & Sendable>(
      of type: Attributes.Type, _ activityID: @escaping @Sendable (Attributes, String) -> String
    ) async {
      var known: Set<String> = []
      for activity in LiveActivity<Attributes>.activities where known.insert(activity.id).inserted {
        follow(activity, activityID(activity.attributes, activity.id))
      }
      for await activity in LiveActivity<Attributes>.activityUpdates where known.insert(activity.id).inserted {
        follow(activity, activityID(activity.attributes, activity.id))
      }
    }

    private func follow<Attributes: ActivityAttributes & Sendable>(_ activity: LiveActivity<Attributes>, _ id: String) {
      if let token = activity.pushToken { updateToken(token, activityID: id) }
      tasks.add(
        Task { [weak self] in
          for await token in activity.pushTokenUpdates { self?.updateToken(token, activityID: id) }
        })
      tasks.add(
        Task { [weak self] in
          for await state in activity.activityStateUpdates where state == .dismissed {
            self?.activityDisappeared(id)
          }
        })
    }

    private func followStarts<Attributes: ActivityAttributes & Sendable>(of type: Attributes.Type) async {
      guard #available(iOS 17.2, *) else { return }
      let name = String(describing: type)
      if let token = LiveActivity<Attributes>.pushToStartToken { pushToStartToken(token, attributesType: name) }
      for await token in LiveActivity<Attributes>.pushToStartTokenUpdates {
        pushToStartToken(token, attributesType: name)
      }
    }

    private func followAuthorization() async {
      let info = ActivityAuthorizationInfo()
      frequentPushes(isEnabled: info.frequentPushesEnabled)
      for await isEnabled in info.frequentPushEnablementUpdates { frequentPushes(isEnabled: isEnabled) }
    }
  }
#endif
