import CampanileJSON
import Testing

@Suite struct ContainerTests {
  static let notification =
    #"{"id":"n1","title":"T","createdAt":"2025-11-08T10:00:00Z","updatedAt":"2025-11-08T10:00:00.123Z","bucketId":"b","attachments":[{"mediaType":"IMAGE","url":"u"}],"actions":[{"type":"DELETE","destructive":true}],"readAt":null,"tapAction":{"type":"NAVIGATE","destructive":false,"value":"x"},"body":"{\"id\":1}","extra":{"id":[1,{"a":null}]}}"#
  static let bucket =
    #"{"id":"b","name":"N","createdAt":"2025-11-08T10:00:00Z","updatedAt":"2025-11-08T11:00:00+01:00","isOrphan":false,"color":"red"}"#

  static func notifications(_ records: [String]) -> String {
    "{\"notifications\":[\(records.joined(separator: ","))],\"syncTimestamp\":\"2025-11-08T12:00:00Z\"}"
  }

  static func buckets(_ records: [String]) -> String {
    "{\"syncTimestamp\":\"2025-11-08T12:00:00Z\",\"buckets\":[\(records.joined(separator: ","))]}"
  }

  private func check(
    _ text: String, _ container: Container, chunk: Int = .max, saving: Bool = false,
    limits: ContainerCheck.Limits = .init()
  ) throws -> Result<ContainerCheck.Summary, ContainerError> {
    let bytes = Array(text.utf8)
    var check = ContainerCheck(container, limits: limits)
    do {
      var start = 0
      while start < bytes.count {
        let end = start + min(chunk, bytes.count - start)
        try Array(bytes[start..<end]).withUnsafeBytes { try check.update($0) }
        start = end
        if saving { check = try ContainerCheck(state: check.state) }
      }
      return .success(try check.finish())
    } catch let error as ContainerError {
      return .failure(error)
    }
  }

