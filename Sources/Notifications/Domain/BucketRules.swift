import CampanileAPI

/// What a bucket may hold.
enum BucketRules {
  static let nameMax = 128
  static let descriptionMax = 1_024

  /// Checks every field that a caller may set.
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
    case .isOrphan: break
    }
  }
}
