import CampanileNotifications
import Foundation

// Decodes one notification with the client's codec and with Foundation's decoder. Prints microseconds as JSON.

/// The members of the notification as a type of Foundation's decoder.
struct PlainNotification: Codable {
  struct Attachment: Codable {
    var mediaType: String
    var url: String
    var name: String
  }
  struct Action: Codable {
    var type: String
    var value: String
    var title: String
  }
  var id: String
  var bucketId: String
  var title: String
  var subtitle: String?
  var body: String?
  var priority: String
  var attachments: [Attachment]
  var actions: [Action]
  var createTime: String
  var updateTime: String
  var etag: String
}

let message = CampanileNotifications.Notification(
  id: "n_01JCZ4T7Q2M8V5X9K3R6W1Y0AB", bucketId: "b_01JCZ4T7Q2M8V5X9K3R6W1Y0CD", title: "Deploy of the shop finished",
  subtitle: "production · v2.14.0",
  body:
    "The release went out to 12 hosts in 3 minutes – no errors were seen, two warnings are in the log of the second region.",
  priority: .normal,
  attachments: [.init(mediaType: .image, url: "https://cdn.example.com/graphs/7f3a9c.png", name: "latency.png")],
  actions: [.init(type: .navigate, value: "https://ci.example.com/builds/4711", title: "Open")],
  createTime: .init(seconds: 1_763_700_000, nanos: 123_000_000),
  updateTime: .init(seconds: 1_763_700_000, nanos: 123_000_000), etag: "W_9f8e7d6c5b4a3210")
let bytes = message.jsonUTF8Bytes()
let data = Data(bytes)
let decoder = JSONDecoder()

/// Returns the median time of a run, over 21 rounds.
func medianUs(_ runs: Int, _ body: () throws -> Int) rethrows -> Double {
  var rounds: [Double] = []
  for _ in 0..<21 {
    let start = ContinuousClock.now
    var sum = 0
    for _ in 0..<runs { sum &+= try body() }
    let (seconds, attoseconds) = start.duration(to: .now).components
    precondition(sum > 0)
    rounds.append((Double(seconds) * 1e6 + Double(attoseconds) / 1e12) / Double(runs))
  }
  return rounds.sorted()[10]
}

let ours = try medianUs(5_000) { try CampanileNotifications.Notification(jsonUTF8: bytes).title.utf8.count }
let foundation = try medianUs(500) { try decoder.decode(PlainNotification.self, from: data).title.utf8.count }
print(#"{"bytes":\#(bytes.count),"decode":\#(ours),"foundation":\#(foundation)}"#)
