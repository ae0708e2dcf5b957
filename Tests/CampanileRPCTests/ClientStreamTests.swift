import CampanileBase
import CampanileCodec
import NIOCore
import NIOPosix
import Testing

@testable import CampanileRPC

private func method(_ kind: CallKind, _ idempotency: Idempotency = .unknown) -> MethodDescriptor {
  MethodDescriptor(
    path: "test.Notes/Stream", kind: kind, idempotency: idempotency, requestType: "test.Note",
    responseType: "test.Note")
}

@Suite(.timeLimit(.minutes(1))) struct ClientStreamTests {
  @Test func responsesArriveInOrderAndReadingGrantsCredit() async throws {
    let grants = ClientLog<Int>()
    try await withClient { peer, frame, id in
      if frame.contains("rpc.credit") {
        grants.add(id ?? 0)
        // Half of the initial credit for each grant; the call ends after the fourth.
        for n in 0..<16 { peer.message(1, "{\"count\":\(32 + (grants.all.count - 1) * 16 + n)}") }
        if grants.all.count == 4 { peer.result(1) }
        return
      }
      for n in 0..<32 { peer.message(id, "{\"count\":\(n)}") }
    } _: { client, _ in
      var counts: [Int32] = []
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
      for try await note in stream { counts.append(note.count) }
      #expect(counts == Array(0..<96))
    }
  }

  @Test func unreadResponsesGrantNoCredit() async throws {
    let frames = ClientLog<String>()
    try await withClient { peer, frame, id in
      frames.add(frame)
      for n in 0..<32 { peer.message(id, "{\"count\":\(n)}") }
    } _: { client, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
      try await frames.wait(for: 1)
      try await Task.sleep(for: .milliseconds(50))
      #expect(frames.all.count == 1)
      var iterator = stream.makeAsyncIterator()
      #expect(try await iterator.next()?.count == 0)
    }
  }

  @Test func responsesBeyondCreditFailCall() async throws {
    let frames = ClientLog<String>()
    try await withClient { peer, frame, id in
      frames.add(frame)
      if !frame.contains("rpc.") { for n in 0..<33 { peer.message(id, "{\"count\":\(n)}") } }
    } _: { client, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
      try await frames.wait(for: 2)
      #expect(frames.all[1].contains("rpc.cancel"))
      let error = await failure { for try await _ in stream {} }
      #expect(error?.reason == "STREAM_OVERRUN")
    }
  }

  @Test func rejectedRetryStillReportsFirstAttemptAsProcessed() async throws {
    let attempts = ClientLog<Int>()
    try await withClient(
      losingTheFirst(attempts), configure: { ($0.retry.attemptsMax, $0.retry.initialBackoff) = (2, .milliseconds(1)) }
    ) { client, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(
        method(.serverStreaming, .noSideEffects), Note())
      let error = await failure { for try await _ in stream {} }
      #expect(error?.code == .unavailable && error?.processed == true)
      #expect(attempts.all.count == 2)
    }
  }

  @Test func releasingStreamCancelsCall() async throws {
    let frames = ClientLog<String>()
    try await withClient { peer, frame, id in
      frames.add(frame)
      peer.message(id, "{}")
    } _: { client, _ in
      do {
        let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
        for try await _ in stream { break }
      }
      try await frames.wait(for: 2)
      #expect(frames.all[1].contains("rpc.cancel"))
    }
  }

  @Test func cancellingReaderCancelsCall() async throws {
    let frames = ClientLog<String>()
    try await withClient { _, frame, _ in
      frames.add(frame)
    } _: { client, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
      let reader = Task { for try await _ in stream {} }
      try await frames.wait(for: 1)
      reader.cancel()
      #expect(await failure { try await reader.value }?.code == .cancelled)
      try await frames.wait(for: 2)
      #expect(frames.all[1].contains("rpc.cancel"))
    }
  }

  @Test func streamFailsWithConnectionOrAtDeadline() async throws {
    try await withClient { peer, frame, id in
      peer.message(id, #"{"text":"one"}"#)
      if frame.contains("close") { peer.channel.eventLoop.execute { peer.close() } }
    } _: { client, _ in
      let lost: ResponseStream<Note> = client.serverStreaming(
        method(.serverStreaming, .noSideEffects), Note("close"))
      var texts: [String] = []
      let error = await failure { for try await note in lost { texts.append(note.text) } }
      // There is no retry after the first message, so no message is received twice.
      #expect(texts == ["one"] && error?.code == .unavailable && error?.processed == true)
      let timed: ResponseStream<Note> = client.serverStreaming(
        method(.serverStreaming), Note(), options: CallOptions(timeoutMs: 50))
      #expect(await failure { for try await _ in timed {} }?.code == .deadlineExceeded)
    }
  }

  @Test func streamWithoutMessagesIsRetried() async throws {
    try await withClient { peer, _, id in
      guard peer.index > 0 else { return peer.close() }
      peer.message(id, #"{"text":"second connection"}"#)
      peer.result(id)
    } _: { client, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming, .noSideEffects), Note())
      var texts: [String] = []
      for try await note in stream { texts.append(note.text) }
      #expect(texts == ["second connection"])
    }
  }

  @Test func streamWithoutDeadlineDoesNotWaitForeverToConnect() async throws {
    try await withClient({ _, _, _ in }, answersHello: false, configure: { $0.waitMax = .milliseconds(50) }) {
      client, _ in
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
      let error = await failure { for try await _ in stream {} }
      #expect(error?.code == .unavailable && error?.reason == "CONNECT_TIMEOUT" && error?.processed == false)
    }
  }

  @Test func sendersWaitForCredit() async throws {
    let messages = ClientLog<String>()
    try await withClient { peer, frame, id in
      if frame.contains("rpc.message") { messages.add(frame) }
      if messages.all.count == 32, frame.contains("rpc.message") {
        peer.channel.eventLoop.scheduleTask(in: .milliseconds(20)) {
          #expect(messages.all.count == 32)
          peer.send(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":8}}"#)
        }
      }
      if frame.contains("rpc.end") { peer.result(1, "{\"count\":\(messages.all.count)}") }
    } _: { client, _ in
      let sum: Note = try await client.clientStreaming(method(.clientStreaming)) { (sink: RequestSink<Note>) in
        for n in 0..<40 { try await sink.send(Note("m", count: Int32(n))) }
      }
      #expect(sum.count == 40)
      #expect(messages.all[39].contains("\"count\":39"))
    }
  }

  @Test func readingGrantsBytes() async throws {
    let grants = ClientLog<String>()
    let text = String(repeating: "x", count: 200_000)
    try await withClient { peer, frame, id in
      if frame.contains("rpc.credit") { grants.add(frame) }
      if grants.all.count == 2 { peer.result(1) } else { for _ in 0..<3 { peer.message(id, #"{"text":"\#(text)"}"#) } }
    } _: { client, _ in
      var count = 0
      let stream: ResponseStream<Note> = client.serverStreaming(method(.serverStreaming), Note())
      for try await note in stream where note.text == text { count += 1 }
      #expect(count == 6)
      // Three frames are more than half of the initial byte credit.
      let frame = #"{"jsonrpc":"2.0","method":"rpc.message","params":{"id":1,"message":{"text":"\#(text)"}}}"#
      let sizeBytes = 3 * frame.utf8.count
      for grant in grants.all { #expect(grant.contains(#""messages":3,"bytes":\#(sizeBytes)}"#)) }
    }
  }

  @Test func sendersWaitForBytes() async throws {
    let messages = ClientLog<String>()
    let text = String(repeating: "x", count: 60_000)
    try await withClient { peer, frame, id in
      if frame.contains("rpc.message") { messages.add(frame) }
      if messages.all.count == 18, frame.contains("rpc.message") {
        peer.channel.eventLoop.scheduleTask(in: .milliseconds(20)) {
          // The last one was longer than the rest of the credit.
          #expect(messages.all.count == 18)
          peer.send(#"{"jsonrpc":"2.0","method":"rpc.credit","params":{"id":1,"messages":9,"bytes":200000}}"#)
        }
      }
      if frame.contains("rpc.end") { peer.result(1, "{\"count\":\(messages.all.count)}") }
    } _: { client, _ in
      let sum: Note = try await client.clientStreaming(method(.clientStreaming)) { (sink: RequestSink<Note>) in
        for _ in 0..<20 { try await sink.send(Note(text)) }
      }
      #expect(sum.count == 20)
    }
  }

  @Test func peerThatNeverGrantsBytesHoldsCallUntilItsDeadline() async throws {
    let messages = ClientLog<String>()
    let text = String(repeating: "x", count: 60_000)
    try await withClient { peer, frame, id in
      if frame.contains("rpc.message") { messages.add(frame) }
    } _: { client, _ in
      let error = await failure {
        let options = CallOptions(timeoutMs: 300)
        return try await client.clientStreaming(method(.clientStreaming), options: options) {
          (sink: RequestSink<Note>) in
          while true { try await sink.send(Note(text)) }
        } as Note
      }
      #expect(error?.code == .deadlineExceeded)
      #expect(messages.all.count <= 18)
    }
  }

  @Test func bidirectionalStreamsFlowConcurrently() async throws {
    try await withClient { peer, frame, id in
      if frame.contains("rpc.message") { peer.message(id, #"{"text":"echo"}"#) }
      if frame.contains("rpc.end") { peer.result(id) }
    } _: { client, _ in
      let stream: ResponseStream<Note> = client.bidirectional(method(.bidirectional)) { (sink: RequestSink<Note>) in
        for _ in 0..<20 { try await sink.send(Note("m")) }
      }
      var count = 0
      for try await note in stream where note.text == "echo" { count += 1 }
      #expect(count == 20)
    }
  }

  @Test func earlyResponseEndsSender() async throws {
    let ended = ClientLog<RPCError?>()
    try await withClient { peer, frame, _ in
      if frame.contains("rpc.message") { peer.result(1, #"{"text":"enough"}"#) }
    } _: { client, _ in
      let note: Note = try await client.clientStreaming(method(.clientStreaming)) { (sink: RequestSink<Note>) in
        ended.add(await failure { while true { try await sink.send(Note("more")) } })
      }
      #expect(note.text == "enough")
      try await ended.wait(for: 1)
      #expect(ended.all[0]?.reason == "CALL_ENDED")
    }
  }

  @Test func failedRequestStreamCancelsCall() async throws {
    let frames = ClientLog<String>()
    try await withClient { _, frame, _ in
      frames.add(frame)
    } _: { client, _ in
      let error = await failure {
        try await client.clientStreaming(method(.clientStreaming)) { (sink: RequestSink<Note>) in
          try await sink.send(Note("a"))
          try await frames.wait(for: 2)
          throw RPCError(.dataLoss, "the file is damaged")
        } as Note
      }
      #expect(error?.code == .dataLoss)
      try await frames.wait(for: 3)
      #expect(frames.all[2].contains("rpc.cancel"))
    }
  }

  @Test func keepAliveEndsSendersAndReadersOfFrozenPeer() async throws {
    try await withClient(
      { peer, _, _ in peer.freeze() },
      configure: {
        $0.keepAlive.interval = .milliseconds(50)
        $0.keepAlive.timeout = .milliseconds(50)
      }
    ) { client, _ in
      let sent = ClientLog<RPCError?>()
      let stream: ResponseStream<Note> = client.bidirectional(method(.bidirectional)) { (sink: RequestSink<Note>) in
        sent.add(await failure { while true { try await sink.send(Note(String(repeating: "x", count: 60_000))) } })
      }
      #expect(await failure { for try await _ in stream {} }?.code == .unavailable)
      try await sent.wait(for: 1)
    }
  }

  @Test func rawStreamsPassJSONUnchanged() async throws {
    try await withClient { peer, frame, id in
      if frame.contains("rpc.message") { peer.message(id, #"{"any" : [1, 2]}"#) }
      if frame.contains("rpc.end") { peer.result(id) }
    } _: { client, _ in
      let stream = client.rawBidirectional(method: "a/b") { sink in
        try await sink.send(Array(#"{"x":1}"#.utf8))
        #expect(await failure { try await sink.send(Array("}".utf8)) }?.reason == "MESSAGE_NOT_JSON")
      }
      var texts: [String] = []
      for try await bytes in stream { texts.append(String(decoding: bytes, as: UTF8.self)) }
      #expect(texts == [#"{"any" : [1, 2]}"#])
    }
  }
}
