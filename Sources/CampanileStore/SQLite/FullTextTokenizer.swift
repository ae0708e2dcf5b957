internal import GRDBSQLite

/// The tokenizer of SQLite's full-text index: `unicode61 remove_diacritics 2`.
///
/// An engine with another full-text index uses it, so that both engines find the same words. Use it on one thread.
package final class FullTextTokenizer {
  private let connection: OpaquePointer
  private let functions: fts5_tokenizer
  private let tokenizer: OpaquePointer

  package init() throws(StoreError) {
    var opened: OpaquePointer?
    guard sqlite3_open_v2(":memory:", &opened, SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX, nil) == SQLITE_OK,
      let opened
    else {
      sqlite3_close(opened)
      throw Self.failure
    }
    do throws(StoreError) {
      (functions, tokenizer) = try Self.create(opened)
    } catch {
      sqlite3_close(opened)
      throw error
    }
    connection = opened
  }

  deinit {
    functions.xDelete?(tokenizer)
    sqlite3_close(connection)
  }

  /// Returns the words of a text as the index spells them: in lower case and without diacritics.
  package func words(of text: String) throws(StoreError) -> [String] {
    var words: [String] = []
    var text = text
    let code = text.withUTF8 { bytes in
      bytes.withMemoryRebound(to: CChar.self) { characters in
        withUnsafeMutablePointer(to: &words) { words in
          functions.xTokenize?(
            tokenizer, words, FTS5_TOKENIZE_DOCUMENT, characters.baseAddress, Int32(characters.count)
          ) { words, _, word, sizeBytes, _, _ in
            let bytes = UnsafeRawBufferPointer(start: word, count: Int(sizeBytes))
            words?.assumingMemoryBound(to: [String].self).pointee.append(String(decoding: bytes, as: UTF8.self))
            return SQLITE_OK
          } ?? SQLITE_ERROR
        }
      }
    }
    guard code == SQLITE_OK else { throw Self.failure }
    return words
  }

  /// Finds the tokenizer through SQLite's documented way to its interface for extensions (sqlite.org/fts5.html, 7).
  private static func create(_ connection: OpaquePointer) throws(StoreError) -> (fts5_tokenizer, OpaquePointer) {
    var interface: UnsafeMutablePointer<fts5_api>?
    var statement: OpaquePointer?
    defer { sqlite3_finalize(statement) }
    guard sqlite3_prepare_v2(connection, "SELECT fts5($1)", -1, &statement, nil) == SQLITE_OK else { throw failure }
    let isFound = withUnsafeMutablePointer(to: &interface) { pointer in
      pointerType.withUTF8Buffer { type in
        type.withMemoryRebound(to: CChar.self) { type in
          sqlite3_bind_pointer(statement, 1, pointer, type.baseAddress, nil) == SQLITE_OK
            && sqlite3_step(statement) == SQLITE_ROW
        }
      }
    }
    var context: UnsafeMutableRawPointer?
    var functions = fts5_tokenizer()
    var tokenizer: OpaquePointer?
    guard isFound, let interface,
      interface.pointee.xFindTokenizer?(interface, "unicode61", &context, &functions) == SQLITE_OK
    else { throw failure }
    let isCreated = "remove_diacritics".withCString { name in
      "2".withCString { value in
        var arguments: [UnsafePointer<CChar>?] = [name, value]
        return functions.xCreate?(context, &arguments, 2, &tokenizer) == SQLITE_OK
      }
    }
    guard isCreated, let tokenizer else { throw failure }
    return (functions, tokenizer)
  }

  /// The name of the pointer's type. SQLite keeps the address, so the text must never move.
  private static let pointerType: StaticString = "fts5_api_ptr"
  private static var failure: StoreError { StoreError(.unavailable, "SQLite's tokenizer of full text fails") }
}

@available(*, unavailable)
extension FullTextTokenizer: Sendable {}
