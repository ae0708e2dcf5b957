extension Duration {
  /// The duration in milliseconds, rounded up, so that a positive duration is never 0. Clamped to the range of `Int64`.
  package var wholeMilliseconds: Int64 {
    let (seconds, attoseconds) = components
    let (ms, overflow) = seconds.multipliedReportingOverflow(by: 1_000)
    guard !overflow else { return seconds < 0 ? .min : .max }
    let rest =
      attoseconds > 0
      ? (attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000 : attoseconds / 1_000_000_000_000_000
    let (sum, sumOverflow) = ms.addingReportingOverflow(rest)
    return sumOverflow ? .max : sum
  }
}
