#include "trees.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <span>
#include <vector>

#include "emu/cpu/tile_chain.hpp"
#include "emu/machine_rounding.hpp"
#include "number_codes.hpp"
#include "parts.hpp"
#include "prefetch.hpp"
#include "tcnum/matrix.hpp"
#include "tree_kernels.hpp"

namespace tcnum::panels {
namespace {

/// Products along k that are packed at once: with the results of a panel, those of a panel stay in the second-level
/// cache.
constexpr std::size_t kProducts = 128;
/// What the inner loops read of a panel at once is so much at most: less would stay in a first-level cache, but results
/// would come and go more often, which costs more.
constexpr std::size_t kPanelBytes = 98304;
/// Lines of A are whole vectors, of whatever machine.
constexpr std::size_t kMostLanes = 8;

/// Some products of lines of A or of a panel of B.
struct PackedTree {
  Buffer<double> numbers, biased;
  Buffer<std::int16_t> exponents;
  Buffer<std::int64_t> flags;
  Buffer<std::uint8_t> few_flags;

  /// Room for so many operands: for zeros, if not all will be there.
  void resize(std::size_t count, bool are_all_there) {
    numbers.resize(count);
    if (!are_all_there) std::fill_n(numbers.data(), count, 0.0);
    exponents.resize(count);
    biased.resize(count);
  }
  void resize_flags(std::size_t words) {
    flags.resize(words);
    few_flags.resize(words);
  }
  void put_flags(std::size_t word, std::uint64_t bits) {
    flags[word] = static_cast<std::int64_t>(bits);
    few_flags[word] = static_cast<std::uint8_t>(bits);
  }

  /// Multiplies the numbers of a block, so far apart, by its scale.
  void scale(std::size_t first, std::size_t count, std::size_t apart, const Scale& by, const TreePlan& plan) {
    // Of zeros that take part in no alignment, below all others with any scale of the other operand too.
    constexpr auto kNoExponent = static_cast<std::int16_t>(kNoExponent16 - 400);
    for (std::size_t at = first; at < first + count * apart; at += apart) {
      const double unscaled = numbers[at];
      numbers[at] *= by.value;
      // What becomes too large or too small for a double is no infinity or zero, but unusual (kLeastUsualOperand).
      if (plan.asks_for_usual_operands) {
        using Limits = std::numeric_limits<double>;
        if (std::isinf(numbers[at]) && std::isfinite(unscaled)) numbers[at] = std::copysign(Limits::max(), unscaled);
        if (numbers[at] == 0 && unscaled != 0 && by.value != 0)
          numbers[at] = std::copysign(Limits::denorm_min(), unscaled);
      }
      if (!plan.wants_exponents) continue;
      const bool takes_none = exponents[at] <= kNoExponent16 || (numbers[at] == 0 && !plan.zeros_align);
      exponents[at] = takes_none ? kNoExponent : static_cast<std::int16_t>(exponents[at] + by.exponent);
    }
  }
};

/// Scales of sums.
struct PackedScales {
  Buffer<double> values, powers;

  void put_ones(std::size_t count) {
    for (Buffer<double>* all : {&values, &powers}) {
      all->resize(count);
      std::fill_n(all->data(), count, 1.0);
    }
  }
  /// What a zero scales is aligned with nothing, unless zeros align.
  void put(std::size_t at, const Scale& scale, bool zeros_align) {
    values[at] = scale.value;
    powers[at] = scale.value == 0 && !zeros_align ? 0 : std::ldexp(1.0, scale.exponent);
  }
};

class TreePart {
 public:
  TreePart(const TreePlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
           const MatrixCodes<const std::byte>& b, const BlockScales& scales, const Part& part)
      : plan_(plan),
        kernels_(*tree_kernels()),
        shape_(shape),
        a_(a),
        b_(b),
        part_(part),
        rows_(rounded_up(part.m, kTreeRows)),
        panels_(rounded_up(part.n, kColumns) / kColumns),
        results_(part, rows_),
        a_reader_(plan.a, operand_nan()),
        b_reader_(plan.b, operand_nan()),
        scales_(scales),
        left_over_(plan.datapath) {
    if (plan.scales) scale_of_code_ = scales_of(plan.scales->format);
    for (auto* room : {&sums_, &alignments_}) room->resize(kTreeRows * kColumns);
    left_.resize(kTreeRows * kColumns);
    tops_.resize(kTreeRows * kColumns);
    std::size_t most_terms = 0;
    for (const TreeNode& node : plan.nodes) most_terms = std::max(most_terms, node.terms.size());
    terms_.resize(2 * most_terms * kTreeRows * kMostLanes);
    values_.resize(plan.places * kTreeRows * kColumns);
    powers_.resize(values_.size());
  }

