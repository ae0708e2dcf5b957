import APNsSimulatorProgram

await APNsSimulatorProgram.main()
