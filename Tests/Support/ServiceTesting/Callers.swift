package import CampanileRPC

/// The method of contexts in tests that call handlers without a server.
package let anyMethod = MethodDescriptor(
  path: "campanile.testing.v1.TestService/Test", kind: .unary, idempotency: .unknown, requestType: "", responseType: "")

/// Returns the context of a call by a user of the gateway.
package func user(_ id: String, scopes: [String] = []) -> CallContext {
  CallContext(method: anyMethod, principal: Principal(kind: .user, id: id, scopes: scopes))
}

package let anna = user("anna")
package let bruno = user("bruno")
/// A user with the scope `admin`.
package let admin = user("root", scopes: ["admin"])
/// A caller without credentials.
package let nobody = CallContext(method: anyMethod)
