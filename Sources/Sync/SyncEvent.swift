/// An event of the service, for metrics.
public enum SyncEvent: Sendable, Hashable {
  /// An attempt to export a user's notifications has ended.
  case export(ExportOutcome)
  /// A file with buckets or notifications was committed, by a device or the service.
  case file(recordType: String, sizeBytes: Int64)
  /// An attempt to wake a device has ended.
  case wake(WakeOutcome)
}

/// The result of an export of one user.
public enum ExportOutcome: String, Sendable, Hashable, CaseIterable {
  case written
  /// The files already have these records.
  case unchanged
  /// A device writes the files, or the user has ended the export.
  case ended
  case failed
}

/// The result of a push that wakes a device.
public enum WakeOutcome: String, Sendable, Hashable, CaseIterable {
  case sent
  /// The device has no push token.
  case withoutToken = "without_token"
  /// The device has an open watch.
  case awake
  /// The push service is away; the push is repeated.
  case failed
  case rejected
}
