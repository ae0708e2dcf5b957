import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates buckets, and users' settings for them, by the rules that their constraints cannot express.
enum BucketRules {
  /// Checks every field that admins may set.
  static func check(_ bucket: Bucket, _ path: String, _ violations: inout Violations) {
    for field in BucketField.allCases { check(field, of: bucket, path, &violations) }
  }

  static func check(_ field: BucketField, of bucket: Bucket, _ path: String, _ violations: inout Violations) {
    switch field {
    case .iconURL: if let url = bucket.iconUrl { violations.webURL(url, "\(path).iconUrl") }
    case .name, .description, .color, .isOrphan: break
    }
  }

  static func check(
    _ field: BucketSettingsField, of settings: BucketSettings, _ path: String, nowMs: Int64,
    _ violations: inout Violations
  ) {
    switch field {
    case .snoozeEndTime:
      NotificationRules.atMostAYearAhead(settings.snoozeEndTime, "\(path).snoozeEndTime", nowMs: nowMs, &violations)
    case .quietHours:
      if let hours = settings.quietHours { QuietHoursRules.check(hours, "\(path).quietHours", &violations) }
    case .isMuted, .retention: break
    }
  }
}
