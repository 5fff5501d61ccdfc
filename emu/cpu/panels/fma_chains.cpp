#include "fma_chains.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

#include "emu/cpu/tile_chain.hpp"
#include "emu/machine_rounding.hpp"
#include "fma_chain_kernels.hpp"
#include "number_codes.hpp"
#include "parts.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum::panels {
namespace {

/// Products along k that are packed at once: those of a panel of B stay in the cache.
constexpr std::size_t kProducts = 256;

template <class T>
class FmaPart {
 public:
  FmaPart(const FmaChainPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
          const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c, const Part& part)
      : plan_(plan),
        kernels_(*fma_kernels<T>()),
        shape_(shape),
        a_(a),
        b_(b),
        c_(c),
        part_(part),
        row_groups_(rounded_up(part.m, kernels_.rows) / kernels_.rows),
        column_groups_(rounded_up(part.n, kernels_.columns) / kernels_.columns),
        a_reader_(plan.a, any_nan()),
        b_reader_(plan.b, any_nan()),
        with_nans_(plan.datapath) {
    results_.resize(row_groups_ * column_groups_ * kernels_.rows * kernels_.columns);
    before_.resize(kernels_.rows * kernels_.columns);
    places_.resize(plan.depth);
    for (std::size_t i = 0; i < plan.depth; ++i) places_[static_cast<std::size_t>(plan.chain.order[i])] = i;
  }

  void run(const MatrixCodes<std::byte>& d) {
    const PlainArithmetic plain;
    std::fill_n(results_.data(), results_.size(), T{0});
    if (c_.codes != nullptr) read_c();
    {
      const MachineRounding rounding(plan_.chain.rounding);
      const std::size_t k_steps = rounded_up(shape_.k, plan_.depth) / plan_.depth;
      const std::size_t at_once = std::max<std::size_t>(1, kProducts / plan_.depth);
      for (std::size_t k_step = 0; k_step < k_steps; k_step += at_once)
        add_k_steps(k_step, std::min(at_once, k_steps - k_step));
    }
    write_d(d);
  }

 private:
  static NanBits<T> any_nan() { return {std::bit_cast<BitsOf<T>>(std::numeric_limits<T>::quiet_NaN()), false, 0}; }

  T* tile(std::size_t row_group, std::size_t column_group) {
    return &results_[(column_group * row_groups_ + row_group) * kernels_.rows * kernels_.columns];
  }

  /// Calls with each stretch of a row of C or D: its results, how many, and its first code.
  template <class Byte, class With>
  void each_stretch(const MatrixCodes<Byte>& matrix, std::size_t bytes, const With& with) {
    for (std::size_t i = 0; i < part_.m; ++i) {
      for (std::size_t group = 0; group < column_groups_; ++group) {
        const std::size_t j = group * kernels_.columns;
        const std::size_t at = (part_.i + i) * matrix.row_stride + (part_.j + j) * matrix.column_stride;
        with(tile(i / kernels_.rows, group) + i % kernels_.rows * kernels_.columns,
             std::min(kernels_.columns, part_.n - j), matrix.codes + at * bytes);
      }
    }
  }
  void read_c() {
    const NumberReader<T> reader(plan_.c, any_nan());
    each_stretch(c_, reader.bytes, [&](T* results, std::size_t count, const std::byte* codes) {
      reader.read(codes, c_.column_stride, count, results);
    });
  }
  void write_d(const MatrixCodes<std::byte>& d) {
    each_stretch(d, sizeof(T), [&](const T* results, std::size_t count, std::byte* codes) {
      for (std::size_t j = 0; j < count; ++j) {
        BitsOf<T> bits;
        std::memcpy(&bits, results + j, sizeof(bits));
        const bool nan = (bits & ~kSign<T>) > kInfinity<T>;
        if (nan && !plan_.nan.propagate) bits = static_cast<BitsOf<T>>(plan_.nan.code);
        std::memcpy(codes + j * d.column_stride * sizeof(T), &bits, sizeof(bits));
      }
    });
  }
  template <class U>
  static constexpr BitsOf<U> kSign = BitsOf<U>{1} << (8 * sizeof(U) - 1);
  template <class U>
  static constexpr BitsOf<U> kInfinity = std::bit_cast<BitsOf<U>>(std::numeric_limits<U>::infinity());

