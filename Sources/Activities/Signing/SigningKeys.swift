import APNs
import CampanileAPI
import CampanileCrypto
import Synchronization

/// The team and key id of a signing key.
struct SigningKeyID: Sendable, Hashable, Comparable {
  var teamID: String
  var keyID: String

  static func < (a: Self, b: Self) -> Bool { (a.teamID, a.keyID) < (b.teamID, b.keyID) }
}

/// The signing keys in use. Keys can be added and revoked while pushes are sent.
final class SigningKeys: Sendable {
  /// Maximum number of keys; an operator typically has a few.
  static let countMax = 1_000

  struct Entry: Sendable {
    var description: SigningKey
    var key: ES256PrivateKey

    var id: SigningKeyID { SigningKeyID(teamID: description.teamId, keyID: description.keyId) }
  }

  private struct State {
    var entries: [SigningKeyID: Entry] = [:]
    var revoked: Set<SigningKeyID> = []
    /// Cached results of `id(app:environment:)`; cleared with every change.
    var found: [PushRouteKey: SigningKeyID] = [:]

    func hasRoom(for id: SigningKeyID) -> Bool { entries[id] != nil || entries.count < SigningKeys.countMax }
  }

  private let state = Mutex(State())

  /// Adds or replaces a key. Returns false if it was revoked or there are too many keys.
  func add(_ entry: Entry) -> Bool {
    state.withLock { state in
      guard !state.revoked.contains(entry.id), state.hasRoom(for: entry.id) else { return false }
      state.entries[entry.id] = entry
      state.found = [:]
      return true
    }
  }

  /// Returns whether the limit on keys leaves room for this one. A key in use can always be replaced.
  func hasRoom(for id: SigningKeyID) -> Bool { state.withLock { $0.hasRoom(for: id) } }

  /// Revokes a key permanently. Returns whether it was in use.
  @discardableResult
  func revoke(_ id: SigningKeyID) -> Bool {
    state.withLock { state in
      state.revoked.insert(id)
      state.found = [:]
      return state.entries.removeValue(forKey: id) != nil
    }
  }

  func isRevoked(_ id: SigningKeyID) -> Bool { state.withLock { $0.revoked.contains(id) } }

  func entry(_ id: SigningKeyID) -> Entry? { state.withLock { $0.entries[id] } }

  /// All keys, sorted by team and key id.
  var all: [Entry] { state.withLock { Array($0.entries.values) }.sorted { $0.id < $1.id } }

  /// Returns the keys with this key id, of any team.
  func ids(keyID: String) -> [SigningKeyID] {
    state.withLock { state in state.entries.keys.filter { $0.keyID == keyID } }.sorted()
  }

  /// Returns the key that signs for an app in an environment, or nil if there is none.
  ///
  /// An exact app match ranks before a prefix match, which ranks before a key for all apps. Within these, a key that
  /// names the environment ranks before one for all environments. Ties are resolved by id.
  func id(app: String, environment: String) -> SigningKeyID? {
    let key = PushRouteKey(app: app, environment: environment)
    return state.withLock { state in
      if let found = state.found[key] { return found }
      let ranked = state.entries.values.compactMap { entry in
        Self.rank(entry.description, app: app, environment: environment).map { (rank: $0, id: entry.id) }
      }
      let best = ranked.min { ($1.rank, $0.id) < ($0.rank, $1.id) }?.id
      if state.found.count >= 10_000 { state.found = [:] }
      state.found[key] = best
      return best
    }
  }

  /// Returns how closely a key's description matches, or nil if it does not match.
  static func rank(_ key: SigningKey, app: String, environment: String) -> Int? {
    let ofEnvironment: Int
    if key.environments.isEmpty {
      ofEnvironment = 0
    } else {
      guard key.environments.contains(environment) else { return nil }
      ofEnvironment = 1
    }
    if key.apps.isEmpty { return ofEnvironment }
    // A longer prefix is a closer match; a bundle id has at most 155 characters.
    let closest = key.apps.compactMap { pattern -> Int? in
      if pattern == app { return 1_000 }
      guard pattern.hasSuffix(".*"), app.hasPrefix(pattern.dropLast()) else { return nil }
      return min(pattern.utf8.count, 999)
    }.max()
    return closest.map { $0 * 2 + ofEnvironment }
  }
}
