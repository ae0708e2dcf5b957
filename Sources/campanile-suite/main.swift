import CampanileCLI
import Foundation

// All programs of the suite in one executable: the name that it is invoked by selects the program. Shared code exists
// once, on disks, in memory and in builds.
switch CommandLine.arguments.first?.split(separator: "/").last {
case "campanile-activities": await ActivitiesProgram.main()
case "campanile-apns-simulator": await APNsSimulatorProgram.main()
case "campanile-attendance": await AttendanceProgram.main()
case "campanile-gateway": await GatewayProgram.main()
case "campanile-notifications": await NotificationsProgram.main()
case "campanile-sync": await SyncProgram.main()
default:
  // `campanile`, the command line.
  let arguments = Array(CommandLine.arguments.dropFirst())
  // A child of `campanile up` starts as this program, ties its lifetime to that of `up`, and then becomes the service.
  if let failure = BoundChild.become(arguments) { exit(failure) }
  exit(await CampanileCommand.run(arguments))
}
