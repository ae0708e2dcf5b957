import CampanileClient
import Foundation

/// The HTTP requests for contents above 1 MiB.
enum ContentUpload {
  static func path(_ zoneID: String, _ name: String) -> [String] {
    ["sync", "v1", "zones", zoneID, "assets", name, "content"]
  }

  /// Returns the request that writes a content, with a merge over the version `base`.
  static func request(
    zoneID: String, name: String, recordType: String, deviceID: String, base: String, sha256: [UInt8]
  ) -> ContentRequest {
    var query = [
      (name: "deviceId", value: deviceID), (name: "recordType", value: recordType),
      (name: "onConflict", value: "CONFLICT_POLICY_MERGE"),
    ]
    if !base.isEmpty { query.append((name: "baseEtag", value: base)) }
    return ContentRequest(
      method: "PUT", path: path(zoneID, name), query: query,
      headers: [
        "content-type": "application/json", "repr-digest": "sha-256=:\(Base64.text(sha256)):",
      ])
  }
}
