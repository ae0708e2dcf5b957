#if canImport(SwiftUI)
  import CampanileActivities
  import Foundation
  import SwiftUI

  #if canImport(ActivityKit) && !os(macOS)
    import ActivityKit
  #endif

  /// A timer whose buttons work in the app, on the Lock Screen, and without a network.
  @main struct TimerApp: App {
    @State private var session = TimerSessionObjects()

    var body: some Scene {
      WindowGroup {
        NavigationStack { TimerScreen(session: session) }
          .task { try? await session.outbox.run(through: session.campanile.caller) }
      }
    }
  }

  /// The objects of the app and of its widget.
  @MainActor final class TimerSessionObjects {
    let campanile = Campanile(URL(string: "https://api.example")!, credentials: FixedCredential(key: "cmp_…"))
    let outbox = Outbox(path: FileManager.default.temporaryDirectory.appendingPathComponent("outbox").path)
    let registrar: LiveActivityRegistrar

    init() { registrar = LiveActivityRegistrar(.init(app: "com.example.growth"), outbox: outbox) }

    /// Starts a timer on the device, and then on the server.
    func start() throws -> TimerModel {
      let state = TimerContentState(
        startedAt: Date(), duration: 1_800, methodName: "Focus", sessionType: .countdown)
      #if canImport(ActivityKit) && !os(macOS)
        let activity = try LiveActivity.request(
          attributes: TimerActivityAttributes(methodId: "focus"),
          content: .init(state: state, staleDate: Date().addingTimeInterval(8 * 3_600)), pushType: .token)
        let id = activity.id
        registrar.follow(TimerActivityAttributes.self)
      #else
        let id = UUID().uuidString
      #endif
      try registrar.startedTimer(id, state: state, type: .countdown, completesByItself: true)
      return TimerModel(campanile, outbox: outbox, activityID: id, state: state)
    }
  }

  struct TimerScreen: View {
    let session: TimerSessionObjects
    @State private var timer: TimerModel?

    var body: some View {
      VStack(spacing: 16) {
        if let timer, let state = timer.state {
          TimerFace(state: state)
          Button(state.isPaused ? "Resume" : "Pause") { state.isPaused ? timer.resume() : timer.pause() }
          Button("Stop", role: .destructive) { timer.stop() }
          if timer.isWaiting { Label("Waiting for a network", systemImage: "wifi.slash") }
        } else {
          Button("Start") { timer = try? session.start() }
        }
      }
      .navigationTitle("Timer")
      .task { await timer?.run() }
    }
  }

  /// Counts by itself: a pushed state only changes the interval.
  struct TimerFace: View {
    let state: TimerContentState

    var body: some View {
      VStack {
        Text(state.methodName).font(.headline)
        Text(timerInterval: state.interval, pauseTime: state.pausedAt, countsDown: !state.isOpen)
          .font(.title.monospacedDigit())
        if !state.isOpen, !state.isPaused { ProgressView(timerInterval: state.interval, countsDown: true) }
      }
    }
  }
#endif
