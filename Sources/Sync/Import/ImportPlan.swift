import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileJSON
import CampanileRPC
import CampanileService

/// The records of an import, and what is wrong with the others.
struct ImportPlan: Sendable {
  static let recordsMax = 5_000

  private var buckets: [ImportedRecord] = []
  private var notifications: [ImportedRecord] = []
  private var deletedCount = 0
  private var errors: [RecordError] = []
  private let atMs: Int64

  /// Reads a JSON array of records, or an object with the member `records`.
  ///
  /// - Throws: INVALID_ARGUMENT if the text is not JSON, is neither of both, or has too many records.
  init(_ text: String, atMs: Int64) throws(RPCError) {
    self.atMs = atMs
    let document: JSONValue
    do throws(JSONSyntaxError) {
      document = try JSONValue.parse(text)
    } catch { throw .invalidField("recordsJson", "is not valid JSON: \(error.message)", .jsonInvalid) }
    guard let records = document.elements ?? document["records"]?.elements else {
      throw .invalidField("recordsJson", "must be an array, or an object with the array records", .valueInvalid)
    }
    guard records.count <= Self.recordsMax else {
      throw .invalidField("recordsJson", "must have at most \(Self.recordsMax) records", .tooMany)
    }
    var ids: [Container: Set<String>] = [:]
    for (index, record) in records.enumerated() {
      let path = "records[\(index)]"
      do throws(RPCError) {
        guard let imported = try ImportedRecord(record, path: path) else {
          deletedCount += 1
          continue
        }
        guard ids[imported.container, default: []].insert(imported.id).inserted else {
          throw .invalidField("\(path).recordName", "is the name of an earlier record", .nameRepeated)
        }
        switch imported.container {
        case .buckets: buckets.append(imported)
        case .notifications: notifications.append(imported)
        }
      } catch {
        let name = String((record["recordName"]?.text ?? "").unicodeScalars.prefix(256))
        errors.append(RecordError(index: Int32(clamping: index), recordName: name, error: error.batchError))
      }
    }
    // As the apps list them.
    notifications.sort { $0.createdMs > $1.createdMs }
  }

  /// Whether no record is valid.
  var isEmpty: Bool { buckets.isEmpty && notifications.isEmpty }

  /// The response without the files.
  var response: ImportRecordsResponse {
    ImportRecordsResponse(
      bucketCount: Int32(clamping: buckets.count), notificationCount: Int32(clamping: notifications.count),
      deletedCount: Int32(clamping: deletedCount), errors: errors)
  }

  /// The name, record type and content of each file.
  var files: [(name: String, recordType: String, content: [UInt8])] {
    [
      (ExportedFiles.bucketsName, NameRules.bucketsType, file(buckets, .buckets)),
      (ExportedFiles.notificationsName, NameRules.notificationsType, file(notifications, .notifications)),
    ]
  }

  private func file(_ records: [ImportedRecord], _ container: Container) -> [UInt8] {
    var object = JSONObject()
    object[container.recordsName] = .array(records.map(\.value))
    let time = ProtoTimestamp(millisecondsSince1970: atMs).jsonString()
    object["syncTimestamp"] = .string(String(time.dropFirst().dropLast()))
    return JSONValue.object(object).serialised()
  }
}
