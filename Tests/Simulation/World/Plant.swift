/// An intentional fault in a run, which the checks must detect.
package enum Plant: String, Sendable, CaseIterable {
  /// A restart finds an older file: acknowledged commits are lost.
  case losesCommits
  /// Each attempt of a request has a different request id.
  case forgetsRequestIDs
  /// Failures of handlers are reported as not executed.
  case callsRunUnprocessed
  /// Receivers grant too much credit.
  case overrunsCredit
  /// Some timers never fire.
  case losesTimers
  /// Some messages of watches are delivered twice.
  case repeatsEvents
  /// Some messages of watches are reordered.
  case swapsEvents
  /// Some messages of watches are dropped.
  case dropsEvents
  /// The stored count of unread notifications is off by one.
  case miscountsUnread
  /// A push arrives again after a newer one.
  case deliversLate
  /// APNs accepts pushes that it does not deliver.
  case swallowsPushes
  /// Some responses carry the payload of an earlier one.
  case mixesAnswers
  /// Clients repeat calls that must not be repeated.
  case repeatsUnsafeCalls
  /// The end of a stream is reported twice.
  case endsTwice
  /// Only the last attempt of a call determines whether it may have been executed.
  case forgetsEarlierAttempts
}