  /// Packs some k-steps of a group of lines. `line_stride` and `k_stride`: of the codes, of which the first is that of
  /// the group's first line and the k-steps' first k.
  void pack(const NumberReader<T>& reader, const std::byte* codes, std::size_t line_stride, std::size_t k_stride,
            std::size_t lines, std::size_t group_lines, std::size_t first_k_step, std::size_t k_steps, T* to) {
    const std::size_t depth = plan_.depth, count = k_steps * depth;
    const std::size_t there = std::min(count, shape_.k - first_k_step * depth);  // products after these are of zeros
    const std::size_t first_code = first_k_step * depth * k_stride;
    codes += first_code * reader.bytes;
    if (lines < group_lines || there < count) std::fill_n(to, group_lines * count, T{0});
    if (line_stride == 1) {
      for (std::size_t k = 0; k < there; ++k)
        reader.read(codes + k * k_stride * reader.bytes, line_stride, lines, to + place_of_[k] * group_lines);
    } else {
      line_.resize(count);
      for (std::size_t line = 0; line < lines; ++line) {
        reader.read(codes + line * line_stride * reader.bytes, k_stride, there, line_.data());
        for (std::size_t k = 0; k < there; ++k) to[place_of_[k] * group_lines + line] = line_[k];
      }
    }
  }
  void add_k_steps(std::size_t first, std::size_t k_steps) {
    const std::size_t rows = kernels_.rows, columns = kernels_.columns, count = k_steps * plan_.depth;
    place_of_.clear();
    for (std::size_t k_step = 0; k_step < k_steps; ++k_step) {
      for (const std::size_t place : places_) place_of_.push_back(k_step * plan_.depth + place);
    }
    packed_a_.resize(row_groups_ * rows * count);
    for (std::size_t group = 0; group < row_groups_; ++group) {
      const std::size_t row = group * rows;
      pack(a_reader_, a_.codes + (part_.i + row) * a_.row_stride * a_reader_.bytes, a_.row_stride, a_.column_stride,
           std::min(rows, part_.m - row), rows, first, k_steps, &packed_a_[row * count]);
    }
    packed_b_.resize(columns * count);
    for (std::size_t group = 0; group < column_groups_; ++group) {
      const std::size_t column = group * columns;
      pack(b_reader_, b_.codes + (part_.j + column) * b_.column_stride * b_reader_.bytes, b_.column_stride,
           b_.row_stride, std::min(columns, part_.n - column), columns, first, k_steps, packed_b_.data());
      for (std::size_t row_group = 0; row_group < row_groups_; ++row_group) {
        T* const results = tile(row_group, group);
        if (plan_.nan.propagate) std::copy_n(results, before_.size(), before_.data());
        kernels_.add({&packed_a_[row_group * rows * count], packed_b_.data(), count, results});
        if (plan_.nan.propagate) put_nans(first * plan_.depth, count, row_group * rows, column, results);
      }
    }
  }

  /// Which NaN a NaN is, tile by tile: of each stretch of them in a row, along products k … k + count − 1.
  void put_nans(std::size_t k, std::size_t count, std::size_t row, std::size_t column, T* results) {
    const std::size_t columns = std::min(kernels_.columns, part_.n - column);
    for (std::size_t r = 0; r < std::min(kernels_.rows, part_.m - row); ++r) {
      T* const of_row = results + r * kernels_.columns;
      for (std::size_t first = 0, end = 0; first < columns; first = end + 1) {
        for (end = first; end < columns && std::isnan(of_row[end]);) ++end;
        if (end == first) continue;
        const std::size_t i = part_.i + row + r, j = part_.j + column + first;
        const auto* const before = reinterpret_cast<const std::byte*>(&before_[r * kernels_.columns + first]);
        MatrixCodes<const std::byte> c = codes_from(before, end - first);
        if (k == 0) c = c_.codes == nullptr ? c_ : part_from(c_, i, j, bytes_of(plan_.c.format));
        with_nans_.multiply({1, end - first, std::min(count, shape_.k - k)}, part_from(a_, i, k, a_reader_.bytes),
                            part_from(b_, k, j, b_reader_.bytes), c,
                            codes_from(reinterpret_cast<std::byte*>(of_row + first), end - first));
      }
    }
  }

  const FmaChainPlan& plan_;
  const FmaKernels<T>& kernels_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_, c_;
  Part part_;
  std::size_t row_groups_, column_groups_;
  NumberReader<T> a_reader_, b_reader_;
  TileChain with_nans_;
  Buffer<T> packed_a_, packed_b_;  // groups of lines that go through the kernel together, side by side for each product
  Buffer<T> results_, before_, line_;
  std::vector<std::size_t> places_;    // of product k of a k-step, in the chain's order
  std::vector<std::size_t> place_of_;  // the same of all k-steps that are packed
};

}  // namespace

WhyNot why_no_fma_panels(const Numerics& numerics, const SortedTree& tree) {
  const FormatId number = numerics.result;
  if (number != FormatId::fp64 && number != FormatId::fp32) return "its results are neither fp64 nor fp32";
  for (const OperandRule* operand : {&numerics.a, &numerics.b, &numerics.c}) {
    if (!reads_exactly(number, operand->format)) return "its operands are no numbers of the result's format";
  }
  // Results would be flushed as the c of another k-step.
  if (numerics.c.format == number && numerics.c.subnormals != Subnormals::kept) return "c's subnormals are flushed";
  return why_no_fma_chain_in(number, numerics, tree);
}

FmaChainPlan make_fma_chain_plan(const Numerics& numerics, const SortedTree& tree) {
  const auto depth = static_cast<std::size_t>(tree.tree.k);
  return {numerics.a,   numerics.b,
          numerics.c,   numerics.result,
          depth,        fma_chain_of(numerics, tree),
          numerics.nan, {numerics, {}, tree.tree}};
}

void multiply(const FmaChainPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads) {
  each_part(shape, threads, [&](const Part& part) {
    if (plan.number == FormatId::fp64)
      FmaPart<double>(plan, shape, a, b, c, part).run(d);
    else
      FmaPart<float>(plan, shape, a, b, c, part).run(d);
  });
}

}  // namespace tcnum::panels
