import CPostgreSQL
import CampanileStore

extension Session {
  /// libpq's explanation of the last failure.
  var message: String { PQerrorMessage(handle).map { String(cString: $0) } ?? "" }

  /// Marks the session as lost.
  @discardableResult
  func end(_ reason: String, engineCode: String? = nil) -> StoreError {
    let line = reason.split(whereSeparator: \.isNewline).first.map(String.init) ?? "no reason given"
    return end(
      with: StoreError(
        .unavailable, "the connection to the server was lost: \(line)", path: place, engineCode: engineCode ?? "08006"))
  }

  /// Marks the session as unusable because of an error. The first one counts.
  func end(with error: StoreError) -> StoreError {
    if let lost { return lost }
    // Results that arrived before the end still count: a COMMIT may be among them.
    if !isTakingLast {
      isTakingLast = true
      takeAvailable()
    }
    if lost == nil { lost = error }
    return lost ?? error
  }

  /// Marks the session as lost because the server was silent.
  func endSilently() -> StoreError {
    isSilent = true
    return end("no answer within \(silenceMsMax) ms", engineCode: "08006")
  }
}
