public import CampanileClient
public import Foundation
public import Observation

/// A timer that Activities shows, and its controls. They work without a network, also from a widget's process.
@MainActor @Observable public final class TimerModel {
  public let activityID: String
  /// The state that the user sees; `nil` until it is known.
  public private(set) var state: TimerContentState?
  /// Whether the activity has ended.
  public private(set) var isEnded = false
  /// Whether a change of this device has not reached the server.
  public private(set) var isWaiting = false
  public private(set) var isStale = true
  public private(set) var error: RPCError?

  @ObservationIgnored private let campanile: Campanile
  @ObservationIgnored private let outbox: Outbox
  @ObservationIgnored private let now: @Sendable () -> Date

  /// - Parameter state: The state that the app has shown, until the server's is known.
  public init(
    _ campanile: Campanile, outbox: Outbox, activityID: String, state: TimerContentState? = nil,
    now: @escaping @Sendable () -> Date = { Date() }
  ) {
    self.campanile = campanile
    self.outbox = outbox
    self.activityID = activityID
    self.state = state
    self.now = now
  }

  public func pause() {
    queue(TimersServiceMethods.pauseTimer, PauseTimerRequest(activityId: activityID)) { $0.paused(at: $1) }
  }

  public func resume() {
    queue(TimersServiceMethods.resumeTimer, ResumeTimerRequest(activityId: activityID)) { $0.resumed(at: $1) }
  }

  /// Ends the timer early and removes it from the Lock Screen.
  public func stop() {
    queue(TimersServiceMethods.stopTimer, StopTimerRequest(activityId: activityID)) { $0.resumed(at: $1) }
    isEnded = true
  }

  /// Ends the timer as completed.
  public func complete() {
    queue(TimersServiceMethods.completeTimer, CompleteTimerRequest(activityId: activityID)) { state, date in
      var state = state.resumed(at: date)
      state.sessionType = .completed
      return state
    }
    isEnded = true
  }

  /// Follows the timer until it ends, or the task is cancelled.
  public func run() async {
    let waiting = Task { for await _ in outbox.changes() { await self.updateWaiting() } }
    defer { waiting.cancel() }
    do {
      var isUnknown = true
      while isUnknown {
        let hasWaitingCalls = hasWaitingCalls
        do {
          try await follow()
          isUnknown = false
        } catch let error as RPCError where error.code == .notFound && hasWaitingCalls {
          // The start of the timer was in the outbox: try again once it may have been sent.
          try await campanile.caller.environment.sleepMs(Self.startPollMs)
        }
      }
    } catch is CancellationError {
    } catch {
      self.error = error as? RPCError ?? RPCError(.unknown, "\(error)")
    }
    isStale = true
  }

  /// The pause between two looks for a timer whose start waits.
  private static let startPollMs: Int64 = 500

  private func follow() async throws {
    try await load()
    for try await event in campanile.activities.watch(.init(activityId: activityID)) {
      switch event {
      case .started, .reached, .gap: try await load()
      case .change(let change, _): apply(change.activity)
      case .waiting(let cause, _): (isStale, error) = (true, cause)
      }
      if isEnded, !isWaiting {
        // The server ends the stream of an ended timer, which is no failure.
        error = nil
        return
      }
    }
  }

  private func load() async throws {
    apply(try await campanile.activities.service.getActivity(.init(activityId: activityID)).activity)
    (isStale, error) = (false, nil)
  }

  private func apply(_ activity: Activity?) {
    // The server does not know this device's last change yet: keep what the user has chosen.
    guard let activity, !isWaiting, case .timer(let timer)? = activity.driver else { return }
    isEnded = activity.status == .ended
    var next = TimerContentState(timer)
    if activity.endReason == .completed { next.sessionType = .completed }
    if next != state { state = next }
  }

  private func queue<Q: ProtoMessage>(
    _ method: MethodDescriptor, _ request: Q, change: (TimerContentState, Date) -> TimerContentState
  ) {
    do throws(RPCError) {
      try outbox.add(method, request, object: activityID)
      isWaiting = true
      state = state.map { change($0, now()) }
    } catch {
      self.error = error
    }
  }

  private var hasWaitingCalls: Bool {
    ((try? outbox.entries()) ?? []).contains { $0.object == activityID }
  }

  private func updateWaiting() async {
    let waits = hasWaitingCalls
    guard waits != isWaiting else { return }
    isWaiting = waits
    if !waits { try? await load() }
  }
}

extension ActivityChange {
  /// The activity after the change.
  public var activity: Activity? {
    switch change {
    case .activityStarted(let activity), .activityUpdated(let activity), .activityEnded(let activity): activity
    case nil: nil
    }
  }
}
