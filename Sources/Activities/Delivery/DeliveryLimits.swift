/// Limits of delivery and its retries; set by the configuration.
struct DeliveryLimits: Sendable, Hashable {
  /// Waiting pushes. Exceeding it throws RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`.
  var queuedMax: Int64 = 1_000_000
  /// Waiting pushes of one lane, such as alerts to an unreachable device. Exceeding it throws the same error.
  var queuedPerLaneMax = 1_000
  /// Pairs of app and environment. Exceeding it throws RESOURCE_EXHAUSTED, reason `PUSH_ROUTES_EXHAUSTED`.
  var routesMax = 1_000
  /// Concurrent pushes over all routes. A route gets at most half of the free capacity, so that slow routes leave room
  /// for others.
  var inFlightMax = 16_000
  /// Pushes that are read from the queue in one transaction.
  var takenPerRoundMax = 1_000
  /// Minimum time between two updates of one lane; updates in between are coalesced.
  var updateSpacingMs: Int64 = 1_000
  /// Counted attempts after which a push becomes a dead letter.
  var attemptsMax = 12
  /// Age at which a push that APNs has not processed is given up instead of returned to the queue.
  var ageMaxMs: Int64 = 24 * 3_600_000
  /// Maximum interval between two polls of the queue.
  var pollMs: Int64 = 1_000
  /// Maximum delay of a push that waits for its route.
  var routeWaitMsMax: Int64 = 30_000
  var deliveryLogRowsMax: Int64 = 1_000_000
  var deliveryLogAgeMaxMs: Int64 = 7 * 24 * 3_600_000
  var deadLettersMax: Int64 = 100_000
  var deadLetterAgeMaxMs: Int64 = 30 * 24 * 3_600_000
  var statisticsAgeMaxMs: Int64 = 90 * 24 * 3_600_000
}
