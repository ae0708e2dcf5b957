import APNsSimulatorProgram
import ActivitiesProgram
import AttendanceProgram
import CampanileCLI
import Foundation
import GatewayProgram
import NotificationsProgram
import SyncProgram

// The whole suite in one executable, for images; the name that it is invoked by selects the program. Shared code exists
// once instead of eight times.
switch CommandLine.arguments.first?.split(separator: "/").last {
case "campanile-activities": await ActivitiesProgram.main()
case "campanile-apns-simulator": await APNsSimulatorProgram.main()
case "campanile-attendance": await AttendanceProgram.main()
case "campanile-gateway": await GatewayProgram.main()
case "campanile-notifications": await NotificationsProgram.main()
case "campanile-sync": await SyncProgram.main()
default:
  let arguments = Array(CommandLine.arguments.dropFirst())
  if let failure = BoundChild.become(arguments) { exit(failure) }
  exit(await CampanileCommand.run(arguments))
}
