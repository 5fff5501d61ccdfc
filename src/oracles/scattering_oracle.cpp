// Dense problems for a sparse instruction: where their elements stand is for this oracle to choose, and must not
// matter.
#include <fmt/format.h>

#include <array>
#include <stdexcept>

#include "tcnum/oracle.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

/// Another way to put the same problems, and what it shows if the results differ.
struct OtherWay {
  Scattering scattering;
  std::string_view depends_on;
};
constexpr std::array<OtherWay, 2> kOtherWays = {{
    {{.seed = kPlainScattering.seed, .garbage = true}, "elements of B that A's metadata does not select"},
    {{.seed = kPlainScattering.seed + 1, .garbage = true}, "where the stored elements of A stand"},
}};
/// Of a single run: what could go wrong, at once.
constexpr Scattering kOnlyWay = {.garbage = true};

class ScatteringOracle final : public Oracle {
 public:
  ScatteringOracle(const Instruction& instruction, std::unique_ptr<Oracle> sparse, bool check_ways)
      : instruction_(instruction), sparse_(std::move(sparse)), check_ways_(check_ways) {}

  void answer(Tiles& tiles) override {
    tiles.d = answers(tiles, check_ways_ ? kPlainScattering : kOnlyWay);
    if (!check_ways_) return;
    for (const OtherWay& way : kOtherWays) compare(tiles, answers(tiles, way.scattering), way.depends_on);
  }

  OracleKind kind() const override { return sparse_->kind(); }
  std::string device() const override { return sparse_->device(); }
  std::map<std::string, std::string> provenance() const override { return sparse_->provenance(); }

 private:
  Codes answers(const Tiles& tiles, const Scattering& scattering) {
    Tiles put = scatter(instruction_, tiles, scattering);
    sparse_->answer(put);
    return std::move(put.d);
  }

  void compare(const Tiles& tiles, const Codes& others, std::string_view depends_on) const {
    if (others == tiles.d) return;
    std::size_t at = 0;
    while (others[at] == tiles.d[at]) ++at;
    const int digits = 2 * tiles.d.bytes_each();
    throw std::runtime_error(fmt::format(
        "{}: a result depends on {}: tile {}, element ({}, {}) is 0x{:0{}x} in one way and 0x{:0{}x} in another",
        instruction_.name(), depends_on, at / (tiles.m * tiles.n), at / tiles.n % tiles.m, at % tiles.n, tiles.d[at],
        digits, others[at], digits));
  }

  Instruction instruction_;
  std::unique_ptr<Oracle> sparse_;
  bool check_ways_;
};

}  // namespace

std::unique_ptr<Oracle> make_scattering_oracle(const Instruction& instruction, std::unique_ptr<Oracle> sparse,
                                               bool check_ways) {
  return std::make_unique<ScatteringOracle>(instruction, std::move(sparse), check_ways);
}

std::unique_ptr<Oracle> make_gpu_dot_oracle(const Instruction& instruction, bool check_positions) {
  std::unique_ptr<Oracle> oracle = make_gpu_oracle(instruction, check_positions);
  if (!instruction.sparse()) return oracle;
  return make_scattering_oracle(instruction, std::move(oracle), check_positions);
}

}  // namespace tcnum
