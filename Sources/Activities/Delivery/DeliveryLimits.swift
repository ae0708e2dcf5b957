/// What delivery may hold and how it repeats itself; the configuration sets it.
struct DeliveryLimits: Sendable, Hashable {
  /// Pushes that wait. One more: RESOURCE_EXHAUSTED, reason `PUSHES_EXHAUSTED`.
  var queuedMax: Int64 = 1_000_000
  /// Pushes of one lane that wait: alerts to a device that is not reached. One more: as above.
  var queuedPerLaneMax = 1_000
  /// Pairs of app and environment. One more: RESOURCE_EXHAUSTED, reason `PUSH_ROUTES_EXHAUSTED`.
  var routesMax = 1_000
  /// Pushes under way at the same time, over all routes. A route gets at most half of what is free, so that routes that
  /// answer slowly leave something for the others.
  var inFlightMax = 16_000
  /// Pushes that are read from the queue in one transaction.
  var takenPerRoundMax = 1_000
  /// Least time between two updates of one lane; what comes between is coalesced.
  var updateSpacingMs: Int64 = 1_000
  /// Answers that ask for a repetition after which a push is a dead letter.
  var attemptsMax = 12
  /// Age at which a push without an expiration that was never answered is given up.
  var ageMaxMs: Int64 = 24 * 3_600_000
  /// The longest wait between two looks into the queue.
  var pollMs: Int64 = 1_000
  /// Longest time that a push that waits for its route is put aside.
  var routeWaitMsMax: Int64 = 30_000
  var ledgerRowsMax: Int64 = 1_000_000
  var ledgerAgeMaxMs: Int64 = 7 * 24 * 3_600_000
  var deadLettersMax: Int64 = 100_000
  var deadLetterAgeMaxMs: Int64 = 30 * 24 * 3_600_000
  var statisticsAgeMaxMs: Int64 = 90 * 24 * 3_600_000
}
