#include "fma_chains.hpp"

#include <algorithm>
#include <cstring>
#include <vector>

#include "emu/machine_rounding.hpp"
#include "emu/parallel.hpp"
#include "fma_chain_kernels.hpp"
#include "parts.hpp"

namespace tcnum::panels {
namespace {

/// Products along k that are packed at once: those of a panel of B stay in the cache.
constexpr std::size_t kProducts = 256;

/// Rows of A, or columns of B, that go through the kernel together: their numbers side by side for each product.
template <class T>
struct PackedLines {
  Buffer<T> numbers;
  std::vector<std::vector<std::size_t>> nan_at;  ///< of each group of lines, the products that one has a NaN in

  T* group(std::size_t number, std::size_t lines, std::size_t products) { return &numbers[number * lines * products]; }
};

template <class T>
class FmaPart {
 public:
  FmaPart(const FmaChainPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
          const MatrixCodes<const std::byte>& b, const Part& part)
      : plan_(plan),
        kernels_(*fma_kernels<T>()),
        shape_(shape),
        a_(a),
        b_(b),
        part_(part),
        row_groups_(rounded_up(part.m, kernels_.rows) / kernels_.rows),
        column_groups_(rounded_up(part.n, kernels_.columns) / kernels_.columns),
        a_reader_(plan.a, nan_bits<T>(plan.nan, plan.number, plan.a.format)),
        b_reader_(plan.b, nan_bits<T>(plan.nan, plan.number, plan.b.format)) {
    results_.resize(row_groups_ * column_groups_ * kernels_.rows * kernels_.columns);
    before_.resize(kernels_.rows * kernels_.columns);
    places_.resize(plan.depth);
    for (std::size_t i = 0; i < plan.depth; ++i) places_[static_cast<std::size_t>(plan.chain.order[i])] = i;
  }

  void run(const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    const PlainArithmetic plain;
    std::fill_n(results_.data(), results_.size(), T{0});
    if (c.codes != nullptr) read_c(c);
    {
      const MachineRounding rounding(plan_.chain.rounding);
      const std::size_t links = rounded_up(shape_.k, plan_.depth) / plan_.depth;
      const std::size_t at_once = std::max<std::size_t>(1, kProducts / plan_.depth);
      const std::uint64_t quiet = plan_.nan.code | nan_code(format(plan_.number));
      for (std::size_t link = 0, here; link < links; link += here) {
        here = std::min(at_once, links - link);
        // A NaN becomes quiet as the c of another link: the last link's may be another than those before.
        const bool ends = link + here == links;
        if (plan_.nan.code != quiet && ends && here > 1) --here;
        new_nan_ = static_cast<BitsOf<T>>(link + here == links ? plan_.nan.code : quiet);
        a_reader_.nan.code = b_reader_.nan.code = new_nan_;
        add_links(link, here);
      }
    }
    write_d(d);
  }

