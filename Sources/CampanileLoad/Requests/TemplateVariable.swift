import CampanileBase
internal import CampanileJSON
internal import CampanileRPC

/// A variable between `{{` and `}}` of a request template.
enum TemplateVariable: Sendable, Hashable {
  /// 0, 1, 2 …; each number occurs once in a run.
  case sequence
  /// A random whole number in the range.
  case random(ClosedRange<Int64>)
  /// A random version 4 UUID (RFC 9562).
  case uuid
  /// The time of the call in UTC with milliseconds (RFC 3339).
  case now
  /// The time of the call in milliseconds since 1970.
  case nowMs
  /// A field of the last reply to the same worker, one of the `concurrency` sources of calls.
  ///
  /// Without a reply, or if the reply lacks the field, the value is `fallback`.
  case reply(JSONPointer, fallback: String?)

  static let forms = "sequence, random LOW HIGH, uuid, now, nowMs, reply /FIELD [else VALUE]"

  /// Parses a variable in one of `forms`.
  ///
  /// - Throws: `LOAD_REQUEST_INVALID` for any other text.
  init(_ text: String, field: String) throws(LoadError) {
    let words = text.split(separator: " ", omittingEmptySubsequences: true)
    switch (words.first, words.count) {
    case ("sequence", 1): self = .sequence
    case ("uuid", 1): self = .uuid
    case ("now", 1): self = .now
    case ("nowMs", 1): self = .nowMs
    case ("random", 3):
      guard let low = Int64(words[1]), let high = Int64(words[2]), low <= high else {
        throw LoadError(
          .requestInvalid, field: field, reason: "{{\(text)}}: random takes two whole numbers, the lower one first")
      }
      self = .random(low...high)
    case ("reply", let count) where count == 2 || (count == 4 && words[2] == "else"):
      do throws(JSONPointerError) {
        self = .reply(try JSONPointer(String(words[1])), fallback: words.count == 4 ? String(words[3]) : nil)
      } catch {
        throw LoadError(.requestInvalid, field: field, reason: "{{\(text)}}: \(error.reason)")
      }
    default:
      throw LoadError(.requestInvalid, field: field, reason: "{{\(text)}} is none of: \(Self.forms)")
    }
  }
}

/// The state from which variables are substituted.
struct TemplateState {
  var random: SplitMix64
  var sequence: UInt64
  /// Difference between two numbers of the same event loop: the number of loops.
  var sequenceStep: UInt64
  /// Milliseconds since 1970.
  var nowMs: () -> Int64

  mutating func nextSequence() -> UInt64 {
    defer { sequence &+= sequenceStep }
    return sequence
  }
}
