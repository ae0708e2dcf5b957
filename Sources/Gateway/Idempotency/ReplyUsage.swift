/// Counts items and their bytes, per principal and in total. Performs no I/O.
struct ReplyUsage: Sendable {
  struct Amount: Sendable, Hashable {
    var count = 0
    var sizeBytes = 0

    static func + (a: Self, b: Self) -> Self { Self(count: a.count + b.count, sizeBytes: a.sizeBytes + b.sizeBytes) }
    static prefix func - (a: Self) -> Self { Self(count: -a.count, sizeBytes: -a.sizeBytes) }

    func fits(count countMax: Int, sizeBytes sizeBytesMax: Int) -> Bool {
      count <= countMax && sizeBytes <= sizeBytesMax
    }
  }

  private(set) var total = Amount()
  private var byPrincipal: [String: Amount] = [:]

  /// Returns the principals that exceed these limits.
  func principals(beyond countMax: Int, sizeBytes sizeBytesMax: Int) -> [String] {
    byPrincipal.filter { !$0.value.fits(count: countMax, sizeBytes: sizeBytesMax) }.map(\.key)
  }

  subscript(principal: String) -> Amount { byPrincipal[principal] ?? Amount() }

  /// Adds an amount, which may be negative. Principals without items are removed.
  mutating func add(_ amount: Amount, of principal: String) {
    total = total + amount
    let sum = self[principal] + amount
    byPrincipal[principal] = sum.count > 0 ? sum : nil
  }
}
