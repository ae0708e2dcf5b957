import CampanileRPC
import CampanileStore

/// Access whose failures are `RPCError`s.
extension Store {
  func writing<T: Sendable>(_ body: @escaping @Sendable (WriteTransaction) throws -> T) async throws -> T {
    do {
      return try await write(body)
    } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }

  /// One query.
  func readingSingle<T>(_ body: (ReadTransaction) throws -> T) throws -> T {
    do {
      return try readSingle(body)
    } catch let failure as StoreError {
      throw RPCError(failure)
    }
  }
}
