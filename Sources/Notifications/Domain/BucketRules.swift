import CampanileAPI
import CampanileService

/// Validates buckets.
enum BucketRules {
  static let nameMax = 128
  static let descriptionMax = 1_024

  /// Checks every field that callers may set.
  static func check(_ bucket: Bucket, _ path: String, _ violations: inout Violations) {
    for field in BucketField.allCases { check(field, of: bucket, path, &violations) }
  }

  static func check(_ field: BucketField, of bucket: Bucket, _ path: String, _ violations: inout Violations) {
    switch field {
    case .name: violations.text(bucket.name, "\(path).name", max: nameMax, isRequired: true)
    case .description:
      if let description = bucket.description {
        violations.text(description, "\(path).description", max: descriptionMax)
      }
    case .color:
      if let color = bucket.color, !TextRules.isColor(color) {
        violations.add("\(path).color", "must be #RRGGBB", .colorInvalid)
      }
    case .iconURL: if let url = bucket.iconUrl { violations.webURL(url, "\(path).iconUrl") }
    case .isOrphan, .isMuted: break
    case .quietHours:
      if let hours = bucket.quietHours { QuietHoursRules.check(hours, "\(path).quietHours", &violations) }
    case .retention:
      guard let retention = bucket.retention else { return }
      range(retention.maxAgeDays, 3_650, "\(path).retention.maxAgeDays", &violations)
      range(retention.maxCount, 1_000_000, "\(path).retention.maxCount", &violations)
      range(retention.afterReadHours, 87_600, "\(path).retention.afterReadHours", &violations)
    }
  }

  private static func range(_ value: Int32, _ most: Int32, _ field: String, _ violations: inout Violations) {
    if !(0...most).contains(value) { violations.add(field, "must be 0 to \(most)", .outOfRange) }
  }
}
