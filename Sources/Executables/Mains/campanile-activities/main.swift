import ActivitiesProgram

await ActivitiesProgram.main()
