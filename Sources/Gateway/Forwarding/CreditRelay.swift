/// Passes credit from the receiver of a stream to its sender, which bounds the messages buffered between them.
///
/// The sender never has more credit than the receiver has granted, and at most `window` messages. Small grants are
/// combined, because each is a frame.
struct CreditRelay {
  /// Maximum credit of the sender, whatever the receiver grants.
  static let window = 64
  private static let grantMin = 16

  /// The sender's remaining credit. Both sides start with the wire's 32.
  private(set) var outstanding: Int

  init(initial: Int) { outstanding = initial }

  /// Records the arrival of a message. Returns false if the sender had no credit, which is a protocol violation.
  mutating func received() -> Bool {
    guard outstanding > 0 else { return false }
    outstanding -= 1
    return true
  }

  /// Returns the credit to grant the sender now; 0 for none.
  ///
  /// - Parameter available: The receiver's credit beyond the messages that wait here.
  mutating func grant(available: Int) -> Int {
    let messages = min(available, Self.window) - outstanding
    guard messages >= Self.grantMin || messages > 0 && outstanding < Self.grantMin else { return 0 }
    outstanding += messages
    return messages
  }
}
