#if canImport(AppIntents) && canImport(ActivityKit) && !os(macOS)
  import AppIntents
  import CampanileActivities

  /// The pause button of the Dynamic Island. The system runs it in the app's or in the widget's process: both have the
  /// same outbox and credential.
  struct PauseTimerIntent: LiveActivityIntent {
    static let title: LocalizedStringResource = "Pause"

    @Parameter(title: "Activity") var activityID: String

    init() {}

    @MainActor func perform() async throws -> some IntentResult {
      let session = TimerSessionObjects()
      TimerModel(session.campanile, outbox: session.outbox, activityID: activityID).pause()
      try await session.outbox.sendNow(through: session.campanile.caller)
      return .result()
    }
  }
#endif
