import CampanileAPI
import CampanileBase
import CampanileCodec
import CampanileRPC
import NIOCore

/// A bidirectional stream: every message sent must be echoed in order, within the credit of each side.
///
/// `@unchecked Sendable`: see `SimulatedLoop`.
final class StreamCaller: ClientCallHandler, @unchecked Sendable {
  private let book: CallBook
  private let name: String
  private let messageCount: Int
  private var number = 0
  private var call: ClientCall?
  private var sentCount = 0
  private var receivedCount = 0
  private var consumed = ConsumedCredit()
  private var world: World { book.world }

  init(_ name: String, _ book: CallBook, messageCount: Int) {
    (self.name, self.book, self.messageCount) = (name, book, messageCount)
  }

  func start(_ client: RPCClient, timeoutMs: Int64) {
    number = book.began("Chat \(name)", timeoutMs: timeoutMs)
    let deadline = Deadline.after(timeoutMs: timeoutMs, now: world.loop.now)
    let head = CallHead(method: EchoServiceMethods.chat.path, kind: .bidirectional, deadline: deadline)
    call = client.startCall(
      head, params: UnsafeRawBufferPointer(start: nil, count: 0), on: world.loop, handler: self)
    send()
  }

  private func send() {
    guard let call else { return }
    while sentCount < messageCount {
      let text = "{\"payload\":\"\(name)-\(sentCount)\"}"
      guard Array(text.utf8).withUnsafeBytes({ call.send(message: $0) }) else { return }
      sentCount += 1
      if sentCount == messageCount { call.halfClose() }
    }
  }

  func callReceived(message: UnsafeRawBufferPointer, sizeBytes: Int) {
    let response = try? ChatResponse(jsonUTF8: message)
    world.check(
      response?.payload == "\(name)-\(receivedCount)",
      "stream \(name) received \(response?.payload ?? "an unreadable message") as message \(receivedCount)")
    receivedCount += 1
    if let grant = consumed.consumed(bytes: sizeBytes) { call?.grantCredit(grant) }
  }

  func callFinished(result: UnsafeRawBufferPointer) {
    world.check(
      receivedCount == messageCount, "stream \(name) succeeded after \(receivedCount) of \(messageCount) messages")
    ended("OK")
  }

  func callFailed(error: RPCError, rawError: UnsafeRawBufferPointer?) {
    // If the error is reported as not executed, no handler may have sent messages.
    world.check(error.processed || receivedCount == 0, "stream \(name) was reported as not executed after messages")
    ended(error.reason)
  }

  func callCredit(_ credit: StreamCredit) { send() }

  private func ended(_ outcome: String) {
    call = nil
    book.ended(number, outcome)
    if world.plant == .endsTwice { book.ended(number, outcome) }
  }
}
