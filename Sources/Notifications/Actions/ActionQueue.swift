import CampanileService

/// Limits of concurrent and of waiting requests.
struct ActionQueueLimits: Sendable, Hashable {
  /// Concurrent requests in total.
  var inFlightMax = 64
  /// Concurrent requests of one user.
  var inFlightPerUserMax = 8
  /// Concurrent requests to one host, that of the original URL regardless of redirects.
  var inFlightPerHostMax = 16
  /// Waiting requests. Above: `SENDER_BUSY`.
  var waiting = SharedLimit(total: 1_024, perUser: 64)
  /// Time limit for waiting. After it: `SENDER_BUSY`.
  var waitMaxMs: Int64 = 15_000
}

/// Decides which requests are sent now and which wait.
///
/// Users and hosts have limits of their own, so slow receivers of one user only block requests of that user. Users with
/// waiting requests take turns; the requests of one user are sent in their order of arrival.
struct ActionQueue: Sendable {
  /// A sent or waiting request.
  struct Entry: Sendable, Hashable {
    var id: Int
    var user: String
    var host: String
  }

  enum Admission: Sendable, Hashable {
    case sent
    case waits
    /// Too many requests are waiting.
    case refused
  }

  private let limits: ActionQueueLimits
  private var lastID = 0
  private var sent: [Int: Entry] = [:]
  private var sentOfUser: [String: Int] = [:]
  private var sentToHost: [String: Int] = [:]
  /// By user, in order of arrival.
  private var waiting: [String: [Entry]] = [:]
  private(set) var waitingCount = 0
  /// The users of `waiting`; the first has the next turn.
  private var turns: [String] = []

  init(_ limits: ActionQueueLimits) { self.limits = limits }

  var sentCount: Int { sent.count }

  /// Adds a request. Call `leave` for each sent request.
  mutating func enter(user: String, host: String) -> (entry: Entry, admission: Admission) {
    lastID += 1
    let entry = Entry(id: lastID, user: user, host: host)
    // A waiting request cannot take this slot, because it would already have been sent.
    if sent.count < limits.inFlightMax, hasSlot(entry) {
      send(entry)
      return (entry, .sent)
    }
    let own = waiting[user] ?? []
    guard limits.waiting.refusal(held: own.count, taken: waitingCount) == nil else { return (entry, .refused) }
    if own.isEmpty { turns.append(user) }
    waiting[user] = own + [entry]
    waitingCount += 1
    return (entry, .waits)
  }

  /// Removes a sent request. Returns the requests to send in its place.
  mutating func leave(_ entry: Entry) -> [Entry] {
    guard sent.removeValue(forKey: entry.id) != nil else { return [] }
    Self.decrement(&sentOfUser, entry.user)
    Self.decrement(&sentToHost, entry.host)
    var next: [Entry] = []
    while sent.count < limits.inFlightMax, let entry = takeNext() {
      send(entry)
      next.append(entry)
    }
    return next
  }

  /// Removes a waiting request. Ignores one that was sent.
  mutating func giveUp(_ entry: Entry) {
    guard let index = waiting[entry.user]?.firstIndex(of: entry) else { return }
    waiting[entry.user]?.remove(at: index)
    waitingCount -= 1
    guard waiting[entry.user]?.isEmpty == true else { return }
    waiting[entry.user] = nil
    turns.removeAll { $0 == entry.user }
  }

  func isWaiting(_ entry: Entry) -> Bool { waiting[entry.user]?.contains(entry) ?? false }

  func isSent(_ entry: Entry) -> Bool { sent[entry.id] != nil }

  private func hasSlot(_ entry: Entry) -> Bool {
    sentOfUser[entry.user, default: 0] < limits.inFlightPerUserMax
      && sentToHost[entry.host, default: 0] < limits.inFlightPerHostMax
  }

  private mutating func send(_ entry: Entry) {
    sent[entry.id] = entry
    sentOfUser[entry.user, default: 0] += 1
    sentToHost[entry.host, default: 0] += 1
  }

  /// Takes the first request within the limits, of the first user with such a request, and moves that user to the end
  /// of the turns.
  private mutating func takeNext() -> Entry? {
    for (turn, user) in turns.enumerated() {
      guard let entry = waiting[user]?.first(where: hasSlot) else { continue }
      turns.remove(at: turn)
      turns.append(user)
      giveUp(entry)
      return entry
    }
    return nil
  }

  private static func decrement(_ counts: inout [String: Int], _ key: String) {
    guard let count = counts[key] else { return }
    counts[key] = count > 1 ? count - 1 : nil
  }
}
