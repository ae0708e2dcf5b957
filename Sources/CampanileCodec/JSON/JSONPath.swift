/// Finds the field path of a position in a JSON text.
enum JSONPath {
  /// An enclosing container: an object with its latest key, or an array with the index of the current element.
  private enum Frame {
    case object(key: String?)
    case array(index: Int)
  }

  private static let keyBytesMax = 64
  private static let pathBytesMax = 512

  /// Returns the path of the value or key at `offset`. Works for any `text`, even if it is not valid JSON.
  ///
  /// A key that is not an identifier is written `["key"]`; long keys and paths are truncated and end in `…`.
  static func path(at offset: Int, in text: UnsafeRawBufferPointer) -> String {
    let end = min(max(offset, 0), text.count)
    var frames: [Frame] = []
    var index = 0
    // The byte at `offset` itself counts if it opens a key, because errors about a key point at its quote.
    while index < text.count, index <= end {
      let byte = text[index]
      if byte == UInt8(ascii: "\""), case .object(nil) = frames.last {
        let (key, next) = string(at: index, in: text)
        frames[frames.count - 1] = .object(key: key)
        index = next
        continue
      }
      guard index < end else { break }
      switch byte {
      case UInt8(ascii: "{"): frames.append(.object(key: nil))
      case UInt8(ascii: "["): frames.append(.array(index: 0))
      case UInt8(ascii: "}"), UInt8(ascii: "]"): _ = frames.popLast()
      case UInt8(ascii: ","): advance(&frames)
      case UInt8(ascii: "\""):
        index = string(at: index, in: text).next
        continue
      default: break
      }
      index += 1
    }
    return render(frames)
  }

  private static func advance(_ frames: inout [Frame]) {
    switch frames.popLast() {
    case .object: frames.append(.object(key: nil))
    case .array(let index): frames.append(.array(index: index + 1))
    case nil: break
    }
  }

  /// Returns the string that opens at `start`, without quotes and with escapes unresolved, and the index after it.
  private static func string(at start: Int, in text: UnsafeRawBufferPointer) -> (value: String, next: Int) {
    var index = start + 1
    while index < text.count, text[index] != UInt8(ascii: "\"") {
      index += text[index] == UInt8(ascii: "\\") ? 2 : 1
    }
    let stop = min(index, text.count)
    let cut = min(stop, start + 1 + keyBytesMax)
    let value = String(decoding: UnsafeRawBufferPointer(rebasing: text[(start + 1)..<cut]), as: UTF8.self)
    return (cut < stop ? value + "…" : value, min(stop + 1, text.count))
  }

  private static func render(_ frames: [Frame]) -> String {
    var path = ""
    for frame in frames {
      guard path.utf8.count < pathBytesMax else { return path + "…" }
      switch frame {
      case .object(nil): break
      case .object(let key?):
        if !isIdentifier(key) {
          path += "[\"\(key)\"]"
        } else {
          path += path.isEmpty ? key : ".\(key)"
        }
      case .array(let index): path += "[\(index)]"
      }
    }
    return path
  }

  private static func isIdentifier(_ key: String) -> Bool {
    guard let first = key.utf8.first, !(48...57).contains(first) else { return false }
    return key.utf8.allSatisfy { byte in
      byte == UInt8(ascii: "_") || (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
    }
  }
}
