/// A connection's open calls by their increasing ids.
///
/// The table is direct-mapped: a call's slot is its id modulo the table's size. An id whose slot a long-running call
/// still occupies is skipped. Ids therefore stay in the order of the frames, which tells the written calls from the
/// others, and nothing is hashed.
struct CallTable<Call> {
  struct Slot {
    var id: UInt64 = 0
    var call: Call?
    /// The client's credit.
    var sendCredit = StreamCredit.zero
    /// The server's credit.
    var receiveCredit = StreamCredit.zero
  }

  private var slots = [Slot](repeating: Slot(), count: 64)
  private(set) var count = 0
  /// The most recently assigned id, 0 before the first.
  private(set) var lastID: UInt64 = 0

  /// Inserts a call and returns its id.
  mutating func insert(_ call: Call, sendCredit: StreamCredit, receiveCredit: StreamCredit) -> UInt64 {
    // At most half full, so that a free slot is near. 2^53 ids last for centuries.
    if count * 2 >= slots.count { grow() }
    var id = lastID + 1
    while slots[place(id)].call != nil { id += 1 }
    slots[place(id)] = Slot(id: id, call: call, sendCredit: sendCredit, receiveCredit: receiveCredit)
    lastID = id
    count += 1
    return id
  }

  mutating func remove(_ id: UInt64) -> Call? {
    let place = place(id)
    guard slots[place].id == id, let call = slots[place].call else { return nil }
    slots[place].call = nil
    count -= 1
    return call
  }

  /// Changes the slot of a call; returns `nil` if the call is not open.
  mutating func withSlot<R>(_ id: UInt64, _ body: (inout Slot, Call) -> R) -> R? {
    let place = place(id)
    guard slots[place].id == id, let call = slots[place].call else { return nil }
    return body(&slots[place], call)
  }

  func sendCredit(_ id: UInt64) -> StreamCredit { isOpen(id) ? slots[place(id)].sendCredit : .zero }
  func receiveCredit(_ id: UInt64) -> StreamCredit { isOpen(id) ? slots[place(id)].receiveCredit : .zero }

  private func isOpen(_ id: UInt64) -> Bool { slots[place(id)].id == id && slots[place(id)].call != nil }

  /// Every open call with its id, in ascending order of id.
  var all: [(id: UInt64, call: Call)] {
    slots.compactMap { slot in slot.call.map { (slot.id, $0) } }.sorted { $0.id < $1.id }
  }

  private func place(_ id: UInt64) -> Int { Int(truncatingIfNeeded: id) & (slots.count - 1) }

  private mutating func grow() {
    // Ids that differ modulo n also differ modulo 2n, so nothing collides.
    let former = slots
    slots = [Slot](repeating: Slot(), count: former.count * 2)
    for slot in former where slot.call != nil { slots[place(slot.id)] = slot }
  }
}
