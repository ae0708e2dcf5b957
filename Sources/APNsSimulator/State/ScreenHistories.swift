import DequeModule

/// A state that a screen displayed.
struct ShownState: Sendable, Hashable {
  /// Ascends by 1 with each state of a screen, from 1.
  var number: Int64
  var shownAtMs: Int64
  /// The id of the push.
  var id: String
  var priority: Int
  /// Nil for an alert outside a Live Activity.
  var isLive: Bool
  var payload: [UInt8]
  /// The content-state that an end without one keeps.
  var keptContentState: String?

  var sizeBytes: Int { payload.count + (keptContentState?.utf8.count ?? 0) + 128 }
}

/// The last states of all screens, with a limit of each screen and of all together. Beyond the latter the oldest states
/// are removed, of whatever screen.
struct ScreenHistories: Sendable {
  private struct Place: Sendable {
    var key: String
    var number: Int64
  }

  private let countMax: Int
  private let bytesMax: Int
  private var states: [String: Deque<ShownState>] = [:]
  /// The states of all screens, oldest first. Those that are no longer retained are skipped.
  private var order: Deque<Place> = []
  private var count = 0
  private(set) var bytes = 0
  /// The number of places of states, including those that are no longer retained.
  var placeCount: Int { order.count }

  /// - Parameters:
  ///   - countMax: States of a screen.
  ///   - bytesMax: Bytes of all states.
  init(countMax: Int, bytesMax: Int) {
    self.countMax = max(1, countMax)
    self.bytesMax = bytesMax
  }

  /// Returns the retained states of a screen, oldest first.
  func states(_ key: String) -> [ShownState] { states[key].map(Array.init) ?? [] }

  func newest(_ key: String) -> ShownState? { states[key]?.last }

  mutating func append(_ state: ShownState, _ key: String) {
    if let held = states[key]?.count, held >= countMax { removeFirst(key) }
    states[key, default: []].append(state)
    order.append(Place(key: key, number: state.number))
    count += 1
    bytes += state.sizeBytes
    while bytes > bytesMax, let oldest = order.popFirst() {
      if states[oldest.key]?.first?.number == oldest.number { removeFirst(oldest.key) }
    }
    // Removed states leave their places behind, at most as many as there are states.
    if order.count > 2 * count + 1_024 {
      order.removeAll { place in states[place.key]?.first.map { place.number < $0.number } ?? true }
    }
  }

  private mutating func removeFirst(_ key: String) {
    guard let removed = states[key]?.popFirst() else { return }
    bytes -= removed.sizeBytes
    count -= 1
    if states[key]?.isEmpty == true { states[key] = nil }
  }

  mutating func remove(_ key: String) {
    guard let removed = states.removeValue(forKey: key) else { return }
    bytes -= removed.reduce(0) { $0 + $1.sizeBytes }
    count -= removed.count
    // The numbers of a later screen with this key begin again at 1, so that its states would keep these places.
    order.removeAll { $0.key == key }
  }

  mutating func removeAll() {
    (states, order) = ([:], [])
    (count, bytes) = (0, 0)
  }
}
