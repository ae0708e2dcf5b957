import CampanileBase
import CampanileCodec
import CampanileTesting
import Logging

@testable import CampanileRPC

/// A service with one method of each kind, which doubles counts.
struct Doubling: RPCService {
  static let one = method("One", .unary)
  static let out = method("Out", .serverStreaming)
  static let into = method("Into", .clientStreaming)
  static let both = method("Both", .bidirectional)

  private static func method(_ name: String, _ kind: CallKind) -> MethodDescriptor {
    MethodDescriptor(
      path: "test.Doubling/\(name)", kind: kind, idempotency: .unknown, requestType: "test.Note",
      responseType: "test.Note")
  }

  /// The facts that handlers receive, and how they end.
  let log: ClientLog<String>

  func register(in registry: inout MethodRegistry) {
    registry.unary(Self.one) { (note: Note, context: CallContext) async throws -> Note in
      log.add("handler \(context.metadata["x-added"] ?? "-") \(context.principal?.name ?? "-")")
      if note.text == "fail" { throw RPCError(.notFound, "no note", reason: "NO_NOTE") }
      if note.text == "hang" {
        do { try await Task.sleep(for: .seconds(600)) } catch {
          log.add("handler cancelled")
          throw error
        }
      }
      return Note(note.text, count: note.count * 2)
    }
    registry.serverStreaming(Self.out) { (note: Note, _: CallContext, sink: ResponseSink<Note>) async throws in
      log.add("handler")
      for n in 1...max(1, note.count) { try await sink.send(Note(note.text, count: n * 2)) }
      if note.text == "hang" {
        do { try await Task.sleep(for: .seconds(600)) } catch { log.add("handler cancelled") }
      }
    }
    registry.clientStreaming(Self.into) { (notes: RequestStream<Note>, _: CallContext) async throws -> Note in
      log.add("handler")
      var total: Int32 = 0
      for try await note in notes { total += note.count }
      return Note("total", count: total * 2)
    }
    registry.bidirectional(Self.both) {
      (notes: RequestStream<Note>, _: CallContext, sink: ResponseSink<Note>) async throws in
      log.add("handler")
      let iterator = notes.makeAsyncIterator()
      while let note = try await iterator.next() {
        // Both ways of sending.
        if note.count % 2 == 0 {
          try await sink.send(Note(note.text, count: note.count * 2))
        } else {
          _ = try await sink.send { Note(note.text, count: note.count * 2) }
        }
      }
    }
  }

  /// Calls `body` with a client of a server with these interceptors.
  static func serve(
    _ log: ClientLog<String>, interceptors: [any ServerInterceptor] = [], logger: Logger? = nil,
    _ body: (RPCClient) async throws -> Void
  ) async throws {
    let quiet = Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }
    let server = RPCServer(
      ServerConfiguration(logger: logger ?? quiet), services: [Doubling(log: log)], interceptors: interceptors)
    try await withClient(of: server, body)
  }
}

/// Makes one call of each kind, with these counts.
struct DoublingCalls {
  let caller: any RPCCaller

  func one(_ text: String = "", _ count: Int32 = 0, options: CallOptions = CallOptions()) async throws -> Note {
    try await caller.unary(Doubling.one, Note(text, count: count), options: options)
  }

  func out(_ text: String = "", _ count: Int32 = 0, options: CallOptions = CallOptions()) -> ResponseStream<Note> {
    caller.serverStreaming(Doubling.out, Note(text, count: count), options: options)
  }

  func into(_ counts: [Int32], options: CallOptions = CallOptions()) async throws -> Note {
    try await caller.clientStreaming(Doubling.into, options: options) { (sink: RequestSink<Note>) in
      for count in counts { try await sink.send(Note("", count: count)) }
    }
  }

  func both(_ counts: [Int32], options: CallOptions = CallOptions()) -> ResponseStream<Note> {
    caller.bidirectional(Doubling.both, options: options) { (sink: RequestSink<Note>) in
      for count in counts { try await sink.send(Note("", count: count)) }
    }
  }

  static func counts(_ stream: ResponseStream<Note>) async throws -> [Int32] {
    var counts: [Int32] = []
    for try await note in stream { counts.append(note.count) }
    return counts
  }

  /// The counts that the four kinds return for 3, for 3, for 1 to 40, and for 1 to 40.
  func all() async throws -> [[Int32]] {
    [
      [try await one("", 3).count], try await Self.counts(out("", 3)), [try await into(Array(1...40)).count],
      try await Self.counts(both(Array(1...40))),
    ]
  }
}
