// Emulates tiles by a datapath, compares them with it, and explains one of their results.
#include <nlohmann/json.hpp>

#include "arguments.hpp"
#include "emu/parallel.hpp"
#include "handles.hpp"
#include "src/catalogue/names.hpp"
#include "src/report/diff_report.hpp"
#include "src/report/explain.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// The datapath that a caller names, or the catalogue's for the tiles.
class Chosen {
 public:
  Chosen(const tcnum_tiles& tiles, const tcnum_datapath* given) : datapath_(given) {
    if (given != nullptr) return;
    if (tiles.instruction == nullptr)
      throw InputError("datapath: is NULL; expected a datapath, as the tiles are of no instruction");
    own_ = std::make_unique<tcnum_datapath>(
        account_named("datapath: is NULL", "account", *find_arch(tiles.vectors.arch), *tiles.instruction, ""));
    datapath_ = own_.get();
  }
  const tcnum_datapath* operator->() const { return datapath_; }

 private:
  const tcnum_datapath* datapath_;
  std::unique_ptr<tcnum_datapath> own_;
};

/// The dot problems of the tiles, as the instruction computes them. Results keep the order of the tiles.
Tiles problems_of(const tcnum_tiles& tiles) {
  check_written(tiles);
  return dot_problems(tiles.vectors.tiles, tiles.vectors.metadata);
}

unsigned threads_or_all(unsigned threads) { return threads == 0 ? all_threads() : threads; }

/// Writes the results where D already lies in memory, as callers may hold its address, and says whose they are.
void put_results(const Codes& d, const Chosen& by, tcnum_tiles& tiles) {
  std::ranges::copy(d.bytes(), tiles.vectors.tiles.d.bytes().begin());
  if (tiles.instruction == nullptr) return;
  attribute_to_emulator(tiles.vectors, by->account.empty()
                                           ? "the caller's"
                                           : fmt::format("{}: {}", by->account, by->origin_and_standing()));
}

}  // namespace
}  // namespace tcnum

using namespace tcnum;

tcnum_status tcnum_emulate(tcnum_tiles* tiles, const tcnum_datapath* datapath, unsigned threads) {
  return guarded([&] {
    tcnum_tiles& of = required(tiles, "tiles", "tiles");
    const Chosen chosen(of, datapath);
    Tiles problems = problems_of(of);
    chosen->emulator().run(problems, threads_or_all(threads));
    put_results(problems.d, chosen, of);
  });
}

tcnum_status tcnum_emulate_exact(tcnum_tiles* tiles, const tcnum_datapath* datapath) {
  return guarded([&] {
    tcnum_tiles& of = required(tiles, "tiles", "tiles");
    const Chosen chosen(of, datapath);
    Tiles problems = problems_of(of);
    emulate_exact(chosen->datapath, problems);
    put_results(problems.d, chosen, of);
  });
}

tcnum_status tcnum_verify(const tcnum_tiles* tiles, const tcnum_datapath* datapath, unsigned threads,
                          tcnum_comparison* to) {
  return guarded([&] {
    const tcnum_tiles& of = required(tiles, "tiles", "tiles with results");
    check_size(required(to, "comparison", kResultAddress), "comparison");
    const Chosen chosen(of, datapath);
    Tiles problems = problems_of(of);
    chosen->emulator().run(problems, threads_or_all(threads));
    const Codes &expected = problems.d, &observed = of.vectors.tiles.d;
    tcnum_comparison found = {};
    found.count = found.first = observed.size();
    for (std::size_t i = observed.size(); i-- > 0;) {
      if (expected[i] == observed[i]) continue;
      ++found.mismatches;
      found.first = i;
      found.expected = expected[i];
      found.observed = observed[i];
    }
    hand_back(found, to, "comparison");
  });
}

tcnum_status tcnum_diff(const tcnum_datapath* one, const char* one_name, const tcnum_datapath* other,
                        const char* other_name, uint64_t seed, char** json) {
  return handed_back(json, "json", [&] {
    const auto side = [](const tcnum_datapath* given, const char* what, const char* name) {
      const tcnum_datapath& of = required(given, what, "a datapath");
      return DiffSide{name == nullptr ? "" : name, of.origin, &of.datapath};
    };
    const DiffSide x = side(one, "one", one_name), y = side(other, "other", other_name);
    return new_text(diff_document(diff(*x.datapath, *y.datapath, {.seed = seed}), x, y).dump(2));
  });
}

tcnum_status tcnum_explain(const tcnum_tiles* tiles, size_t index, const tcnum_datapath* datapath, char** text) {
  return handed_back(text, "text", [&] {
    const tcnum_tiles& of = required(tiles, "tiles", "tiles");
    check_index(index, of.vectors.tiles.size(), "the results of the tiles");
    const Chosen chosen(of, datapath);
    return new_text(explain_text(chosen->datapath, problem_at(problems_of(of), index)));
  });
}
