// The Hummingbird peer: Codable JSON over HTTP/1.1, on one event loop.
//
// usage: HummingbirdPeer             prints its port and serves `POST /echo` until it is stopped
//        HummingbirdPeer FOLDER      also serves `GET /notifications/ID` and `POST /notifications`; prints its port, a
//                                    bucket and a notification
import CampanileAPI
import CampanileCodec
import Foundation
import Hummingbird
import Logging
import NIOCore
import NIOPosix
import NotificationsBackend

struct Message: ResponseCodable {
  var payload: String
}

struct NotificationJSON: ResponseEncodable {
  var id: String
  var bucketId: String
  var title: String
  var subtitle: String?
  var body: String?
  var priority: String
  var createTime: String?
  var updateTime: String?
  var readTime: String?
  var sendTime: String?
  var etag: String
  var deliveryState: String
  var sendCount: Int32

  init(_ notification: CampanileAPI.Notification) {
    id = notification.id
    bucketId = notification.bucketId
    title = notification.title
    subtitle = notification.subtitle
    body = notification.body
    priority = "\(notification.priority.rawValue)"
    createTime = notification.createTime.map(Self.text)
    updateTime = notification.updateTime.map(Self.text)
    readTime = notification.readTime.map(Self.text)
    sendTime = notification.sendTime.map(Self.text)
    etag = notification.etag
    deliveryState = "\(notification.deliveryState.rawValue)"
    sendCount = notification.sendCount
  }

  private static func text(_ time: ProtoTimestamp) -> String {
    Date(timeIntervalSince1970: Double(time.seconds) + Double(time.nanos) / 1e9)
      .formatted(.iso8601.time(includingFractionalSeconds: true))
  }
}

struct DraftJSON: Decodable {
  var bucketId: String
  var title: String
  var body: String?

  var notification: CampanileAPI.Notification {
    var notification = CampanileAPI.Notification()
    notification.bucketId = bucketId
    notification.title = title
    notification.body = body
    notification.priority = .normal
    return notification
  }
}

let router = Router()
router.post("echo") { request, context in
  try await request.decode(as: Message.self, context: context)
}
var backend: NotificationsBackend?
if let folder = CommandLine.arguments.dropFirst().first {
  let one = try await NotificationsBackend(directory: folder)
  router.get("notifications/:id") { _, context in
    NotificationJSON(try await one.notification(try context.parameters.require("id")))
  }
  router.post("notifications") { request, context in
    NotificationJSON(try await one.create(try await request.decode(as: DraftJSON.self, context: context).notification))
  }
  Task { try await one.index() }
  backend = one
}
let names = backend.map { " \($0.bucketID) \($0.notificationID)" } ?? ""
var logger = Logger(label: "peer")
logger.logLevel = .warning
let application = Application(
  router: router, configuration: .init(address: .hostname("127.0.0.1", port: 0)),
  onServerRunning: { channel in
    FileHandle.standardOutput.write(Data("\(channel.localAddress?.port ?? 0)\(names)\n".utf8))
  },
  eventLoopGroupProvider: .shared(MultiThreadedEventLoopGroup(numberOfThreads: 1)), logger: logger)
try await application.runService()
