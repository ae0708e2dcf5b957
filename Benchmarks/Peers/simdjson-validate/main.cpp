// simdjson as a peer of the validator. Prints the gigabytes per second of each run, one per line.
//
// simdjson-validate dom|ondemand FILE RUNS
// `dom` validates the text and builds its tree, because simdjson cannot validate alone. `ondemand` visits each record
// of the array and skips its content, which checks UTF-8 and brackets, but neither strings nor numbers.
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <simdjson.h>

static size_t dom(simdjson::dom::parser& parser, const simdjson::padded_string& text) {
  simdjson::dom::element document = parser.parse(text);
  simdjson::dom::array records = document["notifications"];
  size_t count = 0;
  for (auto record : records) {
    (void)record;
    count++;
  }
  return count;
}

static size_t ondemand(simdjson::ondemand::parser& parser, const simdjson::padded_string& text) {
  simdjson::ondemand::document document = parser.iterate(text);
  size_t count = 0;
  for (auto record : document["notifications"].get_array()) {
    simdjson::ondemand::value value = record.value();
    (void)value;
    count++;
  }
  return count;
}

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "simdjson-validate dom|ondemand FILE RUNS\n");
    return 64;
  }
  try {
    simdjson::padded_string text = simdjson::padded_string::load(argv[2]);
    simdjson::dom::parser tree(1u << 30);
    simdjson::ondemand::parser stream(1u << 30);
    for (int run = 0; run < std::atoi(argv[3]); run++) {
      auto started = std::chrono::steady_clock::now();
      size_t count = std::strcmp(argv[1], "dom") == 0 ? dom(tree, text) : ondemand(stream, text);
      double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - started).count();
      if (count == 0) return 1;
      std::printf("%f\n", double(text.size()) / seconds / 1e9);
    }
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
  return 0;
}
