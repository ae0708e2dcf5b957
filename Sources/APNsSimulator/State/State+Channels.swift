import APNs
import CampanileBase
import CampanileCodec
import CampanileCrypto

extension Simulator.State {
  /// Creates, reads, deletes and lists broadcast channels.
  mutating func manageChannels(
    _ address: PushAddress, _ request: ReceivedPush, _ context: PushContext, id: String
  ) -> Answer {
    do throws(Refusal) {
      switch address {
      case .channels(let bundleID, .create):
        return try createChannel(bundleID, request, context, id: id)
      case .channels(_, .read):
        let channel = try ChannelRules.existing(context.fields.channelID, context.channel)
        let policy = channel.storesMessages ? 1 : 0
        return Answer(
          status: 200, id: id, body: "{\"message-storage-policy\":\(policy),\"push-type\":\"LiveActivity\"}")
      case .channels(_, .delete):
        _ = try ChannelRules.existing(context.fields.channelID, context.channel)
        let channelID = context.fields.channelID ?? ""
        channels[channelID] = nil
        removeScreen(Self.channelKey(channelID))
        journal?.append(channelID: channelID, nil)
        return Answer(status: 204, id: id)
      case .allChannels(let bundleID):
        return Answer(status: 200, id: id, body: list(bundleID))
      case .device, .broadcast:
        throw Refusal(.badPath, "no channel is managed by this path")
      }
    } catch {
      return Answer(status: error.reason.status, id: id, refusal: error)
    }
  }

  private mutating func createChannel(
    _ bundleID: String, _ request: ReceivedPush, _ context: PushContext, id: String
  ) throws(Refusal) -> Answer {
    let storesMessages = try ChannelRules.storesMessages(request.body)
    guard channels.values.count(where: { $0.bundleID == bundleID }) < APNsLimits.channelsPerAppMax else {
      throw Refusal(.cannotCreateChannelConfig, "the app has \(APNsLimits.channelsPerAppMax) channels")
    }
    guard let random = try? SecureRandom.bytes(18) else {
      throw Refusal(.internalServerError, "no random bytes for a channel id")
    }
    // 24 characters of base64 without padding.
    let channelID = Base64URL.encode(random).replacing("-", with: "+").replacing("_", with: "/")
    let channel = ChannelRecord(bundleID: bundleID, storesMessages: storesMessages, createdAtMs: context.nowMs)
    channels[channelID] = channel
    journal?.append(channelID: channelID, channel)
    return Answer(status: 201, id: id, channelID: channelID)
  }

  private func list(_ bundleID: String) -> String {
    var writer = JSONWriter()
    let object = writer.beginObject()
    writer.name(",\"channels\":")
    let array = writer.beginArray()
    for id in channels.filter({ $0.value.bundleID == bundleID }).keys.sorted() {
      writer.nextElement()
      writer.string(id)
    }
    writer.endArray(array)
    writer.endObject(object)
    return writer.withUnsafeBytes { String(decoding: $0, as: UTF8.self) }
  }
}
