import APNs
import CampanileCodec
import CampanileService

extension Simulator.State {
  /// Applies the journal's lines and continues to write to it. Returns the number of valid lines.
  mutating func resume(_ journal: Journal) -> Int {
    var count = 0
    var state = self
    journal.read { line in
      if (try? state.take(line)) != nil { count += 1 }
    }
    self = state
    self.journal = journal
    return count
  }

  private struct Line {
    var channel: String?
    var forgotten: String?
    var key = ""
    var kind = ""
    var bundleID = ""
    var storesMessages = false
    var pushType = ""
    var priority: Int32 = 10
    var id = ""
    var atMs: Int64 = 0
    var payload = ""
  }

  private mutating func take(_ bytes: UnsafeRawBufferPointer) throws(ProtoJSONError) {
    let line = try Self.read(bytes)
    if let forgotten = line.forgotten { return forget(forgotten.isEmpty ? nil : forgotten) }
    if let channel = line.channel {
      channels[channel] =
        line.bundleID.isEmpty
        ? nil : ChannelRecord(bundleID: line.bundleID, storesMessages: line.storesMessages, createdAtMs: line.atMs)
      if line.bundleID.isEmpty { removeScreen(Self.channelKey(channel)) }
      return
    }
    guard let kind = DeviceRecord.Kind(rawValue: line.kind), let pushType = PushType(rawValue: line.pushType) else {
      return
    }
    let push = AcceptedPush(
      // A display uses only the topic and the priority.
      address: .broadcast(bundleID: line.bundleID), topic: Topic(bundleID: line.bundleID, pushType: pushType),
      priority: Int(line.priority))
    if !line.key.hasPrefix("channel/"), devices[line.key] == nil {
      devices[line.key] = DeviceRecord(bundleID: line.bundleID, kind: kind, registeredAtMs: line.atMs)
    }
    _ = display(push, key: line.key, kind: kind, Array(line.payload.utf8), id: line.id, nowMs: line.atMs)
  }

  /// Removes a token, or all tokens and channels if `token` is nil.
  mutating func forget(_ token: String?) {
    guard let token else {
      (offlineDevices, storedPushes) = ([], [:])
      for key in screens.keys { screenLog.append(key) }
      histories.removeAll()
      return (devices, screens, channels) = ([:], [:], [:])
    }
    devices[token] = nil
    removeScreen(token)
  }

  mutating func removeScreen(_ key: String) {
    histories.remove(key)
    if screens.removeValue(forKey: key) != nil { screenLog.append(key) }
  }

  private static func read(_ bytes: UnsafeRawBufferPointer) throws(ProtoJSONError) -> Line {
    var line = Line()
    var reader = JSONReader(bytes, options: JSONDecodingOptions(maxDepth: 4))
    var more = try reader.beginObject()
    while more {
      switch try reader.stringKey() {
      case "forgotten": line.forgotten = try reader.string()
      case "channel": line.channel = try reader.string()
      case "key": line.key = try reader.string()
      case "kind": line.kind = try reader.string()
      case "bundleId": line.bundleID = try reader.string()
      case "storesMessages": line.storesMessages = try reader.bool()
      case "pushType": line.pushType = try reader.string()
      case "priority": line.priority = try reader.int32()
      case "id": line.id = try reader.string()
      case "atMs": line.atMs = try reader.int64()
      case "payload": line.payload = try reader.string()
      default: try reader.skipValue()
      }
      more = try reader.nextMember()
    }
    try reader.finish()
    return line
  }
}
