import Foundation
import Testing

@testable import CampanileClient
import CampanileNotifications

/// The gateway that the environment names.
enum Gateway {
  static func variable(_ name: String) -> String? { ProcessInfo.processInfo.environment["CAMPANILE_CLIENT_" + name] }
  static var url: URL? { variable("URL").flatMap { URL(string: $0) } }
  static var key: String? { variable("KEY") }
  /// A proxy that cuts each connection to the gateway after some bytes.
  static var cuttingURL: URL? { variable("CUTTING_URL").flatMap { URL(string: $0) } }
  /// The process of Notifications, which a test kills and `campanile up` starts again.
  static var servicePID: Int32? { variable("SERVICE_PID").flatMap { Int32($0) } }
  static var isThere: Bool { url != nil && key != nil }
  /// The PINs of the lodge's members by name, as JSON.
  static var pins: [String: String]? {
    variable("PINS").flatMap { try? JSONDecoder().decode([String: String].self, from: Data($0.utf8)) }
  }

  static func campanile(_ credentials: (any CredentialSource)? = nil) throws -> Campanile {
    Campanile(try #require(url), credentials: try credentials ?? FixedCredential(key: #require(key)))
  }

  /// The titles of all notifications of a bucket, in the order of their creation.
  static func titles(_ bucketID: String, _ campanile: Campanile) async throws -> [String] {
    var request = ListNotificationsRequest(pageSize: 200, bucketId: bucketID)
    var titles: [String] = []
    repeat {
      let page = try await campanile.notifications.service.listNotifications(request)
      titles += page.notifications.map(\.title)
      request.pageToken = page.nextPageToken
    } while !request.pageToken.isEmpty
    return titles.reversed()
  }
}
