import CampanileActivities
import Foundation

extension Example {
  /// Starts a timer and pauses it before there is a network.
  func timer() async throws {
    let registrar = LiveActivityRegistrar(.init(app: "com.example.growth", environment: .development), outbox: outbox)
    let id = "example-\(UUID().uuidString)"
    let state = TimerContentState(startedAt: Date(), duration: 1_800, methodName: "Focus", sessionType: .countdown)
    try registrar.startedTimer(id, state: state, type: .countdown, completesByItself: true)
    registrar.updateToken(Data((0..<32).map { _ in UInt8.random(in: 0...255) }), activityID: id)
    let timer = TimerModel(campanile, outbox: outbox, activityID: id, state: state)
    timer.pause()
    print("paused here, \(try outbox.entries().count) calls wait")
    try await send()
    let running = Task { await timer.run() }
    defer { running.cancel() }
    try await wait("the server's state") { !timer.isStale && !timer.isWaiting }
    print(timer.state?.isPaused == true ? "paused on the server" : "running on the server")
    timer.resume()
    try await send()
    print("remaining: \(Int((timer.state?.remaining(at: Date()) ?? 0) / 60)) minutes")
    timer.stop()
    try await send()
    print("stopped")
  }
}
