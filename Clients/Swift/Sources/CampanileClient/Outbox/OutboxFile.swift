import CampanileBase

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#else
  import Darwin
#endif

/// The append-only file of an outbox. Several processes may use one file: each access holds `PATH.lock`.
///
/// A record counts once it is complete and synchronized. A process that is killed while it writes leaves a part of a
/// record, which the next access cuts. The file is rewritten once most of it is obsolete.
struct OutboxFile {
  private static let magic: [UInt8] = Array("CMPOBX01".utf8)
  static let compactionBytesMin = 64 * 1024

  let path: String
  private(set) var journal = OutboxJournal()
  private var descriptor: Int32 = -1
  private var inode: UInt64 = 0
  /// The end of the last complete record.
  private var endBytes = 0

  init(path: String) { self.path = path }

  /// Closes the file. The next access opens it again.
  mutating func close() {
    if descriptor >= 0 { closeDescriptor(descriptor) }
    (descriptor, inode, endBytes, journal) = (-1, 0, 0, OutboxJournal())
  }

  /// Returns a result of the current journal.
  mutating func read<Result>(_ body: (OutboxJournal) -> Result) throws(RPCError) -> Result {
    let lock = try FileLock.wait(path + ".lock")
    defer { withExtendedLifetime(lock) {} }
    try refresh()
    return body(journal)
  }

  /// Appends the records that `body` returns for the current journal. They are durable when the function returns.
  mutating func append(_ body: (OutboxJournal) throws(RPCError) -> [OutboxRecord]) throws(RPCError) {
    let lock = try FileLock.wait(path + ".lock")
    defer { withExtendedLifetime(lock) {} }
    try refresh()
    let records = try body(journal)
    if !records.isEmpty { try store(records) }
  }
}

// MARK: - With the lock

extension OutboxFile {
  private mutating func store(_ records: [OutboxRecord]) throws(RPCError) {
    let bytes = records.flatMap(\.bytes)
    do throws(RPCError) {
      try Self.write(bytes, to: descriptor, at: endBytes)
      guard fsync(descriptor) == 0 else { throw FileFailure.system("cannot write \(path)") }
    } catch {
      // The file must not keep what the caller believes to have failed.
      ftruncate(descriptor, off_t(endBytes))
      throw error
    }
    endBytes += bytes.count
    for record in records { journal.apply(record) }
    if endBytes >= Self.compactionBytesMin, endBytes > 2 * journal.sizeBytes { try compact() }
  }

  /// Reads what other processes have appended, and cuts an incomplete record.
  private mutating func refresh() throws(RPCError) {
    var status = stat()
    let isThere = stat(path, &status) == 0
    if descriptor >= 0, !isThere || UInt64(status.st_ino) != inode { close() }
    if descriptor < 0 { try open() }
    guard fstat(descriptor, &status) == 0 else { throw FileFailure.system("cannot read \(path)") }
    let sizeBytes = Int(status.st_size)
    // Only this type shortens the file, and never below a complete record.
    if sizeBytes < endBytes { throw Self.foreign(path) }
    if sizeBytes > endBytes { try replay(sizeBytes) }
  }

  private mutating func open() throws(RPCError) {
    descriptor = openFile(path)
    guard descriptor >= 0 else { throw FileFailure.system("cannot open \(path)") }
    var status = stat()
    guard fstat(descriptor, &status) == 0 else { throw FileFailure.system("cannot read \(path)") }
    inode = UInt64(status.st_ino)
    let start = try Self.read(descriptor, 0..<min(Int(status.st_size), Self.magic.count))
    guard Self.magic.starts(with: start) else {
      close()
      throw Self.foreign(path)
    }
    if start.count < Self.magic.count {
      guard ftruncate(descriptor, 0) == 0 else { throw FileFailure.system("cannot write \(path)") }
      try Self.write(Self.magic, to: descriptor, at: 0)
    }
    endBytes = Self.magic.count
  }

  private mutating func replay(_ sizeBytes: Int) throws(RPCError) {
    let bytes = try Self.read(descriptor, endBytes..<sizeBytes)
    var rest = bytes[...]
    while let (record, count) = OutboxRecord.read(rest) {
      journal.apply(record)
      rest = rest.dropFirst(count)
    }
    endBytes = sizeBytes - rest.count
    guard rest.isEmpty || ftruncate(descriptor, off_t(endBytes)) == 0 else {
      throw FileFailure.system("cannot write \(path)")
    }
  }

  /// Replaces the file by one with the current entries only.
  private mutating func compact() throws(RPCError) {
    let temporary = path + ".new"
    let copy = openFile(temporary)
    guard copy >= 0 else { return }
    defer { closeDescriptor(copy) }
    // The longer file remains valid after a failure.
    guard ftruncate(copy, 0) == 0,
      (try? Self.write(Self.magic + journal.records.flatMap(\.bytes), to: copy, at: 0)) != nil,
      fsync(copy) == 0, rename(temporary, path) == 0
    else { return }
    synchronizeFolder(of: path)
    close()
    try refresh()
  }

  private static func foreign(_ path: String) -> RPCError {
    RPCError(
      .failedPrecondition, "\(path) is not an outbox; remove it or choose another path", reason: "OUTBOX_INVALID",
      processed: false)
  }

  private static func write(_ bytes: [UInt8], to descriptor: Int32, at offset: Int) throws(RPCError) {
    var done = 0
    while done < bytes.count {
      let count = bytes[done...].withUnsafeBytes {
        pwrite(descriptor, $0.baseAddress, $0.count, off_t(offset + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw FileFailure.system("cannot write the outbox") }
      done += count
    }
  }

  private static func read(_ descriptor: Int32, _ range: Range<Int>) throws(RPCError) -> [UInt8] {
    var bytes = [UInt8](repeating: 0, count: range.count)
    var done = 0
    while done < bytes.count {
      let count = bytes.withUnsafeMutableBytes {
        pread(descriptor, $0.baseAddress?.advanced(by: done), $0.count - done, off_t(range.lowerBound + done))
      }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw FileFailure.system("cannot read the outbox") }
      done += count
    }
    return bytes
  }
}

/// The C library's `close`, whose name a method hides.
private func closeDescriptor(_ descriptor: Int32) { _ = close(descriptor) }

/// Makes a renamed file durable.
private func synchronizeFolder(of path: String) {
  let folder = path.contains("/") ? String(path[...(path.lastIndex(of: "/") ?? path.startIndex)]) : "."
  let descriptor = open(folder, O_RDONLY | O_CLOEXEC)
  guard descriptor >= 0 else { return }
  fsync(descriptor)
  closeDescriptor(descriptor)
}

/// The C library's `open`, whose name a method hides.
private func openFile(_ path: String) -> Int32 { open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600) }
