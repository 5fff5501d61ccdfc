#include "asking.hpp"

#include <fmt/format.h>

#include "src/questions/battery.hpp"
#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"

namespace tcnum {

std::vector<std::optional<std::uint64_t>> Asker::ask(const std::vector<Problem>& problems, const std::string& origin) {
  std::vector<std::optional<std::uint64_t>> answers(problems.size());
  if (live() && !problems.empty()) {
    Tiles tiles = pack(instruction(), problems);
    live_->answer(tiles);
    for (std::size_t i = 0; i < problems.size(); ++i) {
      const std::size_t r = i % kPackSide;
      answers[i] = tiles.d[tiles.c_index(i / kPackSide, r, r)];
    }
    evidence_->add(std::move(tiles), origin);
    return answers;
  }
  for (std::size_t i = 0; i < problems.size(); ++i) {
    if (const auto number = evidence_->find(problems[i])) answers[i] = evidence_->answer(*number);
  }
  return answers;
}

void Asker::ask_crafted(const std::vector<CraftedProblem>& crafted, const std::string& origin) {
  std::vector<Problem> problems;
  for (const CraftedProblem& each : crafted) problems.push_back(each.problem);
  ask(problems, origin);
  evidence_->set_crafted(crafted);
}

void Asker::ask_battery(const FitOptions& options) {
  ask_crafted(battery(instruction()), "battery, rows and columns of different problems");
  if (!live()) return;
  for (const Distribution distribution : kAllRandom) {
    Tiles tiles = make_random_tiles(instruction(), distribution, options.seed, 0, options.tiles_per_distribution,
                                    kPackSide, kPackSide);
    live_->answer(tiles);
    evidence_->add(std::move(tiles), fmt::format("random: {}", name(distribution)));
  }
}

}  // namespace tcnum
