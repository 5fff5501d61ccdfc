#include "operands.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include "numbers.hpp"
#include "src/files/written_number.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// More products are a matrix, not something to type.
constexpr std::size_t kMostProducts = 4096;

std::vector<std::uint64_t> codes_of(const std::string& option, const std::string& text, FormatId id) {
  std::vector<std::uint64_t> codes;
  if (text.empty()) return codes;
  const std::vector<std::string> parts = split_at_commas(text);
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string where = parts.size() == 1 ? option : fmt::format("{}[{}]", option, i);
    codes.push_back(code_of_written(format(id), parts[i], where));
  }
  return codes;
}

/// How many products a chain of the datapath takes that takes so many.
std::size_t products_of_chain(const Datapath& datapath, const std::string& option, std::size_t given) {
  const Numerics& n = datapath.numerics;
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  if (given > k && n.c.format != n.result) {
    throw InputError(
        fmt::format("{}: has {} elements; expected {} or fewer, as no result of {} can be the next c of {}", option,
                    given, k, format(n.result).name, format(n.c.format).name));
  }
  if (given > kMostProducts)
    throw InputError(fmt::format("{}: has {} elements; expected {} or fewer", option, given, kMostProducts));
  return std::max(k, (given + k - 1) / k * k);
}

}  // namespace

Problem parse_problem(const Datapath& datapath, const ProblemText& text) {
  return parse_problem(datapath.numerics, text, [&](const std::string& option, std::size_t given) {
    return products_of_chain(datapath, option, given);
  });
}

Problem parse_problem(const Numerics& n, const ProblemText& text,
                      const std::function<std::size_t(const std::string& option, std::size_t given)>& products) {
  Problem problem{codes_of("--a", text.a, n.a.format), codes_of("--b", text.b, n.b.format), 0};
  const bool a_is_longer = problem.a.size() >= problem.b.size();
  const std::size_t k = products(a_is_longer ? "--a" : "--b", a_is_longer ? problem.a.size() : problem.b.size());
  problem.a.resize(k, zero_code(format(n.a.format), false));
  problem.b.resize(k, zero_code(format(n.b.format), false));
  if (!text.c.empty()) problem.c = code_of_written(format(n.c.format), text.c, "--c");
  for (const auto& [option, scales_text, scales] :
       {std::tuple{"--sa", &text.sa, &problem.sa}, std::tuple{"--sb", &text.sb, &problem.sb}}) {
    if (!n.scales) {
      if (scales_text->empty()) continue;
      throw InputError(fmt::format("{}: the datapath has no block scales; expected to leave it out", option));
    }
    *scales = codes_of(option, *scales_text, n.scales->format);
    const std::size_t blocks = k / static_cast<std::size_t>(n.scales->block_k);
    if (scales->size() > blocks) {
      throw InputError(fmt::format("{}: has {} scales; expected {} or fewer, one for every {} of {} products", option,
                                   scales->size(), blocks, n.scales->block_k, k));
    }
    scales->resize(blocks, code_of_written(format(n.scales->format), "1", option));
  }
  return problem;
}

Tiles tile_of(const Numerics& numerics, const Problem& problem) {
  const Instruction dot = dot_of(Datapath{numerics, {}, {static_cast<int>(problem.a.size()), {}}});
  return tiles_of(dot, 1, 1, 1, [&](std::size_t) { return problem; });
}

}  // namespace tcnum