 private:
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
  void read_c(const MatrixCodes<const std::byte>& c) {
    const NumberReader<T> reader(plan_.c, nan_bits<T>(plan_.nan, plan_.number, plan_.c.format));
    each_stretch(c, reader.bytes, [&](T* results, std::size_t count, const std::byte* codes) {
      reader.read(codes, c.column_stride, count, results);
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

  /// Packs some links of a group of lines. `line_stride` and `k_stride`: of the codes, of which the first is that of
  /// the group's first line and the links' first k.
  void pack(const NumberReader<T>& reader, const std::byte* codes, std::size_t line_stride, std::size_t k_stride,
            std::size_t lines, std::size_t group_lines, std::size_t first_link, std::size_t links, T* to,
            std::vector<std::size_t>& nan_at) {
    const std::size_t depth = plan_.depth, count = links * depth;
    const std::size_t there = std::min(count, shape_.k - first_link * depth);  // products after these are of zeros
    const std::size_t first_code = first_link * depth * k_stride;
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
    nan_at.clear();
    if (!plan_.nan.propagate) return;
    const auto is_nan = [](T x) { return x != x; };
    for (std::size_t place = 0; place < count; ++place) {
      const T* const numbers = to + place * group_lines;
      if (std::any_of(numbers, numbers + lines, is_nan)) nan_at.push_back(place);
    }
  }
  void add_links(std::size_t first, std::size_t links) {
    const std::size_t rows = kernels_.rows, columns = kernels_.columns, count = links * plan_.depth;
    place_of_.clear();
    for (std::size_t link = 0; link < links; ++link) {
      for (const std::size_t place : places_) place_of_.push_back(link * plan_.depth + place);
    }
    packed_a_.numbers.resize(row_groups_ * rows * count);
    packed_a_.nan_at.resize(row_groups_);
    for (std::size_t group = 0; group < row_groups_; ++group) {
      const std::size_t row = group * rows;
      pack(a_reader_, a_.codes + (part_.i + row) * a_.row_stride * a_reader_.bytes, a_.row_stride, a_.column_stride,
           std::min(rows, part_.m - row), rows, first, links, packed_a_.group(group, rows, count),
           packed_a_.nan_at[group]);
    }
    packed_b_.numbers.resize(columns * count);
    packed_b_.nan_at.resize(1);
    for (std::size_t group = 0; group < column_groups_; ++group) {
      const std::size_t column = group * columns;
      pack(b_reader_, b_.codes + (part_.j + column) * b_.column_stride * b_reader_.bytes, b_.column_stride,
           b_.row_stride, std::min(columns, part_.n - column), columns, first, links, packed_b_.numbers.data(),
           packed_b_.nan_at[0]);
      for (std::size_t row_group = 0; row_group < row_groups_; ++row_group) {
        add_to_tile({packed_a_.group(row_group, rows, count), packed_b_.numbers.data(), count, tile(row_group, group)},
                    packed_a_.nan_at[row_group], packed_b_.nan_at[0]);
      }
    }
  }

  /// As if nothing were a NaN, and if something is one then once more.
  void add_to_tile(const FmaWork<T>& work, const std::vector<std::size_t>& a_nans,
                   const std::vector<std::size_t>& b_nans) {
    if (!plan_.nan.propagate) return kernels_.add(work);
    std::memcpy(before_.data(), work.results, before_.size() * sizeof(T));
    kernels_.add(work);
    if (!kernels_.any_nan(work.results)) return;
    nan_at_.clear();
    std::ranges::set_union(a_nans, b_nans, std::back_inserter(nan_at_));
    const FmaNans<T> nans{new_nan_, plan_.nan.order};
    kernels_.add_with_nans(work, nans, nan_at_.data(), nan_at_.size(), before_.data());
  }

  const FmaChainPlan& plan_;
  const FmaKernels<T>& kernels_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_;
  Part part_;
  std::size_t row_groups_, column_groups_;
  NumberReader<T> a_reader_, b_reader_;
  PackedLines<T> packed_a_, packed_b_;
  Buffer<T> results_, before_, line_;
  std::vector<std::size_t> places_;    // of product k of a link, in the chain's order
  std::vector<std::size_t> place_of_;  // the same of all links that are packed
  std::vector<std::size_t> nan_at_;
  BitsOf<T> new_nan_ = 0;  // that comes of none
};

}  // namespace

WhyNot why_no_fma_panels(const Numerics& numerics, const SortedTree& tree) {
  const FormatId number = numerics.result;
  if (number != FormatId::fp64 && number != FormatId::fp32) return "its results are neither fp64 nor fp32";
  for (const OperandRule* operand : {&numerics.a, &numerics.b, &numerics.c}) {
    if (!reads_exactly(number, operand->format)) return "its operands are no numbers of the result's format";
  }
  // Results would be flushed as the c of another link.
  if (numerics.c.format == number && numerics.c.subnormals != Subnormals::kept) return "c's subnormals are flushed";
  return why_no_fma_chain_in(number, numerics, tree);
}

FmaChainPlan make_fma_chain_plan(const Numerics& numerics, const SortedTree& tree) {
  const auto depth = static_cast<std::size_t>(tree.tree.k);
  return {numerics.a, numerics.b, numerics.c, numerics.result, depth, fma_chain_of(numerics, tree), numerics.nan};
}

void multiply(const FmaChainPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads) {
  const std::vector<Part> parts = parts_of(shape, threads);
  in_parallel(parts.size(), std::min(threads, static_cast<unsigned>(parts.size())), [&](std::size_t at) {
    if (plan.number == FormatId::fp64)
      FmaPart<double>(plan, shape, a, b, parts[at]).run(c, d);
    else
      FmaPart<float>(plan, shape, a, b, parts[at]).run(c, d);
  });
}

}  // namespace tcnum::panels
