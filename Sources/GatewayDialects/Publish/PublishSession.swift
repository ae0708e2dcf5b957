import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import CampanileService
import GatewayHTTP

/// Publishes one message, and reports how it was understood.
struct PublishSession: Sendable {
  static let principal = "service/publish"

  let credential: PublishCredential
  let requestID: String

  func publish(_ message: PublishMessage, _ calls: InnerCalls) async throws(RPCError) -> DialectAnswer {
    var notification = message.notification
    let id: String
    if let publishKey = credential.publishKey {
      // The key is the credential. The request has counted against its caller's limits.
      let request = PublishWithKeyRequest(secret: publishKey, notification: notification, requestId: requestID)
      let response: PublishWithKeyResponse = try await calls.unary(
        SharingServiceMethods.publishWithKey, request, as: .trusted(principal: Self.principal, scopes: ""))
      id = response.notificationId
    } else {
      notification.bucketId = try await bucket(message.parameters, calls)
      let request = CreateNotificationRequest(notification: notification, requestId: requestID)
      let response: CreateNotificationResponse = try await calls.unary(
        NotificationsServiceMethods.createNotification, request, as: .bearer(credential.authorization))
      id = response.notification?.id ?? ""
    }
    return Self.answer(id, notification, message)
  }

  /// Returns the id of the bucket with the request's id or name. Only a name needs the scope `notifications:read`.
  private func bucket(_ parameters: PublishParameters, _ calls: InnerCalls) async throws(RPCError) -> String {
    guard let text = credential.bucket ?? parameters[.bucket], !text.isEmpty else {
      throw .invalidField("bucket", "must be given: in the path, or as a parameter", .required)
    }
    return try await BucketLookup.id(of: text, as: .bearer(credential.authorization), calls, field: "bucket")
  }

  /// Returns the notification as it was understood, and the place of each parameter. Inline media are left out.
  private static func answer(
    _ id: String, _ notification: Notification, _ message: PublishMessage
  ) -> DialectAnswer {
    var shown = notification
    for index in shown.attachments.indices where !shown.attachments[index].data.isEmpty {
      shown.attachments[index].sizeBytes = Int32(clamping: shown.attachments[index].data.count)
      shown.attachments[index].data = []
    }
    var writer = JSONWriter()
    let object = writer.beginObject()
    writer.key("id")
    writer.string(id)
    writer.key("scheduled")
    writer.bool(message.isScheduled)
    writer.key("notification")
    writer.append(raw: String(decoding: shown.jsonUTF8Bytes(), as: UTF8.self))
    writer.key("understood")
    let places = message.parameters.values.filter { $0.key != .key && $0.key.isWithoutEffect == nil }
    let understood = places.map { ($0.key.rawValue, JSONTree.string($0.value.source)) }
    JSONTree.object(Dictionary(understood) { first, _ in first }).write(to: &writer)
    writer.key("notes")
    JSONTree.array(message.parameters.notes.map { .string($0) }).write(to: &writer)
    writer.endObject(object)
    return DialectAnswer(200, json: writer.withUnsafeBytes { Array($0) })
  }
}

/// Finds buckets by id or name, for APIs of apps.
enum BucketLookup {
  /// Returns the id of the bucket with this id or name.
  static func id(
    of text: String, as identity: InnerCalls.Identity, _ calls: InnerCalls, field: String
  ) async throws(RPCError) -> String {
    if text.hasPrefix("b_") { return text }
    var token = ""
    var found: [String] = []
    for _ in 0..<InnerCalls.pagesMax {
      let request = ListBucketsRequest(pageSize: 1000, pageToken: token)
      let page: ListBucketsResponse = try await calls.unary(
        NotificationsServiceMethods.listBuckets, request, as: identity)
      found += page.buckets.filter { $0.name == text }.map(\.id)
      token = page.nextPageToken
      if token.isEmpty { break }
    }
    guard let id = found.first else {
      throw RPCError(.notFound, "no bucket has this id or name", reason: "BUCKET_NOT_FOUND")
    }
    guard found.count == 1 else {
      throw RPCError.invalidField(
        field, "\(found.count) buckets have this name; use the id", reason: "BUCKET_NAME_AMBIGUOUS")
    }
    return id
  }
}
