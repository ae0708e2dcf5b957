/// Passes credit from the receiver of a stream to its sender, so that what waits between them is bounded.
///
/// The sender is never granted more than the receiver has granted, and at most `window` messages beyond what has arrived. Small
/// grants are gathered, since each is a frame.
struct CreditRelay {
  /// The most messages that the sender may be ahead, whatever the receiver grants.
  static let window = 64
  private static let grantMin = 16

  /// What the sender may still send. Both sides start with the wire's 32.
  private(set) var outstanding: Int

  init(initial: Int) { outstanding = initial }

  /// A message arrived. False when none was granted, which is the sender's fault.
  mutating func received() -> Bool {
    guard outstanding > 0 else { return false }
    outstanding -= 1
    return true
  }

  /// How much to grant the sender now, 0 for nothing, when the receiver takes `available` more than what waits here.
  mutating func grant(available: Int) -> Int {
    let messages = min(available, Self.window) - outstanding
    guard messages >= Self.grantMin || messages > 0 && outstanding < Self.grantMin else { return 0 }
    outstanding += messages
    return messages
  }
}