  void run(const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    const PlainArithmetic plain;
    if (c.codes != nullptr) read_c(c);
    const std::size_t k_steps = rounded_up(shape_.k, plan_.depth) / plan_.depth;
    const std::size_t at_once = std::max<std::size_t>(1, kProducts / plan_.depth);
    for (std::size_t k_step = 0; k_step < k_steps; k_step += at_once)
      add_k_steps(k_step, std::min(at_once, k_steps - k_step));
    write_d(d);
  }

 private:
  static NanBits<double> operand_nan() { return {kQuietNan, false, 0}; }

  double* results(std::size_t row, std::size_t panel) { return results_.of(row, panel); }

  void read_c(const MatrixCodes<const std::byte>& c) {
    // As they are: what c's rule makes of subnormal numbers is done where they are used.
    const OperandRule rule{plan_.c.format, Subnormals::kept, SubnormalExponent::minimum};
    const NumberReader<double> reader(rule, {kQuietNan, true, kQuietNan});
    results_.each_stretch(c, format(plan_.c.format).storage_bytes(),
                          [&](double* numbers, std::size_t count, const std::byte* codes) {
                            reader.read(codes, c.column_stride, count, numbers);
                          });
  }
  void write_d(const MatrixCodes<std::byte>& d) {
    const NumberWriter writer(plan_.result, plan_.nan.propagate ? std::nullopt : std::optional(plan_.nan.code));
    results_.each_stretch(d, format(plan_.result).storage_bytes(),
                          [&](const double* numbers, std::size_t count, std::byte* codes) {
                            writer.write(numbers, count, codes, d.column_stride);
                          });
  }

