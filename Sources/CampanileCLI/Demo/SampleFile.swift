internal import Foundation

/// Sample data: users with buckets and notifications in the format of Zentik's sync files, and a lodge.
///
/// Zentik defines the names and required members of users, buckets and notifications. Timestamps are ISO 8601 text.
public struct SampleFile: Sendable, Hashable, Decodable {
  public struct User: Sendable, Hashable, Decodable {
    /// `user/<id>`
    public var principal: String
    public var buckets: Buckets
    public var notifications: Notifications
  }
  public struct Buckets: Sendable, Hashable, Decodable {
    public var buckets: [Bucket]
    public var syncTimestamp: String
  }
  public struct Notifications: Sendable, Hashable, Decodable {
    public var notifications: [Entry]
    public var syncTimestamp: String
  }
  public struct Bucket: Sendable, Hashable, Decodable {
    public var id: String
    public var name: String
    public var description: String?
    public var color: String?
    public var iconUrl: String?
    public var createdAt: String
    public var updatedAt: String
    public var isOrphan: Bool?
  }
  public struct Entry: Sendable, Hashable, Decodable {
    public var id: String
    public var title: String
    public var subtitle: String?
    public var body: String?
    public var readAt: String?
    public var sentAt: String?
    public var createdAt: String
    public var updatedAt: String
    public var bucketId: String
    public var attachments: [Attachment]
    public var actions: [Action]
    public var tapAction: Action?
  }
  public struct Attachment: Sendable, Hashable, Decodable {
    public var mediaType: String
    public var url: String?
    public var name: String?
  }
  public struct Action: Sendable, Hashable, Decodable {
    public var type: String
    public var value: String?
    public var destructive: Bool
    public var title: String?
    public var icon: String?
  }

  /// A lodge, as CSV files for ImportCsv.
  public struct Lodge: Sendable, Hashable, Decodable {
    public var members: String
    public var meetings: String
    public var attendance: String
  }

  public var users: [User]
  public var lodge: Lodge?

  /// Maximum size of the file in bytes.
  public static let sizeBytesMax = 64 << 20

  /// Reads a sample file.
  ///
  /// - Throws: `UsageError` if the file cannot be read or has another format.
  public static func read(_ path: String) throws(UsageError) -> SampleFile {
    guard let data = FileManager.default.contents(atPath: path), data.count <= sizeBytesMax else {
      throw UsageError("cannot read the sample \(path)")
    }
    do {
      return try JSONDecoder().decode(SampleFile.self, from: data)
    } catch {
      throw UsageError("\(path) is not a sample file: \(error)")
    }
  }

  /// Returns the path of the bundled sample, in a folder next to the program.
  ///
  /// - Throws: `UsageError` if the bundled sample is missing.
  public static func defaultPath() throws(UsageError) -> String {
    let folder = URL(fileURLWithPath: try MemberProcess.ownExecutable()).deletingLastPathComponent()
    for bundle in ["campanile_CampanileCLI.resources", "campanile_CampanileCLI.bundle"] {
      let path = folder.appendingPathComponent(bundle).appendingPathComponent("sample.json").path
      if FileManager.default.fileExists(atPath: path) { return path }
    }
    throw UsageError("the bundled sample is missing: give a sample file with --sample FILE")
  }
}
