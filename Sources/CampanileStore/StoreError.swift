/// A failure of the store: its kind, a message for the operator, and the affected file.
public struct StoreError: Error, Sendable, Hashable {
  /// The kind of a failure. New kinds may be added, so switch with a default.
  public struct Code: Sendable, Hashable, CustomStringConvertible {
    private enum Kind: String, Sendable, Hashable {
      case invalidArgument, constraint, overloaded, diskFull, unavailable, corrupt, foreignFile, inUse
      case busy, migration, closed, interrupted, requestIDReused, alreadyExists
    }
    private let kind: Kind
    private init(_ kind: Kind) { self.kind = kind }

    public var description: String { kind.rawValue }

    /// The SQL, its arguments or a mapped column are invalid: a programming error of the caller.
    public static let invalidArgument = Self(.invalidArgument)
    /// A UNIQUE, FOREIGN KEY, NOT NULL or CHECK constraint rejected the change.
    public static let constraint = Self(.constraint)
    /// A queue of the store is full or a wait timed out; nothing was done.
    public static let overloaded = Self(.overloaded)
    /// There is no space for the change; nothing of it was kept.
    public static let diskFull = Self(.diskFull)
    /// The file could not be read, written or synced. The change was not acknowledged, but may be found applied as a
    /// whole after a power loss. Repeat it with its request id.
    public static let unavailable = Self(.unavailable)
    /// The file is damaged or not a database.
    public static let corrupt = Self(.corrupt)
    /// The file is a database of another application.
    public static let foreignFile = Self(.foreignFile)
    /// Another process owns the file.
    public static let inUse = Self(.inUse)
    /// Another connection held a lock for longer than the configured wait.
    public static let busy = Self(.busy)
    /// The schema in the file and the program's migrations do not match.
    public static let migration = Self(.migration)
    /// The store was closed.
    public static let closed = Self(.closed)
    /// The statement ran longer than allowed and was stopped.
    public static let interrupted = Self(.interrupted)
    /// The request id was used before for a different request.
    public static let requestIDReused = Self(.requestIDReused)
    /// The target exists and is not overwritten.
    public static let alreadyExists = Self(.alreadyExists)
  }

  public var code: Code
  /// A description without any values of rows.
  public var message: String
  /// The affected database: a file, or a server's address without its password.
  public var path: String?
  /// The code of the database engine, if it reported the failure: SQLite's extended result code, or an SQLSTATE.
  public var engineCode: String?

  public init(_ code: Code, _ message: String, path: String? = nil, engineCode: String? = nil) {
    self.code = code
    self.message = message
    self.path = path
    self.engineCode = engineCode
  }

  /// Converts any error to a store error, so that opening, committing and backing up throw no other type.
  package static func from(_ error: any Error, path: String?) -> StoreError {
    error as? StoreError ?? sqlite(error, path: path) ?? StoreError(.unavailable, String(describing: error), path: path)
  }

  /// Whether the connection that reported the error must not be used for another commit. Its cache, its lock state or
  /// the kernel's view of the file may differ from the disk; for example, a failed fsync drops dirty pages.
  var discredits: Bool {
    // Bodies may throw store errors of their own; only errors of the engine concern the connection.
    guard engineCode != nil else { return false }
    switch code {
    case .diskFull, .unavailable, .corrupt: return true
    default: return false
    }
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String {
    let place = path.map { " (\($0))" } ?? ""
    return "\(code): \(message)\(place)"
  }
}
