import CampanileAPI
import CampanileCodec
import CampanileService

/// Validates buckets by the rules that their constraints cannot express.
enum BucketRules {
  /// Checks every field that callers may set.
  static func check(_ bucket: Bucket, _ path: String, _ violations: inout Violations) {
    for field in BucketField.allCases { check(field, of: bucket, path, &violations) }
  }

  static func check(_ field: BucketField, of bucket: Bucket, _ path: String, _ violations: inout Violations) {
    switch field {
    case .iconURL: if let url = bucket.iconUrl { violations.webURL(url, "\(path).iconUrl") }
    case .quietHours:
      if let hours = bucket.quietHours { QuietHoursRules.check(hours, "\(path).quietHours", &violations) }
    case .name, .description, .color, .isOrphan, .isMuted, .retention: break
    }
  }
}
