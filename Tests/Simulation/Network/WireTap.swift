import CampanileBase
import CampanileRPC
import NIOCore

/// Inspects the traffic of a connection independently of the suite's code.
///
/// No side may send a message of a stream without credit from the other side, in messages and in bytes. Planted faults
/// of the wire protocol are applied here.
struct WireTap {
  private let world: World
  private let name: String
  private let toNode: String
  private var chance: SplitMix64
  /// The remaining credit, by direction and call.
  private var credits: [String: Credit] = [:]
  private struct Credit {
    var messages = 32
    var bytes = 1 << 20
  }

  /// State of planted faults: a message to deliver after the next one, and the previous payload.
  private var held: String?
  private var lastPayload: String?

  init(_ world: World, name: String, toNode: String) {
    (self.world, self.name, self.toNode) = (world, name, toNode)
    chance = world.chance("tap \(name)")
  }

  /// Returns the bytes to send instead of `bytes`, which contain only complete frames.
  mutating func pass(_ bytes: ByteBuffer, toServer: Bool) -> ByteBuffer {
    var rest = bytes
    var frames: [String] = []
    while let length: UInt32 = rest.readInteger(), let frame = rest.readString(length: Int(length)) {
      check(frame, toServer: toServer)
      frames.append(frame)
    }
    world.check(rest.readableBytes == 0, "\(name): a write with an incomplete frame")
    guard let plant = world.plant, change(&frames, plant, toServer: toServer) else { return bytes }
    var changed = ByteBuffer()
    for frame in frames {
      changed.writeInteger(UInt32(frame.utf8.count))
      changed.writeString(frame)
    }
    return changed
  }

  private mutating func check(_ frame: String, toServer: Bool) {
    let isMessage = frame.hasPrefix(Self.message)
    guard isMessage || frame.hasPrefix(Self.credit), let id = Self.number(after: "\"id\":", in: frame) else { return }
    if isMessage {
      let key = "\(toServer) \(id)"
      let left = credits[key, default: Credit()]
      world.check(
        left.messages > 0 && left.bytes > 0,
        "\(name): call \(id) sent a message without credit to the \(toServer ? "server" : "client")")
      credits[key] = Credit(messages: left.messages - 1, bytes: left.bytes - frame.utf8.count)
    } else {
      let key = "\(!toServer) \(id)"
      credits[key, default: Credit()].messages += Self.number(after: "\"messages\":", in: frame) ?? 0
      credits[key, default: Credit()].bytes += Self.number(after: "\"bytes\":", in: frame) ?? 0
    }
  }

  private static let message = "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.message\""
  private static let credit = "{\"jsonrpc\":\"2.0\",\"method\":\"rpc.credit\""

  private static func number(after name: String, in frame: String) -> Int? {
    frame.firstRange(of: name).flatMap { Int(frame[$0.upperBound...].prefix { $0.isNumber }) }
  }

  // MARK: planted faults

  private mutating func change(_ frames: inout [String], _ plant: Plant, toServer: Bool) -> Bool {
    switch plant {
    case .forgetsRequestIDs where toServer && toNode == "notifications":
      return replace(&frames, "\"requestId\":\"") { "\"requestId\":\"" + Self.digits($0) + "-" }
    case .callsRunUnprocessed where !toServer && toNode != "gateway":
      return replace(&frames, "\"processed\":true") { _ in "\"processed\":false" }
    case .overrunsCredit: return inflateCredit(&frames)
    case .repeatsEvents, .swapsEvents, .dropsEvents:
      return !toServer && toNode == "notifications" && changeMessages(&frames, plant)
    case .mixesAnswers where !toServer: return mixAnswers(&frames)
    default: return false
    }
  }

  private static func digits(_ number: UInt64) -> String { String(String(number | 1 << 40, radix: 16).suffix(8)) }

  private mutating func replace(_ frames: inout [String], _ what: String, by make: (UInt64) -> String) -> Bool {
    var hasChanged = false
    for index in frames.indices {
      guard let range = frames[index].firstRange(of: what) else { continue }
      frames[index].replaceSubrange(range, with: make(chance.next()))
      hasChanged = true
    }
    return hasChanged
  }

  private func inflateCredit(_ frames: inout [String]) -> Bool {
    var hasChanged = false
    for index in frames.indices where frames[index].hasPrefix(Self.credit) {
      guard let range = frames[index].firstRange(of: "\"messages\":") else { continue }
      frames[index].insert(contentsOf: "1", at: range.upperBound)
      hasChanged = true
    }
    return hasChanged
  }

  private mutating func changeMessages(_ frames: inout [String], _ plant: Plant) -> Bool {
    guard let place = frames.lastIndex(where: { $0.hasPrefix(Self.message) && $0.contains("changeTime") }) else {
      return false
    }
    if let held {
      frames.insert(held, at: place + 1)
      self.held = nil
      return true
    }
    guard chance.oneIn(6) else { return false }
    switch plant {
    case .repeatsEvents: frames.insert(frames[place], at: place)
    case .dropsEvents: frames.remove(at: place)
    default: held = frames.remove(at: place)
    }
    return true
  }

  private mutating func mixAnswers(_ frames: inout [String]) -> Bool {
    var hasChanged = false
    for index in frames.indices where frames[index].hasPrefix("{\"jsonrpc\":\"2.0\",\"id\":") {
      guard let start = frames[index].firstRange(of: "{\"payload\":\"")?.upperBound,
        let end = frames[index][start...].firstIndex(of: "\"")
      else { continue }
      let payload = String(frames[index][start..<end])
      if let former = lastPayload, chance.oneIn(6) {
        frames[index].replaceSubrange(start..<end, with: former)
        hasChanged = true
      }
      lastPayload = payload
    }
    return hasChanged
  }
}
