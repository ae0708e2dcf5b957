/// The grammar of RFC 8259 between tokens, as a state table: the tokens allowed next and the state that follows.
enum Grammar {
  /// The states, named after the token expected next. The raw values index the table and are stored in saved states.
  enum Expecting {
    static let topValue: UInt8 = 0
    static let firstElement: UInt8 = 1
    static let element: UInt8 = 2
    static let firstName: UInt8 = 3
    static let name: UInt8 = 4
    static let colon: UInt8 = 5
    static let memberValue: UInt8 = 6
    static let elementEnd: UInt8 = 7
    static let memberEnd: UInt8 = 8
    static let nothing: UInt8 = 9
    static let last: UInt8 = 9
  }

  /// The classes of a token's first byte.
  enum Class {
    static let openObject: UInt8 = 0
    static let openArray: UInt8 = 1
    static let closeObject: UInt8 = 2
    static let closeArray: UInt8 = 3
    static let colon: UInt8 = 4
    static let comma: UInt8 = 5
    static let quote: UInt8 = 6
    static let scalar: UInt8 = 7
    static let invalid: UInt8 = 8
  }

  /// The action for a token, in the high half of a table entry. The low half is the next state.
  enum Action {
    static let none: UInt8 = 0x00
    static let name: UInt8 = 0x10
    static let string: UInt8 = 0x20
    static let scalar: UInt8 = 0x30
    static let openObject: UInt8 = 0x40
    static let openArray: UInt8 = 0x50
    static let close: UInt8 = 0x60
    static let error: UInt8 = 0x70
    static let mask: UInt8 = 0xF0
  }

  /// 256 classes indexed by byte, then 16 entries per state indexed by class. Allocated once and never freed or
  /// changed.
  struct Tables: @unchecked Sendable {
    // Safe to share: nothing writes after `init`, and the memory lives as long as the process.
    let base: UnsafePointer<UInt8>

    init() {
      let memory = UnsafeMutablePointer<UInt8>.allocate(capacity: 512)
      memory.initialize(repeating: Class.invalid, count: 256)
      (memory + 256).initialize(repeating: Action.error, count: 256)
      for (character, value) in zip("{[}]:,\"".utf8, [UInt8](0...6)) { memory[Int(character)] = value }
      for character in "-0123456789tfn".utf8 { memory[Int(character)] = Class.scalar }
      for (state, kind, entry) in Grammar.rules { memory[256 + Int(state) * 16 + Int(kind)] = entry }
      base = UnsafePointer(memory)
    }

    @inline(__always)
    func kind(of byte: UInt8) -> UInt8 { base[Int(byte)] }

    @inline(__always)
    func entry(_ state: UInt8, _ kind: UInt8) -> UInt8 { base[256 &+ (Int(state) &<< 4) &+ Int(kind)] }
  }

  static let tables = Tables()

  private static var rules: [(UInt8, UInt8, UInt8)] {
    var rules: [(UInt8, UInt8, UInt8)] = [
      (Expecting.firstElement, Class.closeArray, Action.close),
      (Expecting.elementEnd, Class.closeArray, Action.close),
      (Expecting.elementEnd, Class.comma, Expecting.element),
      (Expecting.firstName, Class.closeObject, Action.close),
      (Expecting.memberEnd, Class.closeObject, Action.close),
      (Expecting.memberEnd, Class.comma, Expecting.name),
      (Expecting.firstName, Class.quote, Action.name | Expecting.colon),
      (Expecting.name, Class.quote, Action.name | Expecting.colon),
      (Expecting.colon, Class.colon, Expecting.memberValue),
    ]
    for (state, next) in [
      (Expecting.topValue, Expecting.nothing), (Expecting.firstElement, Expecting.elementEnd),
      (Expecting.element, Expecting.elementEnd), (Expecting.memberValue, Expecting.memberEnd),
    ] {
      rules.append((state, Class.quote, Action.string | next))
      rules.append((state, Class.scalar, Action.scalar | next))
      rules.append((state, Class.openObject, Action.openObject | Expecting.firstName))
      rules.append((state, Class.openArray, Action.openArray | Expecting.firstElement))
    }
    return rules
  }

  /// Describes the token expected in `state`, for error messages.
  static func expectation(_ state: UInt8) -> String {
    switch state {
    case Expecting.firstElement: "a value or ']'"
    case Expecting.firstName: "a name in quotes or '}'"
    case Expecting.name: "a name in quotes"
    case Expecting.colon: "':'"
    case Expecting.elementEnd: "',' or ']'"
    case Expecting.memberEnd: "',' or '}'"
    case Expecting.nothing: "the end of the text"
    default: "a value"
    }
  }
}
