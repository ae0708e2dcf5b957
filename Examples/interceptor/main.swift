import CampanileBase
import CampanileRPC
import Logging

struct OrderService: OrderServiceProtocol {
  let stock: StockServiceClient

  func placeOrder(_ request: PlaceOrderRequest, context: CallContext) async throws -> PlaceOrderResponse {
    _ = try await stock.reserve(ReserveRequest(item: request.item))
    return PlaceOrderResponse(text: "\(context.principal?.name ?? "nobody") ordered \(request.item)")
  }
}

struct StockService: StockServiceProtocol {
  func reserve(_ request: ReserveRequest, context: CallContext) async throws -> ReserveResponse {
    if request.item == "clock" { try await Task.sleep(for: .seconds(60)) }
    let isWithin = context.deadline.map { $0.remaining() <= .seconds(2) } ?? false
    print("reserving \(request.item) within the caller's two seconds: \(isWithin)")
    return ReserveResponse()
  }
}

LoggingSystem.bootstrap(StreamLogHandler.standardError)
let propagation = DeadlinePropagation()

let stockBytes = RequestBytes(of: StockServiceMethods.all)
let stockServer = RPCServer(
  services: [StockService()], interceptors: [.logging(Logger(label: "stock")), BusyAtFirst()],
  wrappingDispatcher: stockBytes.counting)
try await stockServer.run { stock in
  try await RPCClient.with(ClientConfiguration(addresses: [stock])) { caller in
    let orders = OrderService(stock: StockServiceClient(caller.intercepted(by: [RepeatingWhenBusy(), propagation])))
    let orderServer = RPCServer(
      services: [orders],
      interceptors: [
        .logging(Logger(label: "orders")), Keys(principals: ["k1": Principal(kind: .user, id: "ada")]), propagation,
      ])
    try await orderServer.run { address in
      try await RPCClient.with(ClientConfiguration(addresses: [address])) { caller in
        let ada = OrderServiceClient(caller.intercepted(by: [.logging(Logger(label: "ada")), WithKey(key: "k1")]))
        let inTime = CallOptions(timeout: .seconds(2))
        print(try await ada.placeOrder(PlaceOrderRequest(item: "bell"), options: inTime).text)
        // The clock takes a minute, so the deadline ends both calls.
        let soon = CallOptions(timeout: .milliseconds(200))
        do { _ = try await ada.placeOrder(PlaceOrderRequest(item: "clock"), options: soon) } catch { print(error) }
        let stranger = OrderServiceClient(caller)
        do { _ = try await stranger.placeOrder(PlaceOrderRequest(item: "bell")) } catch { print(error) }
      }
    }
  }
}
for (method, sizeBytes) in stockBytes.totals { print("\(sizeBytes) bytes of requests to \(method)") }
