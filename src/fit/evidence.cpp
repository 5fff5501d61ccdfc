#include "evidence.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "src/questions/packing.hpp"
#include "src/questions/stream.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

std::uint64_t mix(std::uint64_t h, std::uint64_t x) {
  h ^= x + 0x9e3779b97f4a7c15ull + (h << 6) + (h >> 2);
  return h * 0xff51afd7ed558ccdull;
}

std::uint64_t hash(const Problem& p) {
  std::uint64_t h = p.c;
  for (std::size_t k = 0; k < p.a.size(); ++k) h = mix(mix(h, p.a[k]), p.b[k]);
  for (std::size_t block = 0; block < p.sa.size(); ++block) h = mix(mix(h, p.sa[block]), p.sb[block]);
  return h;
}

}  // namespace

std::vector<std::size_t> numbers_between(std::size_t first, std::size_t last) {
  std::vector<std::size_t> numbers(last - first);
  std::iota(numbers.begin(), numbers.end(), first);
  return numbers;
}

void Evidence::add(Tiles answered, std::string origin) {
  auto block = std::make_unique<Block>();
  block->tiles = std::move(answered);
  block->origin = std::move(origin);
  block->first = size_;
  size_ += block->tiles.size();
  blocks_.push_back(std::move(block));
  // Only whole problems of the diagonal are ever looked up.
  const Block& b = *blocks_.back();
  for (std::size_t t = 0; t < b.tiles.count; ++t) {
    for (std::size_t r = 0; r < std::min(b.tiles.m, b.tiles.n); ++r) {
      const std::size_t number = b.first + b.tiles.c_index(t, r, r);
      by_hash_.emplace(hash(problem(number)), number);
    }
  }
}

Evidence::Place Evidence::place(std::size_t number) const {
  const auto after = std::upper_bound(blocks_.begin(), blocks_.end(), number,
                                      [](std::size_t n, const std::unique_ptr<Block>& b) { return n < b->first; });
  const Block& b = **(after - 1);
  const std::size_t local = number - b.first, per_tile = b.tiles.m * b.tiles.n;
  return {b, local / per_tile, local % per_tile / b.tiles.n, local % b.tiles.n};
}

std::uint64_t Evidence::answer(std::size_t number) const {
  const Place p = place(number);
  return p.block.tiles.d[number - p.block.first];
}

Problem Evidence::problem(std::size_t number) const {
  const Place p = place(number);
  return problem_at(p.block.tiles, number - p.block.first);
}

std::optional<std::size_t> Evidence::find(const Problem& wanted) const {
  const auto [first, last] = by_hash_.equal_range(hash(wanted));
  std::optional<std::size_t> earliest;
  for (auto it = first; it != last; ++it) {
    if ((!earliest || it->second < *earliest) && problem(it->second) == wanted) earliest = it->second;
  }
  return earliest;
}

const DecodedTiles& Evidence::decoded(const Block& block, const Numerics& n) {
  const std::size_t key = (n.a.subnormals == Subnormals::flushed ? 1u : 0u) |
                          (n.a.subnormal_exponent == SubnormalExponent::normalised ? 2u : 0u) |
                          (n.a.format == FormatId::fp32 ? 4u : 0u) |
                          (n.c.subnormal_exponent == SubnormalExponent::normalised ? 8u : 0u);
  return block.decoded[key].get([&] { return std::make_unique<DecodedTiles>(block.tiles, n.a, n.b, n.c); });
}

std::uint64_t Evidence::emulate(const CpuEmulator& emulator, std::size_t number) const {
  const Place p = place(number);
  return emulator.dot(decoded(p.block, emulator.numerics()), p.t, p.i, p.j);
}

std::uint64_t Evidence::emulate(const CpuEmulator& emulator, std::size_t number, int watch_exponent,
                                unsigned& consulted) const {
  const Place p = place(number);
  return emulator.dot(decoded(p.block, emulator.numerics()), p.t, p.i, p.j, watch_exponent, consulted);
}

std::vector<std::size_t> Evidence::wrong_answers(const Datapath& datapath) const {
  Tiles tiles = all();
  const Codes observed = tiles.d;
  Emulator(datapath).run(tiles);
  std::vector<std::size_t> wrong;
  for (std::size_t i = 0; i < observed.size(); ++i) {
    if (tiles.d[i] != observed[i]) wrong.push_back(i);
  }
  return wrong;
}

void Evidence::set_crafted(std::size_t number, std::string name, ProblemPurpose purpose) {
  crafted_.try_emplace(number, Crafted{std::move(name), purpose});
}

void Evidence::set_crafted(const std::vector<CraftedProblem>& crafted) {
  for (const CraftedProblem& each : crafted) {
    if (const auto number = find(each.problem)) set_crafted(*number, each.name, each.purpose);
  }
}

std::string Evidence::name_of(std::size_t number) const {
  const auto it = crafted_.find(number);
  return it != crafted_.end() ? it->second.name : place(number).block.origin;
}

std::optional<ProblemPurpose> Evidence::purpose_of(std::size_t number) const {
  const auto it = crafted_.find(number);
  return it != crafted_.end() ? std::optional(it->second.purpose) : std::nullopt;
}

std::vector<std::size_t> Evidence::crafted() const {
  std::vector<std::size_t> numbers;
  for (const auto& [number, problem] : crafted_) numbers.push_back(number);
  std::sort(numbers.begin(), numbers.end());
  return numbers;
}

Tiles Evidence::all() const {
  Tiles total;
  for (const auto& block : blocks_) {
    const Tiles& t = block->tiles;
    if (total.count == 0) {
      total = t;
      continue;
    }
    total.count += t.count;
    total.a.append(t.a);
    total.b.append(t.b);
    total.c.append(t.c);
    total.d.append(t.d);
    if (t.scale_block == 0) continue;
    total.sa.append(t.sa);
    total.sb.append(t.sb);
  }
  return total;
}

void AnswersAlone::answer(Tiles& tiles) {
  Tiles asked = tiles;
  oracle_.answer(asked);
  if (asked.d.size() != tiles.size() || asked.d.bytes_each() != format(tiles.d_format).storage_bytes()) {
    throw InputError(fmt::format("oracle: gave {} answers of {} bytes; expected {} of {}, as {} has them",
                                 asked.d.size(), asked.d.bytes_each(), tiles.size(),
                                 format(tiles.d_format).storage_bytes(), format(tiles.d_format).name));
  }
  tiles.d = std::move(asked.d);
}

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
