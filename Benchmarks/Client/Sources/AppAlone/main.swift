import Foundation

#if canImport(FoundationNetworking)
  import FoundationNetworking
#endif

// The parts that an app has without a client: a request by URLSession and a decoder of JSON.
struct Item: Codable {
  var id: String
  var title: String
}

let task = URLSession.shared.dataTask(with: URL(string: CommandLine.arguments.last ?? "")!) { data, _, error in
  let items = try? JSONDecoder().decode([Item].self, from: data ?? Data())
  print(items?.first?.title ?? "\(String(describing: error))")
}
task.resume()
