import APNs
import CampanileAPI
import CampanileCrypto
import Synchronization

/// The ids of a signing key.
struct SigningKeyID: Sendable, Hashable, Comparable {
  var teamID: String
  var keyID: String

  static func < (a: Self, b: Self) -> Bool { (a.teamID, a.keyID) < (b.teamID, b.keyID) }
}

/// The signing keys in use. Keys come and go while pushes are sent.
final class SigningKeys: Sendable {
  /// Keys at most; an operator has a few.
  static let countMax = 1_000

  struct Entry: Sendable {
    var description: SigningKey
    var key: ES256PrivateKey

    var id: SigningKeyID { SigningKeyID(teamID: description.teamId, keyID: description.keyId) }
  }

  private struct State {
    var entries: [SigningKeyID: Entry] = [:]
    var revoked: Set<SigningKeyID> = []
    /// What `id(app:environment:)` found, forgotten with every change.
    var found: [PushRouteKey: SigningKeyID] = [:]
  }

  private let state = Mutex(State())

  /// Adds or replaces a key; false when it was revoked or there are too many.
  func add(_ entry: Entry) -> Bool {
    state.withLock { state in
      guard !state.revoked.contains(entry.id),
        state.entries[entry.id] != nil || state.entries.count < Self.countMax
      else { return false }
      state.entries[entry.id] = entry
      state.found = [:]
      return true
    }
  }

  /// Ends the use of a key for good. Answers whether it was in use.
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

  /// All keys, by team and key id.
  var all: [Entry] { state.withLock { Array($0.entries.values) }.sorted { $0.id < $1.id } }

  /// The keys with this key id, of whatever team.
  func ids(keyID: String) -> [SigningKeyID] {
    state.withLock { state in state.entries.keys.filter { $0.keyID == keyID } }.sorted()
  }

  /// The key that signs for an app in an environment: one that names the app goes before one that names its prefix, that
  /// before one for all; one that names the environment before one for all; then the first by id. Nil without any.
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

  /// How closely a key's description fits; nil when it does not.
  static func rank(_ key: SigningKey, app: String, environment: String) -> Int? {
    let ofEnvironment: Int
    if key.environments.isEmpty {
      ofEnvironment = 0
    } else {
      guard key.environments.contains(environment) else { return nil }
      ofEnvironment = 1
    }
    if key.apps.isEmpty { return ofEnvironment }
    // A longer prefix is closer; a bundle id has 155 characters at most.
    let closest = key.apps.compactMap { pattern -> Int? in
      if pattern == app { return 1_000 }
      guard pattern.hasSuffix(".*"), app.hasPrefix(pattern.dropLast()) else { return nil }
      return min(pattern.utf8.count, 999)
    }.max()
    return closest.map { $0 * 2 + ofEnvironment }
  }
}
