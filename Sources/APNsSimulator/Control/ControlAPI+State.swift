import APNs
import CampanileCrypto
import Synchronization

extension ControlAPI {
  // MARK: - faults

  func faults() -> [UInt8] {
    let rules = simulator.state.withLock { $0.faults.rules }
    return ControlReply.object { $0.member("faults", rules) { reply, rule in reply.members(rule) } }
  }

  func addFault(_ body: [UInt8]) throws(ControlError) -> [UInt8] {
    let nowMs = simulator.nowMs()
    let rule = try ControlRequest.fault(body, nowMs: nowMs)
    guard let id = simulator.state.withLock({ $0.add(rule, nowMs: nowMs)?.id }) else {
      throw ControlError(409, "TOO_MANY", "the limit of \(simulator.limits.faultsMax) faults is reached; remove some")
    }
    return ControlReply.object { $0.member("id", id) }
  }

  func removeFaults() -> [UInt8] {
    simulator.state.withLock { $0.faults.removeAll() }
    return ControlReply.object { _ in }
  }

  func removeFault(_ text: String) throws(ControlError) -> [UInt8] {
    guard let id = Int(text), simulator.state.withLock({ $0.faults.remove(id) }) else {
      throw .notFound("there is no fault \(text)")
    }
    return ControlReply.object { _ in }
  }

  // MARK: - keys

  func keys() -> [UInt8] {
    let keys = simulator.state.withLock { $0.keyring.all }
    return ControlReply.object { $0.member("keys", keys) { reply, key in reply.members(key) } }
  }

  func addKey(_ body: [UInt8]) throws(ControlError) -> [UInt8] {
    let key = try ControlRequest.signingKey(body)
    do throws(CryptoError) {
      try simulator.add(key)
    } catch {
      throw .invalid(error.message)
    }
    return ControlReply.object { $0.members(key) }
  }

  func removeKey(_ id: String) throws(ControlError) -> [UInt8] {
    guard simulator.state.withLock({ $0.keyring.remove(id) }) else { throw .notFound("there is no key \(id)") }
    return ControlReply.object { _ in }
  }

  // MARK: - tokens

  func registerToken(_ body: [UInt8]) throws(ControlError) -> [UInt8] {
    let (token, new) = try ControlRequest.device(body, nowMs: simulator.nowMs())
    let record = new.record
    if let startToken = new.startToken {
      let source = simulator.state.withLock { $0.screens[startToken]?.updateSource }
      guard source == .token else {
        throw ControlError(409, "NO_UPDATE_TOKEN", "the activity was not started with input-push-token")
      }
    }
    let isFull = simulator.change { state in
      guard state.devices[token.hexadecimal] != nil || state.devices.count < state.limits.screensMax else {
        return true
      }
      state.devices[token.hexadecimal] = record
      state.touch(token.hexadecimal)
      return false
    }
    guard !isFull else {
      throw ControlError(409, "TOO_MANY", "the limit of \(simulator.limits.screensMax) tokens is reached")
    }
    return ControlReply.object { $0.members(token.hexadecimal, record) }
  }

  func device(_ text: String) throws(ControlError) -> [UInt8] {
    let token = try parse(text)
    guard let record = simulator.state.withLock({ $0.devices[token] }) else {
      throw .notFound("the token was neither registered nor used")
    }
    return ControlReply.object { $0.members(token, record) }
  }

  func forget(_ text: String) throws(ControlError) -> [UInt8] {
    let token = try parse(text)
    let isKnown = simulator.change { state in
      guard state.devices[token] != nil else { return false }
      state.forget(token)
      state.journal?.append(forgotten: token)
      return true
    }
    guard isKnown else { throw .notFound("the token was neither registered nor used") }
    return ControlReply.object { _ in }
  }

  /// Invalidates a token, as if its app had been removed.
  func reject(_ text: String, _ body: [UInt8]) throws(ControlError) -> [UInt8] {
    let token = try parse(text)
    let rejection = try ControlRequest.rejection(body, nowMs: simulator.nowMs())
    guard let record = simulator.change({ $0.reject(token, rejection) }) else {
      throw .notFound("the token was neither registered nor used")
    }
    return ControlReply.object { $0.members(token, record) }
  }

  // MARK: - connections of devices

  /// Disconnects a device from APNs.
  func disconnect(_ device: String) throws(ControlError) -> [UInt8] {
    guard simulator.change({ $0.disconnectDevice(device) }) else {
      throw ControlError(409, "TOO_MANY", "the limit of \(simulator.limits.screensMax) devices is reached")
    }
    return ControlReply.object { $0.member("device", device) }
  }

  /// Connects a device to APNs, which delivers what it stored.
  func connect(_ device: String) -> [UInt8] {
    let nowMs = simulator.nowMs()
    let delivered = simulator.change { $0.connectDevice(device, nowMs: nowMs) }
    return ControlReply.object { reply in
      reply.member("device", device)
      reply.member("delivered", delivered)
    }
  }

  private func parse(_ text: String) throws(ControlError) -> String {
    guard let token = DeviceToken(text) else { throw .invalid("the token must be hexadecimal digits") }
    return token.hexadecimal
  }

  // MARK: - what happened

  func screens(_ query: [String: String]) throws(ControlError) -> [UInt8] {
    if let key = query["key"] {
      guard let screen = simulator.state.withLock({ $0.screens[key] }) else {
        throw .notFound("nothing was displayed for \(key)")
      }
      return ControlReply.object { $0.members(key, screen) }
    }
    let (after, limit) = (query["after"] ?? "", try limit(query))
    let (page, hasMore) = simulator.state.withLock { state in
      let (keys, hasMore) = state.page(after: after, limit: limit)
      return (keys.compactMap { key in state.screens[key].map { (key: key, screen: $0) } }, hasMore)
    }
    return ControlReply.object { reply in
      reply.member("screens", page) { reply, entry in reply.members(entry.key, entry.screen) }
      if hasMore { reply.member("next", page.last?.key) }
    }
  }

  func pushes(_ query: [String: String]) throws(ControlError) -> [UInt8] {
    guard let after = Int64(query["after"] ?? "0"), after >= 0 else {
      throw .invalid("after must be a sequence number")
    }
    let limit = try limit(query)
    let (pushes, last) = simulator.state.withLock {
      ($0.log.entries(after: after, limit: limit), $0.log.lastSequence)
    }
    return ControlReply.object { reply in
      reply.member("pushes", pushes) { reply, push in reply.members(push) }
      reply.member("lastSequence", last)
    }
  }

  func channels() -> [UInt8] {
    let channels = simulator.state.withLock { $0.channels }.sorted { $0.key < $1.key }
    return ControlReply.object { reply in
      reply.member("channels", channels) { reply, entry in
        reply.member("id", entry.key)
        reply.member("bundleId", entry.value.bundleID)
        reply.member("storesMessages", entry.value.storesMessages)
      }
    }
  }

  func reset() -> [UInt8] {
    simulator.reset()
    server.set(.none)
    return ControlReply.object { _ in }
  }

  private func limit(_ query: [String: String]) throws(ControlError) -> Int {
    guard let limit = Int(query["limit"] ?? String(Self.pageDefault)), (1...Self.pageMax).contains(limit) else {
      throw .invalid("limit must be from 1 to \(Self.pageMax)")
    }
    return limit
  }
}
