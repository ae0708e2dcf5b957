import CampanileBase
import CampanileRPC
import CampanileTesting
import Testing

@testable import interceptor

/// The service of orders, with a peer in place of the service of the stock.
struct OrderServiceTests {
  private let stock = RecordingPeer()
  private var orders: OrderService { OrderService(stock: StockServiceClient(stock)) }
  private let context = CallContext(
    method: OrderServiceMethods.placeOrder, principal: Principal(kind: .user, id: "ada"))

  @Test func ordersReserveTheirItem() async throws {
    stock.respond(to: StockServiceMethods.reserve) { (_: ReserveRequest) in ReserveResponse() }
    let response = try await orders.placeOrder(PlaceOrderRequest(item: "bell"), context: context)
    #expect(response.text == "user/ada ordered bell")
    #expect(try stock.calls.map { try $0.requests() } == [[ReserveRequest(item: "bell")]])
  }

  @Test func ordersFailWithoutStock() async throws {
    stock.respond(to: StockServiceMethods.reserve) { (_: ReserveRequest) -> ReserveResponse in
      throw RPCError(.resourceExhausted, "no bells are left", reason: "OUT_OF_STOCK")
    }
    let error = await #expect(throws: RPCError.self) {
      try await orders.placeOrder(PlaceOrderRequest(item: "bell"), context: context)
    }
    #expect(error?.reason == "OUT_OF_STOCK")
  }
}
