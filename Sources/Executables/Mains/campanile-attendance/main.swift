import AttendanceProgram

await AttendanceProgram.main()
