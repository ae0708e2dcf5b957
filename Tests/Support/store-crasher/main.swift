import CampanileStore
import Foundation

#if canImport(Darwin)
  import Darwin
#else
  import Glibc
#endif

// A process that tests kill or restrict.
//   store-crasher write PATH CLIENTS ROUND   inserts until killed; prints each id once it is acknowledged
//   store-crasher hold PATH                  opens the store, prints "ready", exits when its standard input ends
//   store-crasher starve PATH                limits the file size, writes beyond the limit, removes it, writes again
//   store-crasher blind PATH                 forbids all writes to files, fails a write, then reads for the first time
let schema = [Migration("0001-rows", "CREATE TABLE rows (id TEXT NOT NULL PRIMARY KEY, body TEXT NOT NULL)")]
let arguments = CommandLine.arguments

@Sendable func say(_ line: String) {
  let bytes = Array((line + "\n").utf8)
  _ = write(STDOUT_FILENO, bytes, bytes.count)
}

@Sendable func insert(_ id: String, _ store: Store, bodyBytes: Int = 200) async throws {
  let body = String(repeating: "b", count: bodyBytes)
  _ = try await store.write { transaction in
    try transaction.execute("INSERT INTO rows (id, body) VALUES ($1, $2)", [.text(id), .text(body)])
  }
}

func limitFileSize(_ limit: inout rlimit) {
  #if canImport(Darwin)
    setrlimit(RLIMIT_FSIZE, &limit)
  #else
    setrlimit(__rlimit_resource_t(RLIMIT_FSIZE.rawValue), &limit)
  #endif
}

/// Makes writes fail with an I/O error, not with a full disk: SQLite reports a broken disk like this.
func starve(_ store: Store) async throws {
  signal(SIGXFSZ, SIG_IGN)
  var limit = rlimit(rlim_cur: 300_000, rlim_max: .max)
  limitFileSize(&limit)
  for index in 0..<100 {
    do {
      try await insert("limited-\(index)", store, bodyBytes: 20_000)
      say("ack limited-\(index)")
    } catch let error as StoreError {
      say("fail limited-\(index) \(error.code)")
    }
  }
  limit.rlim_cur = .max
  limitFileSize(&limit)
  try await insert("after", store)
  say("ack after")
  say("reopens \(store.metrics().reopens)")
  await store.close()
}

/// Reads for the first time after the writer was replaced and nothing can be written: existing data must still be
/// readable.
func blind(_ store: Store) async throws {
  signal(SIGXFSZ, SIG_IGN)
  try await insert("before", store)
  var limit = rlimit(rlim_cur: 1, rlim_max: .max)
  limitFileSize(&limit)
  for index in 0..<3 {
    do {
      try await insert("blind-\(index)", store)
      say("ack blind-\(index)")
    } catch let error as StoreError {
      say("fail blind-\(index) \(error.code)")
    }
  }
  do {
    let count = try store.readBlocking { try $0.queryOne("SELECT count(*) FROM rows") { try $0.integer(0) } }
    say("read \(count ?? 0)")
  } catch {
    say("unread \(error)")
  }
  limit.rlim_cur = .max
  limitFileSize(&limit)
  await store.close()
}

do {
  guard arguments.count >= 3 else { throw StoreError(.invalidArgument, "an action and a path are required") }
  let store = try Store(StoreConfiguration(path: arguments[2]), migrations: schema)
  switch arguments[1] {
  case "write":
    let clients = arguments.count > 3 ? Int(arguments[3]) ?? 1 : 1
    let round = arguments.count > 4 ? arguments[4] : "0"
    try await withThrowingTaskGroup(of: Void.self) { group in
      for client in 0..<clients {
        group.addTask {
          for index in 0..<1_000_000 {
            let id = "\(round)-\(client)-\(index)"
            try await insert(id, store)
            say("ack \(id)")
          }
        }
      }
      try await group.waitForAll()
    }
  case "hold":
    say("ready")
    while readLine() != nil {}
    await store.close()
  case "starve":
    try await starve(store)
  case "blind":
    try await blind(store)
  default:
    throw StoreError(.invalidArgument, "unknown action")
  }
} catch {
  say("error \(error)")
  exit(1)
}
