import GatewayProgram

await GatewayProgram.main()
