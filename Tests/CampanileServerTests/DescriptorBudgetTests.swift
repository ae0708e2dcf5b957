import Testing

@testable import CampanileServer

@Suite struct DescriptorBudgetTests {
  @Test func sufficientDescriptorsKeepConfiguredLimits() {
    let budget = DescriptorBudget(limit: 1 << 20, rpc: 20_000, http: 20_000)
    #expect(budget.rpcConnections == 20_000 && budget.httpConnections == 20_000 && !budget.isShort)
    let exact = DescriptorBudget(limit: 1_256, rpc: 600, http: 400)
    #expect(exact.rpcConnections == 600 && exact.httpConnections == 400 && !exact.isShort)
  }

  @Test func connectionsLeaveDescriptorsInReserve() {
    for limit in [0, 1, 16, 64, 256, 300, 1_024, 4_096, 20_000, 65_536] {
      for rpc in [1, 100, 1_000, 20_000] {
        for http in [0, 1, 1_000, 20_000] {
          let budget = DescriptorBudget(limit: limit, rpc: rpc, http: http)
          let free = max(16, limit - min(DescriptorBudget.reserve, limit / 2))
          #expect(budget.rpcConnections + budget.httpConnections <= free || !budget.isShort)
          #expect(budget.rpcConnections <= rpc && budget.httpConnections <= http)
          #expect(budget.rpcConnections > 0 && (http == 0) == (budget.httpConnections == 0))
        }
      }
    }
    let short = DescriptorBudget(limit: 1_024, rpc: 20_000, http: 20_000)
    #expect(short.rpcConnections == 512 && short.httpConnections == 256 && short.isShort)
  }

  @Test func descriptorLimitIsRaised() {
    let limit = DescriptorBudget.raiseLimit()
    #expect(limit >= 64 && DescriptorBudget.raiseLimit() == limit)
  }
}
