package import CampanileBase
package import Testing

/// Returns the error that `body` throws; nil if there is none.
package func failure<T>(_ body: () async throws -> T) async -> RPCError? {
  do {
    _ = try await body()
    return nil
  } catch let error as RPCError {
    return error
  } catch let error as any RPCErrorConvertible {
    return error.rpcError
  } catch {
    return RPCError(.internalError, "\(error)")
  }
}

/// Returns code and reason of the error that `body` throws, such as `NOT_FOUND ASSET_NOT_FOUND`; empty if there is
/// none.
package func refusal<T>(_ body: () async throws -> T) async -> String {
  await failure(body).map { "\($0.code.name) \($0.reason)" } ?? ""
}

/// Expects that a call with a foreign id throws the same NOT_FOUND error as with an id of equal length that is missing.
package func expectLooksMissing(
  _ id: String, _ method: Comment, sourceLocation: SourceLocation = #_sourceLocation,
  _ call: (_ id: String) async throws -> Void
) async throws {
  let missing = String(id.prefix(2)) + String(repeating: "0", count: id.count - 2)
  var expected = try #require(await failure { try await call(missing) }, method, sourceLocation: sourceLocation)
  expected.message = expected.message.replacing(missing, with: id)
  if expected.errorMetadata["id"] != nil { expected.errorMetadata["id"] = id }
  let foreign = await failure { try await call(id) }
  #expect(foreign == expected && foreign?.code == .notFound, method, sourceLocation: sourceLocation)
}
