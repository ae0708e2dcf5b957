/// A slot for a waiting or running derivation.
struct PinSlot: Sendable, Hashable {
  /// The holder that the slot counts for: an address group, a known member, or the caller of an administrative method.
  var holder: String
  /// Whether the slot is reserved for known members: those with a device token, a session, or an earlier login from
  /// the same address.
  var isReserved: Bool
}

/// Counts the occupied slots. Strangers and known members have separate slots, each with a limit per holder. One
/// address group can therefore occupy neither all slots of strangers nor any slot of a known member.
struct PinSlots: Sendable {
  var ordinaryMax = 32
  var reservedMax = 16
  var perHolderMax = 8
  /// The limit for a known member, who logs in on few devices at once.
  var perMemberMax = 2

  /// At most `ordinaryMax` + `reservedMax` entries.
  private var taken: [PinSlot: Int] = [:]
  private var ordinary = 0
  private var reserved = 0

  init() {}

  /// Occupies a slot. Returns false if none is free.
  mutating func take(_ slot: PinSlot) -> Bool {
    let hasRoom = slot.isReserved ? reserved < reservedMax : ordinary < ordinaryMax
    let share = slot.isReserved ? perMemberMax : perHolderMax
    guard hasRoom, taken[slot, default: 0] < share else { return false }
    taken[slot, default: 0] += 1
    if slot.isReserved { reserved += 1 } else { ordinary += 1 }
    return true
  }

  /// Releases a slot. Call exactly once for each occupied slot.
  mutating func release(_ slot: PinSlot) {
    guard let count = taken[slot] else { return }
    taken[slot] = count > 1 ? count - 1 : nil
    if slot.isReserved { reserved -= 1 } else { ordinary -= 1 }
  }
}
