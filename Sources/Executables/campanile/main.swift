import CampanileCLI
import Foundation

let arguments = Array(CommandLine.arguments.dropFirst())
// A child of `campanile up` starts as this program, which binds itself to the life of `up` and then becomes the service.
if let failure = BoundChild.become(arguments) { exit(failure) }
exit(await CampanileCommand.run(arguments))
