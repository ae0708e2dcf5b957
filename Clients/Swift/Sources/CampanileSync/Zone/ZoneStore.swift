import CampanileClient
import Foundation

/// The files of a zone on a device: the state, and the content of each asset. Several processes may share them.
struct ZoneStore: Sendable {
  private let folder: PrivateFolder
  private static let stateName = "zone.json"

  init(_ url: URL) { folder = PrivateFolder(url) }

  func state() throws(RPCError) -> ZoneState {
    guard let bytes = try folder.read(Self.stateName) else { return ZoneState() }
    // A damaged state is like none: everything is read again.
    return (try? JSONDecoder().decode(ZoneState.self, from: Data(bytes))) ?? ZoneState()
  }

  /// Changes the state, atomically for all processes.
  @discardableResult
  func update<Result>(_ change: (inout ZoneState) throws(RPCError) -> Result) throws(RPCError) -> Result {
    let lock = try folder.lock()
    defer { withExtendedLifetime(lock) {} }
    var state = try state()
    let before = state
    let result = try change(&state)
    if state != before, let bytes = try? JSONEncoder().encode(state) {
      try folder.write([UInt8](bytes), to: Self.stateName)
    }
    return result
  }

  func content(_ asset: String) throws(RPCError) -> [UInt8]? { try folder.read(Self.fileName(asset)) }

  /// Stores the content of an asset, and its version after it: an interrupted call fetches the content again.
  func store(_ asset: String, _ content: [UInt8], _ stored: ZoneState.Stored) throws(RPCError) {
    try update { state throws(RPCError) in
      guard (state.assets[asset]?.version ?? 0) <= stored.version else { return }
      state.assets[asset] = nil
    }
    try folder.write(content, to: Self.fileName(asset))
    try update { $0.assets[asset] = stored }
  }

  func remove(_ asset: String) throws(RPCError) {
    try update { $0.assets[asset] = nil }
    try folder.remove(Self.fileName(asset))
  }

  /// Names of assets may be longer than those of files, and the same but for their case.
  private static func fileName(_ asset: String) -> String {
    "asset-" + Hexadecimal.text(SHA256.hash(Array(asset.utf8)))
  }
}
