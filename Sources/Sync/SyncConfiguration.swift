public import CampanileStore

/// Configuration of a Sync component.
public struct SyncConfiguration: Sendable {
  public var store: StoreConfiguration
  /// The folder of the contents; created if missing.
  public var contentsFolder: String
  public var limits = SyncLimits()
  /// Whether to store contents compressed with zlib: a fifth of the space at a quarter of the speed.
  public var packsContents = false
  /// The maximum number of notifications in an exported file; the newest are kept.
  public var exportedNotificationsMax = 150

  public init(store: StoreConfiguration, contentsFolder: String) {
    self.store = store
    self.contentsFolder = contentsFolder
  }
}
