import CampanileAPI
import CampanileCodec
import CampanileStore

/// Maps whole rows for an export.
enum TransferRows {
  static func notification(_ row: borrowing SQLRow) throws -> Notification {
    var notification = try NotificationRow.notification(row)
    notification.etag = ""
    return notification
  }

  static func blockedUser(_ row: borrowing SQLRow) throws -> BlockedUser {
    BlockedUser(userId: try row.text(0), createTime: ProtoTimestamp(millisecondsSince1970: try row.integer(1)))
  }

  /// Maps a bucket without its owner and the user's role, which are not exported.
  static func bucket(_ row: borrowing SQLRow) throws -> Bucket {
    var bucket = try BucketRow.bucket(row)
    bucket.role = .unspecified
    bucket.ownerId = ""
    bucket.shareExpireTime = nil
    bucket.shareCount = nil
    bucket.etag = ""
    bucket.settings?.etag = ""
    return bucket
  }
}
