/// Counters since the start or the last reset.
struct SimulatorStatistics: Sendable, Hashable {
  /// Complete requests.
  var requests = 0
  /// Responses by status and reason, such as `200` and `403 InvalidProviderToken`.
  var answers: [String: Int] = [:]
  var discards: [Discard: Int] = [:]
  /// Pushes to tokens beyond `screensMax`, which were validated but not stored.
  var untracked = 0
  /// Notifications that another one displaced from APNs' store, so that their device never receives them.
  var displaced = 0
  var connectionsAccepted = 0
  var tlsFailures = 0
  var goAways = 0
  var resets = 0
  var closes = 0
  var stalls = 0
}
