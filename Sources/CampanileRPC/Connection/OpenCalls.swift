/// A connection's open calls by their ids. Numbers, the common case, are hashed without looking at an enum's payload.
struct OpenCalls<Call> {
  private var numbered: [UInt64: Call] = [:]
  private var named: [String: Call] = [:]

  var isEmpty: Bool { numbered.isEmpty && named.isEmpty }
  var count: Int { numbered.count + named.count }
  /// In the order of their ids, so that a run can be repeated.
  var all: [Call] {
    numbered.sorted { $0.key < $1.key }.map(\.value) + named.sorted { $0.key < $1.key }.map(\.value)
  }

  subscript(id: CallID) -> Call? {
    switch id {
    case .number(let number): numbered[number]
    case .string(let text): named[text]
    }
  }

  /// Answers false, and changes nothing, when the id is in use.
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
