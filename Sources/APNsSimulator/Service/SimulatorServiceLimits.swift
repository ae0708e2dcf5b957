import CampanileService

/// The limits of SimulatorService.
struct SimulatorServiceLimits: ServiceLimits, Hashable {
  var batchEntriesMax = 1_000
  var pageSizeMax = 1_000
  var pageSizeDefault = 50
  /// Bytes of payloads after which a page ends.
  var pageBytesMax = 2 << 20
  /// All watches are one operator's, so that the reserve for others does not apply.
  var watchesPerUserMax = 200
  var watchesMax = 400
  /// Changes that a watch reads at once.
  var watchPageRows = 64
  /// Requests with an id that are remembered.
  var requestsMax = 256
}
