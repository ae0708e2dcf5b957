internal import CampanileJSON
internal import CampanileRPC

/// A source of calls, with at most one in flight. A run has `concurrency` of them. Use it only on its event loop.
final class LoadWorker {
  let index: Int
  unowned let loop: LoadLoop
  /// The bytes of the request. The array is reused.
  var request: [UInt8] = []
  var dueNs: Int64 = 0
  var sentNs: Int64 = 0
  var isMeasured = false
  var isBusy = false
  var lastReply: JSONValue?

  // State of the RPC driver.
  var call: ClientCall?
  var messagesSent = 0
  var messagesReceived = 0
  var consumed = ConsumedCredit()
  var waitsForCredit = false
  /// Number of calls so far. Timers of earlier calls are ignored.
  var turn = 0

  init(index: Int, loop: LoadLoop) {
    self.index = index
    self.loop = loop
  }

  @inline(__always)
  func finished(_ end: CallEnd, reply: UnsafeRawBufferPointer? = nil) {
    if let reply, loop.usesReply { lastReply = try? JSONValue.parse(Array(reply)) }
    loop.ended(self, end)
  }
}