  void add_k_steps(std::size_t first_k_step, std::size_t k_steps) {
    const std::size_t first = first_k_step * plan_.depth, products = k_steps * plan_.depth;
    const std::size_t there = std::min(products, shape_.k - first);  // products after these are of zeros
    a_length_ = rounded_up(products, kMostLanes);
    packed_a_.resize(rows_ * a_length_, part_.m == rows_ && there == a_length_);
    for (std::size_t i = 0; i < part_.m; ++i) {
      const std::size_t at = (part_.i + i) * a_.row_stride + first * a_.column_stride;
      a_reader_.read(a_.codes + at * a_reader_.bytes, a_.column_stride, there, &packed_a_.numbers[i * a_length_]);
    }
    find_exponents(plan_.a, packed_a_);
    if (plan_.scales_sums) a_scales_.put_ones(rows_ * (products / block()));
    for (std::size_t i = 0; plan_.scales && i < part_.m; ++i) {
      const MatrixCodes<const std::byte>& all = scales_.a;
      each_scale(all.codes + (part_.i + i) * all.row_stride, all.column_stride, first, there,
                 [&](std::size_t k, const Scale& scale) {
                   if (plan_.scales_sums)
                     a_scales_.put(i * (products / block()) + k / block(), scale, plan_.zeros_align);
                   else
                     packed_a_.scale(i * a_length_ + k, std::min(block(), products - k), 1, scale, plan_);
                 });
    }
    finish_packing(packed_a_);
    put_tops<tops_of_a>(packed_a_.exponents, a_tops_);
    find_flags_of_a(k_steps);
    finite_rows_.resize(rows_ / kTreeRows);
    usual_rows_.resize(rows_ / kTreeRows);
    reach_of_rows_.resize(rows_ / kTreeRows);
    for (std::size_t group = 0; group < finite_rows_.size(); ++group) {
      const double* const numbers = &packed_a_.numbers[group * kTreeRows * a_length_];
      finite_rows_[group] = kernels_.are_finite(numbers, kTreeRows * a_length_);
      usual_rows_[group] = are_usual(numbers, kTreeRows * a_length_);
      reach_of_rows_[group] = reach_of(plan_.a, numbers, kTreeRows * a_length_);
    }
    for (std::size_t panel = 0; panel < panels_; ++panel) {
      const std::size_t column = part_.j + panel * kColumns, columns = std::min(kColumns, part_.j + part_.n - column);
      packed_b_.resize(products * kColumns, there == products && columns == kColumns);
      for (std::size_t k = 0; k < there; ++k) {
        const std::size_t at = (first + k) * b_.row_stride + column * b_.column_stride;
        const std::byte* const codes = b_.codes + at * b_reader_.bytes;
        prefetch_row_after(codes, b_.row_stride * b_reader_.bytes, there - 1 - k, columns * b_reader_.bytes);
        b_reader_.read(codes, b_.column_stride, columns, &packed_b_.numbers[k * kColumns]);
      }
      find_exponents(plan_.b, packed_b_);
      if (plan_.scales_sums) b_scales_.put_ones(products / block() * kColumns);
      for (std::size_t j = 0; plan_.scales && j < columns; ++j) {
        const MatrixCodes<const std::byte>& all = scales_.b;
        each_scale(all.codes + (column + j) * all.column_stride, all.row_stride, first, there,
                   [&](std::size_t k, const Scale& scale) {
                     if (plan_.scales_sums)
                       b_scales_.put(k / block() * kColumns + j, scale, plan_.zeros_align);
                     else
                       packed_b_.scale(k * kColumns + j, std::min(block(), products - k), kColumns, scale, plan_);
                   });
      }
      finish_packing(packed_b_);
      put_tops<top_of_b>(packed_b_.exponents, b_tops_);
      find_flags_of_b(k_steps);
      const bool finite_panel = kernels_.are_finite(packed_b_.numbers.data(), packed_b_.numbers.size());
      const bool usual_panel = are_usual(packed_b_.numbers.data(), packed_b_.numbers.size());
      reach_of_k_steps_.resize(k_steps);
      for (std::size_t k_step = 0; k_step < k_steps; ++k_step) {
        const std::size_t count = plan_.depth * kColumns;
        reach_of_k_steps_[k_step] = reach_of(plan_.b, &packed_b_.numbers[k_step * count], count);
      }
      const std::size_t together = k_steps_together();
      for (std::size_t k_step = 0; k_step < k_steps; k_step += together) {
        const std::size_t here = std::min(together, k_steps - k_step);
        const Reach* const of_k_steps = reach_of_k_steps_.data() + k_step;
        const Reach of_all = {std::ranges::min(std::span(of_k_steps, here), {}, &Reach::lowest).lowest,
                              std::ranges::max(std::span(of_k_steps, here), {}, &Reach::top).top};
        for (std::size_t row = 0; row < rows_; row += kTreeRows) {
          TreeWork work = work_of(k_steps, k_step, row, panel);
          work.k_steps = here;
          if (row + kTreeRows < rows_) work.next = results(row + kTreeRows, panel);
          work.are_finite = finite_panel && finite_rows_[row / kTreeRows];
          work.a_reach = reach_of_rows_[row / kTreeRows];
          work.b_reach = of_all;
          work.b_reach_of_k_step = of_k_steps;
          if (!plan_.leaves_some)
            kernels_.run(work);
          else if (run_leaving(work, usual_panel && usual_rows_[row / kTreeRows]))
            evaluate_left(first + k_step * plan_.depth, row, panel);
        }
      }
    }
  }
  bool are_usual(const double* numbers, std::size_t count) const {
    return !plan_.asks_for_usual_operands || kernels_.are_usual(numbers, count, kLeastUsualOperand);
  }
  /// Along one k-step; whether any result was left.
  bool run_leaving(const TreeWork& work, bool are_usual) {
    if (are_usual) return kernels_.run_leaving(work);
    std::fill_n(left_.data(), left_.size(), -1);
    return true;
  }
  /// Of finite numbers of an operand.
  Reach reach_of(const OperandRule& rule, const double* numbers, std::size_t count) const {
    const auto [least, most] = kernels_.extremes(numbers, count);
    if (!std::isfinite(most)) return {};
    const Format& f = format(rule.format);
    // A significand times a scale's has all bits of both.
    if (scales_products()) {
      const int below = f.fraction_bits + format(plan_.scales->format).fraction_bits + 1;
      return {std::ilogb(least) - below, std::ilogb(most) + 1};
    }
    return {std::max(std::ilogb(least), f.min_exponent()) - f.fraction_bits, std::ilogb(most) + 1};
  }
  /// K-steps that the kernels are given at once.
  std::size_t k_steps_together() const {
    const std::size_t read = sizeof(double) + (plan_.wants_exponents ? sizeof(std::int16_t) : 0);  // of a product
    const std::size_t products = kPanelBytes / (read * kColumns);
    return plan_.leaves_some ? 1 : std::max<std::size_t>(1, products / plan_.depth);
  }
  /// Of operands as they are, before they are scaled.
  void find_exponents(const OperandRule& rule, PackedTree& packed) const {
    if (!plan_.wants_exponents) return;
    kernels_.exponents(rule, plan_.zeros_align, packed.numbers.data(), packed.numbers.size(), packed.exponents.data());
  }
  template <auto kTopOf, class Top>
  void put_tops(const Buffer<std::int16_t>& exponents, Buffer<Top>& tops) const {
    tops.resize(exponents.size());
    if (!plan_.wants_exponents) return;
    std::transform(exponents.data(), exponents.data() + exponents.size(), tops.data(),
                   [](std::int16_t exponent) { return kTopOf(exponent); });
  }
  void finish_packing(PackedTree& packed) const {
    if (plan_.cuts_products) kernels_.grow(packed.numbers.data(), packed.numbers.size(), packed.biased.data());
  }
  bool scales_products() const { return plan_.scales && !plan_.scales_sums; }
  std::size_t block() const { return static_cast<std::size_t>(plan_.scales->block_k); }
  /// Calls with the scale of each block of a line, `stride` codes after the one before, and the block's first product.
  template <class With>
  void each_scale(const std::byte* codes, std::size_t stride, std::size_t first, std::size_t products,
                  const With& with) const {
    for (std::size_t k = 0; k < products; k += block()) {
      const auto code = std::to_integer<std::size_t>(codes[(first + k) / block() * stride]);
      with(k, scale_of_code_[code & (scale_of_code_.size() - 1)]);
    }
  }
  /// Words and bytes of a node's operands, line by line along k: [lines][k-steps][nodes]. Where the node cuts products
  /// they tell which are negative, and where its scales alone align its sum, which are not zero.
  void find_flags_of_a(std::size_t k_steps) {
    const std::size_t words = k_steps * plan_.nodes.size();
    packed_a_.resize_flags(rows_ * words);
    each_word_of_flags(k_steps, [&](std::size_t word, std::size_t first, const std::vector<int>& products, auto flag) {
      for (std::size_t line = 0; line < rows_; ++line) {
        const double* const numbers = &packed_a_.numbers[line * a_length_ + first];
        std::uint64_t flags = 0;
        for (std::size_t i = 0; i < products.size(); ++i)
          flags |= flag(numbers[static_cast<std::size_t>(products[i])]) << i;
        packed_a_.put_flags(line * words + word, flags);
      }
    });
  }
  /// Those of a panel, of all columns at once: [k-steps][nodes][kColumns].
  void find_flags_of_b(std::size_t k_steps) {
    packed_b_.resize_flags(k_steps * plan_.nodes.size() * kColumns);
    each_word_of_flags(k_steps, [&](std::size_t word, std::size_t first, const std::vector<int>& products, auto flag) {
      std::uint64_t flags[kColumns] = {};
      for (std::size_t i = 0; i < products.size(); ++i) {
        const double* const numbers = &packed_b_.numbers[(first + static_cast<std::size_t>(products[i])) * kColumns];
        for (std::size_t j = 0; j < kColumns; ++j) flags[j] |= flag(numbers[j]) << i;
      }
      for (std::size_t j = 0; j < kColumns; ++j) packed_b_.put_flags(word * kColumns + j, flags[j]);
    });
  }
  template <class Visit>
  void each_word_of_flags(std::size_t k_steps, const Visit& visit) const {
    const auto is_negative = [](double x) { return std::bit_cast<std::uint64_t>(x) >> 63; };
    const auto is_not_zero = [](double x) { return x != 0 ? std::uint64_t{1} : std::uint64_t{0}; };
    std::size_t word = 0;
    for (std::size_t k_step = 0; k_step < k_steps; ++k_step) {
      for (const TreeNode& node : plan_.nodes) {
        if (node.sum == TreeSum::cut_products) visit(word, k_step * plan_.depth, node.products, is_negative);
        if (node.unit.scale_exponents_alone) visit(word, k_step * plan_.depth, node.products, is_not_zero);
        ++word;
      }
    }
  }

