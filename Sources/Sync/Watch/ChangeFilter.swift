/// Selects the assets in a zone's changes by type and name.
struct ChangeFilter: Sendable, Hashable {
  /// Empty for all.
  private var recordTypes: Set<String> = []
  private var names: Set<String> = []

  init() {}

  /// A name may be a record name.
  init(recordTypes: [String], names: [String], zone: String) {
    self.recordTypes = Set(recordTypes)
    self.names = Set(names + names.compactMap { ExportedFiles.fileName($0, in: zone) })
  }

  /// Whether a change has this version. A deletion without a record type matches every type.
  func includes(_ version: StoredVersion) -> Bool {
    (recordTypes.isEmpty || version.recordType.isEmpty || recordTypes.contains(version.recordType))
      && (names.isEmpty || names.contains(version.name))
  }
}
