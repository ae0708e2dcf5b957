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

    // Each of these listens before it reads the present value, so that no change falls between the two.

    private func followActivities<Attributes: ActivityAttributes & Sendable>(
      of type: Attributes.Type, _ activityID: @escaping @Sendable (Attributes, String) -> String
    ) async {
      var updates = LiveActivity<Attributes>.activityUpdates.makeAsyncIterator()
      var known: Set<String> = []
      for activity in LiveActivity<Attributes>.activities where known.insert(activity.id).inserted {
        follow(activity, activityID(activity.attributes, activity.id))
      }
      while let activity = await updates.next() {
        if known.insert(activity.id).inserted { follow(activity, activityID(activity.attributes, activity.id)) }
      }
    }

    private func follow<Attributes: ActivityAttributes & Sendable>(_ activity: LiveActivity<Attributes>, _ id: String) {
      tasks.add(
        Task { [weak self] in
          var updates = activity.pushTokenUpdates.makeAsyncIterator()
          if let token = activity.pushToken { self?.updateToken(token, activityID: id) }
          while let token = await updates.next() { self?.updateToken(token, activityID: id) }
        })
      tasks.add(
        Task { [weak self] in
          var updates = activity.activityStateUpdates.makeAsyncIterator()
          var state: ActivityState? = activity.activityState
          while let known = state {
            if known == .dismissed { self?.activityDisappeared(id) }
            state = await updates.next()
          }
        })
    }

    private func followStarts<Attributes: ActivityAttributes & Sendable>(of type: Attributes.Type) async {
      guard #available(iOS 17.2, *) else { return }
      let name = String(describing: type)
      var updates = LiveActivity<Attributes>.pushToStartTokenUpdates.makeAsyncIterator()
      if let token = LiveActivity<Attributes>.pushToStartToken { pushToStartToken(token, attributesType: name) }
      while let token = await updates.next() { pushToStartToken(token, attributesType: name) }
    }

    private func followAuthorization() async {
      let info = ActivityAuthorizationInfo()
      var updates = info.frequentPushEnablementUpdates.makeAsyncIterator()
      frequentPushes(isEnabled: info.frequentPushesEnabled)
      while let isEnabled = await updates.next() { frequentPushes(isEnabled: isEnabled) }
    }
  }
#endif
