import CampanileCLI
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
// A child of `campanile up` starts as this program, ties its lifetime to that of `up`, and then becomes the service.
if let failure = BoundChild.become(arguments) { exit(failure) }
exit(await CampanileCommand.run(arguments))
