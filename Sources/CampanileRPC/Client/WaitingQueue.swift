/// The calls that wait for a connection, in order of arrival. A call is queued while it holds its request.
struct WaitingQueue {
  private var calls: [OpenClientCall] = []
  private var head = 0
  private(set) var count = 0
  private(set) var sizeBytes = 0

  @inline(__always) var isEmpty: Bool { count == 0 }

  mutating func append(_ call: OpenClientCall, _ request: WaitingRequest) {
    call.request = request
    calls.append(call)
    count += 1
    sizeBytes += request.sizeBytes
  }

  mutating func keep(_ message: UnsafeRawBufferPointer, of call: OpenClientCall) {
    call.request?.messages.append([UInt8](message))
    sizeBytes += message.count
  }

  /// Removes a call from any position; returns `nil` if it is not in the queue.
  mutating func remove(_ call: OpenClientCall) -> WaitingRequest? {
    guard let request = call.request else { return nil }
    call.request = nil
    count -= 1
    sizeBytes -= request.sizeBytes
    // Calls that left early remain as holes until the holes outnumber the rest.
    if calls.count - head > 2 * count + 64 || count == 0 {
      calls = calls[head...].filter { $0.request != nil }
      head = 0
    }
    return request
  }

  var first: OpenClientCall? {
    mutating get {
      while head < calls.count {
        if calls[head].request != nil { return calls[head] }
        head += 1
      }
      calls.removeAll(keepingCapacity: true)
      head = 0
      return nil
    }
  }

  /// Removes and returns every call that `matches`.
  mutating func removeAll(where matches: (WaitingRequest) -> Bool) -> [OpenClientCall] {
    let taken = calls[head...].filter { $0.request.map(matches) ?? false }
    for call in taken { _ = remove(call) }
    return taken
  }
}
