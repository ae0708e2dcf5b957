/// The shape of the two containers as the apps' decoders expect it. Unknown members are allowed everywhere, and null is
/// allowed for members that are not required.
enum ContainerSchema {
  /// The type and format that a value must have. The raw values are stored in saved states.
  enum Kind: UInt8, Sendable {
    case any
    case string
    /// A string that is not empty.
    case id
    /// A string with an ISO 8601 date and time in the form of RFC 3339.
    case date
    case bool
    case object
    case array
  }

  struct Shape: Sendable, Hashable {
    var kind: Kind
    /// The object type of the value, or of its elements.
    var object = 0
  }

  struct Field: Sendable {
    let name: String
    /// The name in the form used for comparisons.
    let key: ShortName
    let shape: Shape
    let isRequired: Bool
  }

  static let attachment = 0
  static let action = 1
  static let bucket = 2
  static let notification = 3
  static let bucketsContainer = 4
  static let notificationsContainer = 5
  static let objectCount = 6

  static func root(_ container: Container) -> Int {
    switch container {
    case .buckets: bucketsContainer
    case .notifications: notificationsContainer
    }
  }

  static func isRecord(_ object: Int) -> Bool { object == bucket || object == notification }

  /// All fields, in memory that is allocated once and never freed or changed: every name of a text is looked up here.
  struct Table: @unchecked Sendable {
    // Safe to share: nothing writes after `init`, and the memory lives as long as the process.
    private let fields: UnsafeBufferPointer<Field>
    private let starts: UnsafePointer<Int>
    private let masks: UnsafePointer<UInt64>

    init() {
      let all = ContainerSchema.fields.joined()
      let memory = UnsafeMutableBufferPointer<Field>.allocate(capacity: all.count)
      _ = memory.initialize(from: all)
      fields = UnsafeBufferPointer(memory)
      let starts = UnsafeMutablePointer<Int>.allocate(capacity: ContainerSchema.objectCount + 1)
      let masks = UnsafeMutablePointer<UInt64>.allocate(capacity: ContainerSchema.objectCount)
      var start = 0
      for object in 0..<ContainerSchema.objectCount {
        (starts + object).initialize(to: start)
        let required = ContainerSchema.fields[object].enumerated().filter(\.element.isRequired)
        (masks + object).initialize(to: required.reduce(0) { $0 | 1 << UInt64($1.offset) })
        start += ContainerSchema.fields[object].count
      }
      (starts + ContainerSchema.objectCount).initialize(to: start)
      self.starts = UnsafePointer(starts)
      self.masks = UnsafePointer(masks)
    }

    /// The index of the field of `object` with this name, relative to the object; nil if there is none.
    @inline(__always)
    func index(of name: ShortName, in object: Int) -> Int? {
      var index = starts[object]
      let end = starts[object + 1]
      while index < end {
        if fields[index].key == name { return index - starts[object] }
        index += 1
      }
      return nil
    }

    /// Whether a field of `object` has this name.
    @inline(__always)
    func isName(_ name: ShortName, of field: Int, in object: Int) -> Bool { fields[starts[object] + field].key == name }

    @inline(__always)
    func shape(_ field: Int, of object: Int) -> Shape { fields[starts[object] + field].shape }

    func count(_ object: Int) -> Int { starts[object + 1] - starts[object] }
    func isRequired(_ field: Int, of object: Int) -> Bool {
      fields[starts[object] + field].isRequired
    }
    func name(_ field: Int, of object: Int) -> String { fields[starts[object] + field].name }

    /// The required fields of `object` as a bit mask.
    func required(_ object: Int) -> UInt64 { masks[object] }
  }

  static let table = Table()

  /// The fields, indexed by object.
  private static var fields: [[Field]] {
    [
      [required("mediaType", .string), optional("url", .string), optional("name", .string)],
      [
        required("type", .string), required("destructive", .bool), optional("value", .string),
        optional("title", .string), optional("icon", .string),
      ],
      [
        required("id", .id), required("name", .string), required("createdAt", .date),
        required("updatedAt", .date),
        optional("description", .string), optional("color", .string), optional("iconUrl", .string),
        optional("isOrphan", .bool),
      ],
      [
        required("id", .id), required("title", .string), required("createdAt", .date),
        required("updatedAt", .date),
        required("bucketId", .string), required("attachments", .array, of: attachment),
        required("actions", .array, of: action), optional("subtitle", .string),
        optional("body", .string),
        optional("readAt", .date), optional("sentAt", .date),
        optional("tapAction", .object, of: action),
      ],
      [required("buckets", .array, of: bucket), required("syncTimestamp", .date)],
      [required("notifications", .array, of: notification), required("syncTimestamp", .date)],
    ]
  }

  private static func required(_ name: String, _ kind: Kind, of object: Int = 0) -> Field {
    Field(
      name: name, key: ShortName(name), shape: Shape(kind: kind, object: object), isRequired: true)
  }

  private static func optional(_ name: String, _ kind: Kind, of object: Int = 0) -> Field {
    Field(
      name: name, key: ShortName(name), shape: Shape(kind: kind, object: object), isRequired: false)
  }
}
