/// The records of a container, indexed by id, and its `syncTimestamp`.
struct RecordSet {
  struct Record {
    var id: String
    var value: JSONValue
    var updatedAt: RecordTime
    var createdAt: RecordTime
  }

  let object: JSONObject
  let records: [Record]
  let index: [JSONString: Int]
  let syncTimestamp: RecordTime
  let syncText: String

  init(_ document: JSONValue, _ container: Container, side: RecordMergeError.Side) throws(RecordMergeError) {
    guard case .object(let object) = document else {
      throw RecordMergeError(side: side, path: "", reason: "a container is an object")
    }
    let path = "/" + container.recordsName
    guard let elements = object[container.recordsName]?.elements else {
      throw RecordMergeError(side: side, path: path, reason: "an array is required")
    }
    guard let sync = object["syncTimestamp"], let time = RecordTime(sync) else {
      throw RecordMergeError(side: side, path: "/syncTimestamp", reason: "a date and time is required")
    }
    var records: [Record] = []
    var index: [JSONString: Int] = [:]
    records.reserveCapacity(elements.count)
    for (position, element) in elements.enumerated() {
      let record = try Self.record(element, side, "\(path)/\(position)")
      guard index.updateValue(position, forKey: JSONString(record.id)) == nil else {
        throw RecordMergeError(side: side, path: "\(path)/\(position)/id", reason: "another record has the same id")
      }
      records.append(record)
    }
    self.object = object
    self.records = records
    self.index = index
    syncTimestamp = time
    syncText = sync.text ?? ""
  }

  private static func record(
    _ element: JSONValue, _ side: RecordMergeError.Side, _ path: String
  ) throws(RecordMergeError) -> Record {
    guard let id = element["id"]?.text, !id.isEmpty else {
      throw RecordMergeError(side: side, path: "\(path)/id", reason: "a string that is not empty is required")
    }
    guard let updatedAt = RecordTime(element["updatedAt"]) else {
      throw RecordMergeError(side: side, path: "\(path)/updatedAt", reason: "a date and time is required")
    }
    guard let createdAt = RecordTime(element["createdAt"]) else {
      throw RecordMergeError(side: side, path: "\(path)/createdAt", reason: "a date and time is required")
    }
    return Record(id: id, value: element, updatedAt: updatedAt, createdAt: createdAt)
  }

  func record(_ id: JSONString) -> Record? { index[id].map { records[$0] } }

  /// Whether each record was created no later than the one before it.
  var isNewestFirst: Bool { zip(records, records.dropFirst()).allSatisfy { $0.createdAt >= $1.createdAt } }
}
