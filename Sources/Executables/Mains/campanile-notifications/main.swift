import NotificationsProgram

await NotificationsProgram.main()