  /// From one of the packed k-steps on.
  TreeWork work_of(std::size_t k_steps, std::size_t k_step, std::size_t row, std::size_t panel) {
    TreeWork work;
    const std::size_t k = k_step * plan_.depth, words = k_steps * plan_.nodes.size(),
                      word = k_step * plan_.nodes.size();
    work.plan = &plan_;
    work.b = packed_b_.numbers.data() + k * kColumns;
    work.b_tops = b_tops_.data() + k * kColumns;
    work.b_biased = packed_b_.biased.data() + k * kColumns;
    work.b_few_flags = packed_b_.few_flags.data() + word * kColumns;
    work.b_flags = packed_b_.flags.data() + word * kColumns;
    const std::size_t at = row * a_length_ + k;
    work.a = {packed_a_.numbers.data() + at, a_length_};
    work.a_tops = {a_tops_.data() + at, a_length_};
    work.a_biased = {packed_a_.biased.data() + at, a_length_};
    work.a_few_flags = {packed_a_.few_flags.data() + row * words + word, words};
    work.a_flags = {packed_a_.flags.data() + row * words + word, words};
    for (std::size_t r = 0; r < kTreeRows; ++r) {
      work.results[r] = results(row + r, panel);
      work.left[r] = &left_[r * kColumns];
    }
    if (plan_.scales_sums) {
      const std::size_t blocks = k_steps * plan_.depth / block(), at_block = k / block();
      work.a_scales = {a_scales_.values.data() + row * blocks + at_block, blocks};
      work.a_scale_powers = {a_scales_.powers.data() + row * blocks + at_block, blocks};
      work.b_scales = b_scales_.values.data() + at_block * kColumns;
      work.b_scale_powers = b_scales_.powers.data() + at_block * kColumns;
    }
    work.terms = terms_.data();
    work.values = values_.data();
    work.powers = powers_.data();
    work.sums = sums_.data();
    work.alignments = alignments_.data();
    work.tops = tops_.data();
    return work;
  }

