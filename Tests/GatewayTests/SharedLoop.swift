import NIOCore
import NIOPosix

/// A loop of the group that the tests' clients use.
let sharedLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
