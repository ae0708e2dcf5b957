import CampanileAPI
import CampanileStore

/// Maps whole rows for an export.
enum TransferRows {
  static func notification(_ row: borrowing SQLRow) throws -> Notification {
    var notification = try NotificationRow.notification(row)
    notification.etag = ""
    return notification
  }

  /// As it is for the user alone: whose it is and what the user may do with it does not travel.
  static func bucket(_ row: borrowing SQLRow) throws -> Bucket {
    var bucket = try BucketRow.bucket(row)
    bucket.role = .unspecified
    bucket.ownerId = ""
    bucket.shareExpireTime = nil
    bucket.shareCount = 0
    bucket.etag = ""
    return bucket
  }
}
