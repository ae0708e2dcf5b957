import APNs

/// A push that APNs stores for an offline device.
struct StoredPush: Sendable, Hashable {
  /// APNs stores one notification per bundle id ("Sending notification requests to APNs").
  struct Place: Sendable, Hashable {
    var device: String
    var bundleID: String
  }

  var push: AcceptedPush
  var payload: [UInt8]
  var id: String
  /// Nil for the maximum time.
  var expiresAtMs: Int64?
}

extension Simulator.State {
  /// Maximum time for which APNs stores a notification: 30 days.
  static let storedMsMax: Int64 = 30 * 86_400_000

  /// Returns the device that holds a token: its name, or the token of a device of its own.
  func device(ofToken token: String) -> String { devices[token]?.device ?? token }

  /// Stores a push for an offline device. A push stored before for the same bundle id is lost.
  ///
  /// - Returns: The cause if the push is not to be stored.
  mutating func store(_ push: AcceptedPush, _ payload: [UInt8], id: String, device: String, nowMs: Int64) -> Discard? {
    let expiresAtMs = push.expirationSeconds.map { $0 * 1_000 } ?? nowMs + Self.storedMsMax
    guard expiresAtMs > nowMs else { return .offline }
    let place = StoredPush.Place(device: device, bundleID: push.topic.bundleID)
    if let old = storedPushes[place], old.id != id { statistics.displaced += 1 }
    guard storedPushes[place] != nil || storedPushes.count < limits.screensMax else { return .offline }
    storedPushes[place] = StoredPush(push: push, payload: payload, id: id, expiresAtMs: expiresAtMs)
    return nil
  }

  /// Disconnects a device. Returns false if there are too many of them.
  mutating func disconnect(_ device: String) -> Bool {
    guard offlineDevices.contains(device) || offlineDevices.count < limits.screensMax else { return false }
    offlineDevices.insert(device)
    return true
  }

  /// Connects a device and delivers what is stored for it. Returns the number of displayed pushes.
  mutating func connect(_ device: String, nowMs: Int64) -> Int {
    guard offlineDevices.remove(device) != nil else { return 0 }
    let places = storedPushes.keys.filter { $0.device == device }.sorted { $0.bundleID < $1.bundleID }
    var delivered = 0
    for place in places {
      guard let stored = storedPushes.removeValue(forKey: place) else { continue }
      guard stored.expiresAtMs.map({ $0 > nowMs }) ?? true else { continue }
      if let discard = show(stored.push, stored.payload, id: stored.id, nowMs: nowMs) {
        statistics.discards[discard, default: 0] += 1
      } else {
        delivered += 1
      }
    }
    return delivered
  }
}
