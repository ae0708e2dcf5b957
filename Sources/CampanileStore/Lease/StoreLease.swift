/// The right of one process to do a kind of background work on a database that several processes use.
///
/// A lease has a term, which grows whenever it changes hands. Writes of the holder check the term in their own
/// transactions, so an earlier holder that has not noticed its loss changes nothing.
struct StoreLease: Sendable, Hashable {
  /// The lease under which the current task does its work.
  @TaskLocal static var current: StoreLease?

  static let lost = StoreError(.interrupted, "another process has taken over this work")

  var store: ObjectIdentifier
  var name: String
  var owner: Int64
  var term: Int64
}

/// The statements about leases in the dialect of an engine. All take the name and the owner first.
package struct LeaseStatements: Sendable {
  /// Takes a lease that is free, for a number of milliseconds. Returns the term, or no row if it is not free.
  package var take: String
  /// Extends a lease: name, owner, term, and a number of milliseconds; 0 frees it. Changes no row if it was lost.
  package var extend: String
  /// Fails unless the owner has the term.
  package var check: String
  /// The clock of a server in milliseconds since 1970, for the processes that share a database.
  package static let serverNowMs = "(extract(epoch FROM clock_timestamp()) * 1000)::BIGINT"
  /// The engine's code of that failure.
  package static let lostCode = "22012"

  package init(take: String, extend: String, check: String) {
    self.take = take
    self.extend = extend
    self.check = check
  }
}

/// The timing of leases.
enum LeaseTiming {
  /// The time after which the lease of a process that has vanished is free.
  static let lengthMs: Int64 = 10_000
  /// The pause between two extensions, and between two attempts to take a lease.
  static let pauseMs: Int64 = 2_000
}
