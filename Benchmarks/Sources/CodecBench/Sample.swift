import CampanileAPI
import CampanileCodec

/// The measured notification: a message from a build server with non-ASCII text and an action.
enum Sample {
  static let notification = CampanileAPI.Notification.with { message in
    message.id = "n_01JCZ4T7Q2M8V5X9K3R6W1Y0AB"
    message.bucketId = "b_01JCZ4T7Q2M8V5X9K3R6W1Y0CD"
    message.title = "Deploy of the shop finished"
    message.subtitle = "production · v2.14.0"
    message.body =
      "The release went out to 12 hosts in 3 minutes – no errors were seen, two warnings are in the log of the second region."
    message.priority = .normal
    message.attachments = [
      .with {
        $0.mediaType = .image
        $0.url = "https://cdn.example.com/graphs/7f3a9c.png"
        $0.name = "latency.png"
      }
    ]
    message.actions = [
      .with {
        $0.type = .navigate
        $0.value = "https://ci.example.com/builds/4711"
        $0.title = "Open"
      }
    ]
    message.createTime = .init(seconds: 1_763_700_000, nanos: 123_000_000)
    message.updateTime = .init(seconds: 1_763_700_000, nanos: 123_000_000)
    message.etag = "W_9f8e7d6c5b4a3210"
  }
}