  @Test("records are counted in any chunks, also if saved and restored between them")
  func valid() throws {
    let records = (0..<20).map { Self.notification.replacing("\"n1\"", with: "\"n\($0)\"") }
    let text = Self.notifications(records)
    for chunk in [1, 2, 7, 63, 64, 65, 1000, .max] {
      for saving in [false, true] {
        let summary = try check(text, .notifications, chunk: chunk, saving: saving).get()
        #expect(
          summary == .init(recordCount: 20, syncTimestamp: "2025-11-08T12:00:00Z", sizeBytes: Int64(text.utf8.count)))
      }
    }
    #expect(try check(Self.buckets([Self.bucket]), .buckets).get().recordCount == 1)
    #expect(try check(Self.buckets([]), .buckets).get().recordCount == 0)
    #expect(
      try check(Self.buckets([Self.bucket.replacing("\"id\"", with: "\"\\u0069d\"")]), .buckets).get().recordCount == 1)
  }

  @Test("errors have a path and a reason")
  func invalid() throws {
    let note = Self.notification
    let table: [(String, Container, ContainerError.Code, String)] = [
      ("[]", .buckets, .wrongType, ""), ("1", .buckets, .wrongType, ""), ("\"\"", .buckets, .wrongType, ""),
      ("null", .buckets, .wrongType, ""),
      ("{}", .buckets, .missingMember, "/buckets"), (#"{"buckets":[]}"#, .buckets, .missingMember, "/syncTimestamp"),
      (Self.notifications([]), .buckets, .missingMember, "/buckets"),
      (#"{"buckets":{}}"#, .buckets, .wrongType, "/buckets"),
      (#"{"buckets":null}"#, .buckets, .wrongType, "/buckets"),
      (Self.buckets(["1"]), .buckets, .wrongType, "/buckets/0"),
      (Self.buckets([Self.bucket, "[]"]), .buckets, .wrongType, "/buckets/1"),
      (Self.buckets([Self.bucket, Self.bucket]), .buckets, .duplicateId, "/buckets/1/id"),
      (Self.buckets([Self.bucket.replacing("\"b\"", with: "\"\"")]), .buckets, .invalidFormat, "/buckets/0/id"),
      (Self.buckets([Self.bucket.replacing("false", with: "0")]), .buckets, .wrongType, "/buckets/0/isOrphan"),
      (Self.buckets([Self.bucket.replacing("\"red\"", with: "true")]), .buckets, .wrongType, "/buckets/0/color"),
      (
        Self.notifications([note.replacing("true", with: "\"true\"")]), .notifications, .wrongType,
        "/notifications/0/actions/0/destructive"
      ),
      (
        Self.notifications([note.replacing("\"destructive\":true", with: "\"x\":1")]), .notifications, .missingMember,
        "/notifications/0/actions/0/destructive"
      ),
      (
        Self.notifications([note.replacing("\"mediaType\"", with: "\"media\"")]), .notifications, .missingMember,
        "/notifications/0/attachments/0/mediaType"
      ),
      (
        Self.notifications([note.replacing(".123Z", with: "")]), .notifications, .invalidFormat,
        "/notifications/0/updatedAt"
      ),
      (
        Self.notifications([note.replacing("10:00:00Z", with: "25:00:00Z")]), .notifications, .invalidFormat,
        "/notifications/0/createdAt"
      ),
      (
        Self.notifications([note.replacing("\"readAt\":null", with: "\"readAt\":\"\"")]), .notifications,
        .invalidFormat, "/notifications/0/readAt"
      ),
      (
        Self.notifications([note.replacing("\"title\":\"T\"", with: "\"title\":null")]), .notifications, .wrongType,
        "/notifications/0/title"
      ),
      (
        Self.notifications([note.replacing("\"title\":\"T\",", with: "")]), .notifications, .missingMember,
        "/notifications/0/title"
      ),
      (
        Self.notifications([note.replacing("\"NAVIGATE\"", with: "[]")]), .notifications, .wrongType,
        "/notifications/0/tapAction/type"
      ),
      (
        Self.notifications([note.replacing("\"u\"", with: "{}")]), .notifications, .wrongType,
        "/notifications/0/attachments/0/url"
      ),
      (
        Self.notifications([note]).replacing("12:00:00Z", with: "noon"), .notifications, .invalidFormat,
        "/syncTimestamp"
      ),
      (Self.notifications([note + ","]), .notifications, .syntax, "/notifications/0"), ("", .buckets, .syntax, ""),
      (#"{"buckets":[]"#, .buckets, .syntax, "/buckets"),
    ]
    for (text, container, code, path) in table {
      for chunk in [1, 64, .max] {
        guard case .failure(let error) = try check(text, container, chunk: chunk) else {
          Issue.record("\(text)")
          continue
        }
        #expect(error.code == code, "\(text): \(error)")
        #expect(error.path == path, "\(text): \(error)")
        #expect((error.syntax != nil) == (code == .syntax))
      }
    }
    guard case .failure(let error) = try check(Self.buckets([Self.bucket.replacing("false", with: "\"no\"")]), .buckets)
    else {
      Issue.record("must fail")
      return
    }
    #expect(error.description.hasSuffix(": a bool is required, found a string"))
  }

  @Test func numberOfRecordsIsLimited() throws {
    let records = (0..<5).map { Self.bucket.replacing("\"b\"", with: "\"b\($0)\"") }
    #expect(try check(Self.buckets(records), .buckets, limits: .init(recordsMax: 5)).get().recordCount == 5)
    guard case .failure(let error) = try check(Self.buckets(records), .buckets, limits: .init(recordsMax: 4)) else {
      Issue.record("must fail")
      return
    }
    #expect(error.code == .recordsExceeded)
    #expect(error.path == "/buckets/4")
  }

  @Test("the check and the validator agree on which mutated texts are JSON, and never trap")
  func mutations() throws {
    var random = Random(21)
    let text = Array(Self.notifications([Self.notification]).utf8)
    for _ in 0..<1500 {
      let damaged = mutated(text, &random)
      let isJSON = try validate(damaged).isValid
      var check = ContainerCheck(.notifications)
      do {
        let middle = random.below(damaged.count + 1)
        try damaged[..<middle].withUnsafeBytes { try check.update($0) }
        try damaged[middle...].withUnsafeBytes { try check.update($0) }
        _ = try check.finish()
        #expect(isJSON)
      } catch let error as ContainerError {
        #expect(error.code != .syntax || !isJSON)
      }
      // A damaged state is refused or continued.
      var half = ContainerCheck(.notifications)
      _ = try? damaged[..<(damaged.count / 2)].withUnsafeBytes { try half.update($0) }
      var state = half.state
      state[random.below(state.count)] = UInt8(random.below(256))
      guard var restored = try? ContainerCheck(state: state) else { continue }
      _ = try? damaged[(damaged.count / 2)...].withUnsafeBytes { try restored.update($0) }
      _ = try? restored.finish()
    }
  }
}
