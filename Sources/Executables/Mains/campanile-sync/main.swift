import SyncProgram

await SyncProgram.main()
