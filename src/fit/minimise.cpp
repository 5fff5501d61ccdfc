#include "minimise.hpp"

#include <utility>
#include <vector>

#include "src/questions/packing.hpp"

namespace tcnum {

std::size_t terms_of(const Problem& problem) {
  std::size_t terms = problem.c != 0 ? 1 : 0;
  for (std::size_t k = 0; k < problem.a.size(); ++k) terms += problem.a[k] != 0 && problem.b[k] != 0 ? 1 : 0;
  return terms;
}

Counterexample minimise(const Instruction& instruction, const Answers& theirs, const Answers& mine,
                        Counterexample found) {
  const auto try_all = [&](std::vector<Problem> candidates) {
    if (candidates.empty()) return false;
    Tiles tiles = pack(instruction, candidates);
    Tiles other = tiles;
    theirs(tiles);
    mine(other);
    for (std::size_t i = 0; i < candidates.size(); ++i) {
      const std::size_t at = tiles.c_index(i / kPackSide, i % kPackSide, i % kPackSide);
      if (tiles.d[at] == other.d[at]) continue;
      found = {candidates[i], other.d[at], tiles.d[at]};
      return true;
    }
    return false;
  };
  const auto fewer_bits = [](const Format& f, std::uint64_t code) {
    const std::uint64_t fraction = code & ((std::uint64_t{1} << (f.fraction_bits + f.padding_bits)) - 1);
    return fraction == 0 ? code : code & ~(fraction & (~fraction + 1));
  };
  constexpr int kMostSteps = 400;
  for (int step = 0; step < kMostSteps; ++step) {
    std::vector<Problem> candidates;
    const Problem& p = found.problem;
    for (std::size_t k = 0; k < p.a.size(); ++k) {
      if (p.a[k] == 0 && p.b[k] == 0) continue;
      candidates.push_back(p);
      candidates.back().a[k] = candidates.back().b[k] = 0;
    }
    if (p.c != 0) {
      candidates.push_back(p);
      candidates.back().c = 0;
    }
    for (std::size_t k = 0; k < p.a.size(); ++k) {
      const std::uint64_t a = fewer_bits(format(instruction.a), p.a[k]), b = fewer_bits(format(instruction.b), p.b[k]);
      if (a != p.a[k]) {
        candidates.push_back(p);
        candidates.back().a[k] = a;
      }
      if (b != p.b[k]) {
        candidates.push_back(p);
        candidates.back().b[k] = b;
      }
    }
    for (std::vector<std::uint64_t> Problem::*scales : {&Problem::sa, &Problem::sb}) {
      for (std::size_t block = 0; block < (p.*scales).size(); ++block) {
        const Format& f = format(instruction.scales.format);
        const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
        const std::uint64_t code = (p.*scales)[block];
        for (const std::uint64_t simpler : {one, fewer_bits(f, code)}) {
          // A scale of 1 stays; a NaN without its last bit is another number, and no simpler one.
          if (code == one || simpler == code || (simpler != one && !decode(f, code).is_finite())) continue;
          candidates.push_back(p);
          (candidates.back().*scales)[block] = simpler;
        }
      }
    }
    if (const std::uint64_t c = fewer_bits(format(instruction.c), p.c); c != p.c) {
      candidates.push_back(p);
      candidates.back().c = c;
    }
    if (!try_all(std::move(candidates))) break;
  }
  return found;
}

Counterexample minimise(const Instruction& instruction, Oracle& oracle, const Emulator& emulator,
                        Counterexample found) {
  return minimise(
      instruction, [&](Tiles& tiles) { oracle.answer(tiles); }, [&](Tiles& tiles) { emulator.run(tiles); },
      std::move(found));
}

}  // namespace tcnum
