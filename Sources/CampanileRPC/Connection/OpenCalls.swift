/// A connection's open calls by their ids. Numeric ids, the common case, are hashed directly rather than as an enum.
struct OpenCalls<Call> {
  private var numbered: [UInt64: Call] = [:]
  private var named: [String: Call] = [:]

  var isEmpty: Bool { numbered.isEmpty && named.isEmpty }
  var count: Int { numbered.count + named.count }
  /// All open calls in order of their ids, so that runs are reproducible.
  var all: [Call] {
    numbered.sorted { $0.key < $1.key }.map(\.value) + named.sorted { $0.key < $1.key }.map(\.value)
  }

  subscript(id: CallID) -> Call? {
    switch id {
    case .number(let number): numbered[number]
    case .string(let text): named[text]
    }
  }

  /// Inserts a call. Returns false, and changes nothing, if the id is in use.
  @inline(__always)
  mutating func insert(_ call: Call, for id: CallID) -> Bool {
    switch id {
    case .number(let number):
      let countBefore = numbered.count
      let former = numbered.updateValue(call, forKey: number)
      guard numbered.count == countBefore, let former else { return true }
      numbered[number] = former
      return false
    case .string(let text):
      guard named[text] == nil else { return false }
      named[text] = call
      return true
    }
  }

  @inline(__always) @discardableResult
  mutating func remove(_ id: CallID) -> Call? {
    switch id {
    case .number(let number): numbered.removeValue(forKey: number)
    case .string(let text): named.removeValue(forKey: text)
    }
  }
}
