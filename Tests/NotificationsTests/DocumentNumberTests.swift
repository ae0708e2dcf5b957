import CampanileBase
import CampanileService
import CampanileStore
import ServiceTesting
import Testing

@testable import Notifications

@Suite struct DocumentNumberTests {
  private static let timeMs: Int64 = 1_770_000_000_000

  /// Indexes notifications of one millisecond in an order of arrival, for two users by turns.
  ///
  /// - Returns: The numbers of each user, by ascending id.
  private func numbers(_ tails: [UInt64]) async throws -> [[Int64]] {
    let component = try await Fixture().open()
    let numbers = try await component.store.write { transaction in
      for tail in tails {
        for user in ["anna", "bruno"] {
          let id = SortableID.text(prefix: SortableID.notificationPrefix, timeMs: Self.timeMs, tail: tail)
          let number = try DocumentNumber.next(notificationID: id, timeMs: Self.timeMs, user: user, transaction)
          try transaction.execute(
            """
            INSERT INTO search_documents (document_id, user_id, notification_id, bucket_id) VALUES ($1, $2, $3, 'b')
            """, [.integer(number), .text(user), .text(id)])
        }
      }
      return try ["anna", "bruno"].map { user in
        try transaction.query(
          "SELECT document_id FROM search_documents WHERE user_id = $1 ORDER BY notification_id", [.text(user)]
        ) { try $0.integer(0) }
      }
    }
    await component.close()
    return numbers
  }

  enum Arrival: CaseIterable {
    case ascending, descending, everySecond

    var tails: [UInt64] {
      switch self {
      case .ascending: Array(0..<1_000)
      case .descending: (0..<400).reversed()
      case .everySecond: Array(stride(from: 0, to: 200, by: 2)) + Array(stride(from: 1, to: 200, by: 2))
      }
    }
  }

  @Test("documents of one millisecond keep its time and the order of their ids", arguments: Arrival.allCases)
  func keepsTimeAndOrder(_ arrival: Arrival) async throws {
    for numbers in try await numbers(arrival.tails) {
      #expect(numbers.allSatisfy { $0 >> 15 == Self.timeMs })
      #expect(zip(numbers, numbers.dropFirst()).allSatisfy { $0 < $1 })
    }
  }

  @Test("documents of one millisecond that arrive in any order keep its time, each with a number of its own")
  func keepsTimeInAnyOrder() async throws {
    var random = SplitMix64(seed: 5)
    let numbers = try await numbers(Array(0..<500).shuffled(using: &random))
    #expect(numbers.joined().allSatisfy { $0 >> 15 == Self.timeMs })
    #expect(Set(numbers.joined()).count == 1_000)
  }
}