  /// One k-step of what the kernels left of some rows.
  void evaluate_left(std::size_t k, std::size_t row, std::size_t panel) {
    for (std::size_t r = 0; r < kTreeRows && row + r < part_.m; ++r)
      evaluate_left(k, row + r, panel, &left_[r * kColumns], results(row + r, panel));
  }
  /// One k-step of those columns of a row that the kernels left: of each stretch of them.
  void evaluate_left(std::size_t k, std::size_t row, std::size_t panel, const std::int64_t* left, double* sums) {
    const std::size_t columns = std::min(kColumns, part_.n - panel * kColumns);
    for (std::size_t first = 0, end = 0; first < columns; first = end + 1) {
      for (end = first; end < columns && left[end] != 0;) ++end;
      if (end > first) evaluate_left(k, row, panel * kColumns + first, sums + first, end - first);
    }
  }
  void evaluate_left(std::size_t k, std::size_t row, std::size_t column, double* sums, std::size_t count) {
    const std::size_t i = part_.i + row, j = part_.j + column;
    std::byte c[kColumns * sizeof(double)], d[kColumns * sizeof(double)];
    // Of c's own NaNs their own, as of results of k-steps before, unless all have one code.
    const bool have_own = k == 0 || plan_.nan.propagate;
    const NumberWriter writer(plan_.c.format, have_own ? std::nullopt : std::optional(plan_.nan.code));
    writer.write(sums, count, c, 1);
    BlockScales scales;
    if (plan_.scales) {
      const std::size_t bytes = bytes_of(plan_.scales->format), at = k / block();
      scales = {part_from(scales_.a, i, at, bytes), part_from(scales_.b, at, j, bytes)};
    }
    left_over_.multiply({1, count, std::min(plan_.depth, shape_.k - k)}, part_from(a_, i, k, a_reader_.bytes),
                        part_from(b_, k, j, b_reader_.bytes), codes_from<const std::byte>(c, count),
                        codes_from(d, count), scales);
    const NumberReader<double> reader({plan_.result, Subnormals::kept, SubnormalExponent::minimum},
                                      {kQuietNan, true, kQuietNan});
    reader.read(d, 1, count, sums);
  }

  const TreePlan& plan_;
  const TreeKernels& kernels_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_;
  Part part_;
  std::size_t rows_, panels_, a_length_ = 0;
  PartNumbers<double> results_;
  NumberReader<double> a_reader_, b_reader_;
  BlockScales scales_;
  std::vector<Scale> scale_of_code_;
  TileChain left_over_;
  PackedTree packed_a_, packed_b_;
  Buffer<std::int32_t> a_tops_;
  Buffer<std::int16_t> b_tops_;
  PackedScales a_scales_, b_scales_;
  Buffer<double> terms_, values_, powers_, sums_, alignments_;
  Buffer<std::int64_t> left_;
  Buffer<std::int16_t> tops_;
  std::vector<bool> finite_rows_, usual_rows_;
  std::vector<Reach> reach_of_rows_, reach_of_k_steps_;
};

}  // namespace

void multiply(const TreePlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales) {
  each_part(shape, threads, [&](const Part& part) { TreePart(plan, shape, a, b, scales, part).run(c, d); });
}

}  // namespace tcnum::panels
