#include "scales.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <optional>

#include "performer.hpp"
#include "sums.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

/// How a matrix of scales lies beside its operand.
struct Shape {
  Shape(const MatrixView& view, ScalesOf of)
      : name(of == ScalesOf::a ? "a_scales" : "b_scales"),
        by_columns(of == ScalesOf::b),
        lines(by_columns ? view.columns() : view.rows()),
        blocks(by_columns ? view.rows() : view.columns()) {}

  std::string_view name;
  bool by_columns;            ///< a line is a column
  std::size_t lines, blocks;  ///< of scales
};

[[noreturn]] void refuse(std::string_view where, const Shape& shape, std::string_view right) {
  throw InputError(fmt::format("{}: {} has scales for {} {} and {} parts of k; expected {}", where, shape.name,
                               shape.lines, shape.by_columns ? "columns" : "rows", shape.blocks, right));
}

void check_format(const MatrixView& view, const Shape& shape, std::span<const FormatId> right, std::string_view where) {
  if (std::ranges::find(right, view.format()) != right.end()) return;
  std::vector<std::string_view> names;
  for (const FormatId id : right) names.push_back(format(id).name);
  throw InputError(fmt::format("{}: {} is of {}; expected {}", where, shape.name, format(view.format()).name,
                               fmt::join(names, ", ")));
}

std::vector<float> numbers_of(const MatrixView& view, const Shape& shape) {
  const Format& f = format(view.format());
  std::vector<float> numbers;
  numbers.reserve(shape.lines * shape.blocks);
  for (std::size_t line = 0; line < shape.lines; ++line) {
    for (std::size_t block = 0; block < shape.blocks; ++block) {
      const std::uint64_t code = shape.by_columns ? code_at(view, block, line) : code_at(view, line, block);
      numbers.push_back(static_cast<float>(number_of(f, code)));
    }
  }
  return numbers;
}

std::size_t parts(std::size_t of, std::size_t each) { return (of + each - 1) / each; }

}  // namespace

LineScales line_scales(const MatrixView& scales, ScalesOf of, std::size_t lines, std::string_view where) {
  constexpr std::array kFormats = {FormatId::fp32, FormatId::ue8m0, FormatId::ue4m3};
  const Shape shape(scales, of);
  check_format(scales, shape, kFormats, where);
  for (const std::size_t per_scale : {lines, std::size_t{1}, shape.by_columns ? kColumnsOfScale : lines}) {
    if (shape.lines == parts(lines, per_scale)) return {numbers_of(scales, shape), shape.blocks, per_scale};
  }
  refuse(where, shape,
         shape.by_columns ? fmt::format("1, {} or {}", parts(lines, kColumnsOfScale), lines)
                          : fmt::format("1 or {}", lines));
}

Scales::Scales(const GemmPlan& plan, FormatId sums, std::size_t m, std::size_t n, std::size_t k,
               const GemmInputs& inputs, std::string_view where)
    : order_(plan.scales), are_there_(inputs.a_scales != nullptr || inputs.b_scales != nullptr) {
  if (!are_there_) return;
  if (!format(sums).floating || format(sums).storage_bits > 32) {
    throw InputError(fmt::format("{}: scales of sums of {}; expected sums of fp32", where, format(sums).name));
  }
  const std::size_t promotions = plan.promote_every ? parts(k, *plan.promote_every) : 1;
  std::optional<std::size_t> blocks;
  const auto take = [&](const MatrixView* view, ScalesOf of, std::size_t lines) {
    if (view == nullptr) return LineScales();
    const Shape shape(*view, of);
    if (shape.blocks != 1 && shape.blocks != promotions) {
      refuse(where, shape,
             plan.promote_every ? fmt::format("1 part, or {}, of {} each", promotions, *plan.promote_every)
                                : "1 part, as the plan has no promote_every");
    }
    if (blocks.value_or(shape.blocks) != shape.blocks)
      refuse(where, shape, fmt::format("{} parts, as a_scales has", *blocks));
    blocks = shape.blocks;
    check_format(*view, shape, std::array{FormatId::fp32}, where);
    return line_scales(*view, of, lines, where);
  };
  a_ = take(inputs.a_scales, ScalesOf::a, m);
  b_ = take(inputs.b_scales, ScalesOf::b, n);
  blocks_ = *blocks;
  if (blocks_ > 1 && are_in_alpha()) {
    throw InputError(fmt::format("{}: scales for {} parts of k, and a plan that has them in alpha; expected 1 part",
                                 where, blocks_));
  }
  const bool is_plain = plan.k_order == KOrder::ascending && plan.slices == 1 && !plan.split_k &&
                        plan.residue == Residue::last && plan.promote_rounding == Rounding::nearest_even;
  if (blocks_ > 1 && !is_plain) {
    throw InputError(fmt::format(
        "{}: scales for {} parts of k, and a plan that goes through k otherwise; expected k_order ascending, "
        "residue last, one slice, no split_k and promote_rounding nearest_even",
        where, blocks_));
  }
}

}  // namespace tcnum
