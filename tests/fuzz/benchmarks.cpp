// Benchmarks' records: what reads is written and read back the same, and has its pages.
#include <map>
#include <nlohmann/json.hpp>

#include "bench/measure/record.hpp"
#include "bench/measure/report/sections.hpp"
#include "bench/measure/tensor.hpp"
#include "harnesses.hpp"

namespace tcnum::fuzz {

bool read_a_benchmark(std::string_view input) {
  bench::Document document;
  const InputPath file(input);
  if (!accepted([&] { document = bench::read_document(file.path()); }, file.path())) return false;
  const std::string text = bench::json_text(document);
  if (bench::json_text(bench::document_from_json(nlohmann::ordered_json::parse(text), "again")) != text)
    wrong("a benchmark's record changes when it is written and read", text);
  accepted([&] {
    bench::put_models(document, file.path());
    static_cast<void>(bench::markdown_page(document, {}));
    static_cast<void>(bench::run_text(document, {}));
  });
  return true;
}

/// A few measurements of each kind to a file, with short series.
std::vector<std::string> benchmark_files() {
  constexpr std::size_t kInAFile = 2, kLongestSeries = 6;
  const bench::Document all = bench::read_document(TCNUM_SOURCE_DIR "/vectors/sm_90/bench.json");
  std::map<std::string, bench::Document> by_kind;
  for (const bench::Record& record : all.records) {
    bench::Document& some = by_kind[record.measurement];
    if (some.records.empty()) some = {all.version, all.facts, all.settings, {}};
    if (some.records.size() == kInAFile) continue;
    some.records.push_back(record);
    for (bench::Record::Series& series : some.records.back().series)
      series.numbers.resize(std::min(series.numbers.size(), kLongestSeries));
  }
  std::vector<std::string> files;
  for (const auto& [kind, document] : by_kind) files.push_back(bench::json_text(document));
  return files;
}

}  // namespace tcnum::fuzz
