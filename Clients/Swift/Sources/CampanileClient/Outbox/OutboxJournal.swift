import CampanileBase

/// The entries and refusals that the records of a file leave. No I/O.
struct OutboxJournal {
  private var entriesByID: [UInt64: OutboxEntry] = [:]
  /// The ids of the entries of each object, ascending.
  private var queues: [String: [UInt64]] = [:]
  private(set) var refusals: [OutboxRefusal] = []
  private(set) var nextID: UInt64 = 1
  /// The size of entries and refusals.
  private(set) var sizeBytes = 0

  /// The entries in the order of their ids.
  var entries: [OutboxEntry] { entriesByID.values.sorted { $0.id < $1.id } }
  /// The first entry of each object, in the order of their ids.
  var heads: [OutboxEntry] {
    queues.values.compactMap { $0.first.flatMap { entriesByID[$0] } }.sorted { $0.id < $1.id }
  }
  var count: Int { entriesByID.count + refusals.count }

  func contains(_ id: UInt64) -> Bool { entriesByID[id] != nil }

  /// Applies a record. Records about unknown entries have no effect.
  mutating func apply(_ record: OutboxRecord) {
    switch record {
    case .added(let entry):
      guard entriesByID.updateValue(entry, forKey: entry.id) == nil else { return }
      queues[entry.object, default: []].append(entry.id)
      sizeBytes += entry.sizeBytes
      nextID = max(nextID, entry.id &+ 1)
    case .sent(let id): take(id)
    case .refused(let id, let error):
      guard let entry = take(id) else { return }
      refusals.append(OutboxRefusal(entry: entry, error: error))
      sizeBytes += refusals.last?.sizeBytes ?? 0
    case .removed(let id):
      take(id)
      guard let index = refusals.firstIndex(where: { $0.id == id }) else { return }
      sizeBytes -= refusals.remove(at: index).sizeBytes
    case .nextID(let id): nextID = max(nextID, id)
    case .unknown: break
    }
  }

  @discardableResult
  private mutating func take(_ id: UInt64) -> OutboxEntry? {
    guard let entry = entriesByID.removeValue(forKey: id) else { return nil }
    // The first entry is sent first, so the search is short.
    if let index = queues[entry.object]?.firstIndex(of: id) { queues[entry.object]?.remove(at: index) }
    if queues[entry.object]?.isEmpty == true { queues[entry.object] = nil }
    sizeBytes -= entry.sizeBytes
    return entry
  }

  /// Returns the error of a file that cannot take another entry; `nil` if it can.
  func refusal(of entry: OutboxEntry, _ limits: OutboxLimits) -> RPCError? {
    let sizeBytesMax = min(limits.sizeBytesMax, OutboxRecord.payloadBytes.upperBound)
    guard count >= limits.entriesMax || sizeBytes + entry.sizeBytes > sizeBytesMax else { return nil }
    return RPCError(
      .resourceExhausted, "the outbox is full; send or remove entries first", reason: "OUTBOX_FULL", processed: false)
  }

  /// The shortest records with the same result.
  var records: [OutboxRecord] {
    [.nextID(nextID)] + refusals.flatMap { [.added($0.entry), .refused($0.id, $0.error)] } + entries.map { .added($0) }
  }
}
