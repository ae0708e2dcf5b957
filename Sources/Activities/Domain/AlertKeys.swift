import CampanileAPI
import CampanileCodec
import CampanileService

/// The less common keys of a notification ("Generating a remote notification", tables 1 and 2).
extension SendAlertRequest {
  /// Checks the keys that need an alert.
  func checkKeys(_ violations: inout Violations) {
    if alert == nil {
      if !subtitleLocKey.isEmpty { violations.add("subtitleLocKey", "needs an alert", .fieldNotAllowed) }
      if !launchImage.isEmpty { violations.add("launchImage", "needs an alert", .fieldNotAllowed) }
    }
    if subtitle?.isEmpty == false, !subtitleLocKey.isEmpty {
      violations.add("subtitleLocKey", "must not be given together with subtitle", .fieldNotAllowed)
    }
    if subtitleLocKey.isEmpty, !subtitleLocArgs.isEmpty {
      violations.add("subtitleLocArgs", "needs subtitleLocKey", .fieldNotAllowed)
    }
  }

  /// Writes members of `aps`.
  func writeKeys(to writer: inout JSONWriter) {
    if let relevanceScore {
      writer.name(",\"relevance-score\":")
      writer.double(relevanceScore)
    }
    Alert.member(",\"filter-criteria\":", filterCriteria, to: &writer)
    Alert.member(",\"target-content-id\":", targetContentId, to: &writer)
  }

  /// Writes members of the alert object.
  func writeAlertKeys(to writer: inout JSONWriter) {
    Alert.member(",\"subtitle-loc-key\":", subtitleLocKey, to: &writer)
    Alert.list(",\"subtitle-loc-args\":", subtitleLocArgs, to: &writer)
    Alert.member(",\"launch-image\":", launchImage, to: &writer)
  }
}
