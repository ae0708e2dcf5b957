import APNs
import CampanileService
import HeapModule

/// Changes that the control API and SimulatorService share.
extension Simulator.State {
  /// The position of the newest push. The two logs of a process share its epoch.
  var presentPush: ResumeToken { ResumeToken(epoch: screenLog.epoch, sequence: log.lastSequence) }

  /// Adds a fault, after the removal of those that are over. Returns nil if there are too many.
  mutating func add(_ rule: FaultRule, nowMs: Int64) -> FaultRule? {
    faults.removeEnded(nowMs: nowMs)
    guard faults.rules.count < limits.faultsMax else { return nil }
    let id = faults.add(rule)
    return faults.rules.first { $0.id == id }
  }

  /// Invalidates a token, as if its app had been removed. Returns nil for an unknown one.
  mutating func reject(_ token: String, _ rejection: DeviceRecord.Rejection) -> DeviceRecord? {
    guard devices[token] != nil else { return nil }
    devices[token]?.rejection = rejection
    touch(token)
    return devices[token]
  }

  /// Disconnects a device. Returns false if there are too many of them.
  mutating func disconnectDevice(_ device: String) -> Bool {
    defer { touchAll(of: device) }
    return disconnect(device)
  }

  /// Connects a device and delivers what is stored for it. Returns the number of displayed pushes.
  mutating func connectDevice(_ device: String, nowMs: Int64) -> Int {
    defer { touchAll(of: device) }
    return connect(device, nowMs: nowMs)
  }

  /// Marks a screen as changed.
  mutating func touch(_ key: String) { if screens[key] != nil { screenLog.append(key) } }

  private mutating func touchAll(of device: String) {
    touch(device)
    for (token, record) in devices where record.device == device && token != device { touch(token) }
  }

  /// Returns the keys of at most `limit` screens after `key`, sorted, and whether there are more.
  ///
  /// Pushes wait meanwhile, and there may be a million screens: only the keys of the page are collected and sorted.
  func page(
    after key: String, limit: Int, where isMatch: (String, Screen) -> Bool = { _, _ in true }
  ) -> (keys: [String], hasMore: Bool) {
    var first: Heap<String> = []
    for (id, screen) in screens where id > key && isMatch(id, screen) {
      if first.count <= limit {
        first.insert(id)
      } else if let last = first.max, id < last {
        first.replaceMax(with: id)
      }
    }
    let hasMore = first.count > limit
    if hasMore { first.removeMax() }
    return (first.unordered.sorted(), hasMore)
  }
}
