#include "scales.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <string>

#include "performer.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::size_t kColumnsOfABlock = 128;

/// How a matrix of scales lies beside its operand.
struct Shape {
  std::string_view name;
  std::size_t lines, blocks;  ///< of scales
  bool by_columns;            ///< a line is a column
};

[[noreturn]] void refuse(std::string_view where, const Shape& shape, std::string_view right) {
  throw InputError(fmt::format("{}: {} has scales for {} {} and {} parts of k; right would be {}", where, shape.name,
                               shape.lines, shape.by_columns ? "columns" : "rows", shape.blocks, right));
}

std::vector<float> numbers_of(const MatrixView& view, const Shape& shape, std::string_view where) {
  if (view.format() != FormatId::fp32) {
    throw InputError(
        fmt::format("{}: {} is of {}; right would be fp32", where, shape.name, format(view.format()).name));
  }
  std::vector<float> numbers;
  numbers.reserve(shape.lines * shape.blocks);
  for (std::size_t line = 0; line < shape.lines; ++line) {
    for (std::size_t block = 0; block < shape.blocks; ++block) {
      const std::uint64_t code = shape.by_columns ? code_at(view, block, line) : code_at(view, line, block);
      numbers.push_back(std::bit_cast<float>(static_cast<std::uint32_t>(code)));
    }
  }
  return numbers;
}

std::size_t parts(std::size_t of, std::size_t each) { return (of + each - 1) / each; }

}  // namespace

Scales::Scales(const GemmPlan& plan, FormatId sums, std::size_t m, std::size_t n, std::size_t k,
               const GemmInputs& inputs, std::string_view where)
    : order_(plan.scales), are_there_(inputs.a_scales != nullptr || inputs.b_scales != nullptr) {
  if (!are_there_) return;
  if (!format(sums).floating || format(sums).storage_bits > 32) {
    throw InputError(fmt::format("{}: scales of sums of {}; right would be sums of fp32", where, format(sums).name));
  }
  const std::size_t promotions = plan.promote_every ? parts(k, *plan.promote_every) : 1;
  std::optional<std::size_t> blocks;
  const auto take = [&](const MatrixView* view, const Shape& shape, std::size_t lines,
                        std::initializer_list<std::size_t> per_scale) {
    if (view == nullptr) return LineScales();
    if (shape.blocks != 1 && shape.blocks != promotions) {
      refuse(where, shape,
             plan.promote_every ? fmt::format("1 part, or {}, of {} each", promotions, *plan.promote_every)
                                : "1 part, as the plan has no promote_every");
    }
    if (blocks.value_or(shape.blocks) != shape.blocks)
      refuse(where, shape, fmt::format("{} parts, as a_scales has", *blocks));
    blocks = shape.blocks;
    for (const std::size_t each : per_scale) {
      if (shape.lines == parts(lines, each)) return LineScales(numbers_of(*view, shape, where), shape.blocks, each);
    }
    refuse(where, shape,
           shape.by_columns ? fmt::format("1, {} or {}", parts(lines, kColumnsOfABlock), lines)
                            : fmt::format("1 or {}", lines));
  };
  if (const MatrixView* const view = inputs.a_scales)
    a_ = take(view, {"a_scales", view->rows(), view->columns(), false}, m, {m, 1});
  if (const MatrixView* const view = inputs.b_scales)
    b_ = take(view, {"b_scales", view->columns(), view->rows(), true}, n, {n, 1, kColumnsOfABlock});
  blocks_ = *blocks;
  if (blocks_ > 1 && are_in_alpha()) {
    throw InputError(fmt::format(
        "{}: scales for {} parts of k, and a plan that has them in alpha; right would be 1 part", where, blocks_));
  }
  const bool is_plain = plan.k_order == KOrder::ascending && plan.slices == 1 && !plan.split_k &&
                        plan.residue == Residue::last && plan.promote_rounding == Rounding::nearest_even;
  if (blocks_ > 1 && !is_plain) {
    throw InputError(fmt::format(
        "{}: scales for {} parts of k, and a plan that goes through k otherwise; right would be k_order ascending, "
        "residue last, one slice, no split_k and promote_rounding nearest_even",
        where, blocks_));
  }
}

}  // namespace tcnum
