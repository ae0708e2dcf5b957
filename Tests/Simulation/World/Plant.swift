/// A fault that is put into a run on purpose, to see that it is found.
package enum Plant: String, Sendable, CaseIterable {
  /// A restart finds an older file: commits that were acknowledged are gone.
  case losesCommits
  /// Each sending of a request has a request id of its own.
  case forgetsRequestIDs
  /// Failures of handlers are told as if none had run.
  case callsRunUnprocessed
  /// Receivers grant more than they mean.
  case overrunsCredit
  /// Timers never fire now and then.
  case losesTimers
  /// Messages of watches are told twice now and then.
  case repeatsEvents
  /// Messages of watches change places now and then.
  case swapsEvents
  /// Messages of watches are left out now and then.
  case dropsEvents
  /// The stored count of unread notifications is off by one.
  case miscountsUnread
  /// A push arrives again when a newer one has arrived.
  case deliversLate
  /// APNs' acceptance is told of pushes that it never got.
  case swallowsPushes
  /// Two answers change places.
  case mixesAnswers
  /// Clients repeat what must not be repeated.
  case repeatsUnsafeCalls
  /// The end of a stream is told twice.
  case endsTwice
  /// Only the last attempt of a call decides whether it may have run.
  case forgetsEarlierAttempts
}
