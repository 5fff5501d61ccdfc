#include "product.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <optional>
#include <vector>

#include "emu/machine_rounding.hpp"
#include "kernels.hpp"
#include "number_codes.hpp"
#include "parts.hpp"

namespace tcnum::panels {
namespace {

/// What all parts of a product share.
struct Problem {
  const Plan& plan;
  const Kernels& kernels;
  ProductShape shape;
  MatrixCodes<const std::byte> a, b, c;
  MatrixCodes<std::byte> d;
  BlockScales scales;
  std::vector<Scale> scale_of_code;
};

/// Rows of A and one panel of B along some k-steps, packed when they are asked for.
template <class T>
class PackedPart {
 public:
  PackedPart(const Problem& problem, const Part& part)
      : problem_(problem), part_(part), a_fields_(problem.plan.a_rule), b_fields_(problem.plan.b_rule) {}

  void move_to(std::size_t first_k_step, std::size_t k_steps) {
    first_ = first_k_step * static_cast<std::size_t>(problem_.plan.depth);
    if (k_steps != k_steps_) places_ = places_of(problem_.plan, k_steps);
    k_steps_ = k_steps;
    has_a_ = false;
    panel_.reset();
  }
  const Packed<T>& a() {
    if (!has_a_) {
      const ToPack rows = to_pack(problem_.a, problem_.scales.a, a_fields_, part_.i, part_.m);
      problem_.kernels.in<T>().pack_a(problem_.plan, a_fields_, rows, places_, a_);
      has_a_ = true;
    }
    return a_;
  }
  const Packed<T>& b(std::size_t panel) {
    if (panel_ != panel) {
      const std::size_t column = part_.j + panel * kColumns, columns = std::min(kColumns, part_.j + part_.n - column);
      const ToPack of_panel =
          to_pack(transposed(problem_.b), transposed(problem_.scales.b), b_fields_, column, columns);
      problem_.kernels.in<T>().pack_b(problem_.plan, b_fields_, of_panel, places_, b_);
      panel_ = panel;
    }
    return b_;
  }
  Work<T> work(std::size_t row, std::size_t panel) {
    Work<T> work;
    work.plan = &problem_.plan;
    work.k_steps = k_steps_;
    work.a = &a();
    work.row = row;
    work.a_places = places_.size();
    work.a_words = k_steps_ * problem_.plan.nodes.size();
    work.b = &b(panel);
    return work;
  }

 private:
  std::size_t products() const { return std::min(problem_.shape.k - first_, places_.size()); }
  static MatrixCodes<const std::byte> transposed(const MatrixCodes<const std::byte>& matrix) {
    return {matrix.codes, matrix.column_stride, matrix.row_stride};
  }
  /// Some lines along the k-steps.
  ToPack to_pack(const MatrixCodes<const std::byte>& codes, const MatrixCodes<const std::byte>& scales,
                 const Fields& fields, std::size_t line, std::size_t lines) const {
    ToPack to;
    to.codes = part_from(codes, line, first_, static_cast<std::size_t>(fields.bytes));
    to.lines = lines;
    to.products = products();
    if (!problem_.plan.scales) return to;
    to.block_k = static_cast<std::size_t>(problem_.plan.scales->block_k);
    to.scales = part_from(scales, line, first_ / to.block_k, 1);
    to.scale_of_code = &problem_.scale_of_code;
    return to;
  }

  const Problem& problem_;
  Part part_;
  Fields a_fields_, b_fields_;
  std::size_t first_ = 0, k_steps_ = 0;
  std::vector<Place> places_;
  bool has_a_ = false;
  std::optional<std::size_t> panel_;  ///< that b_ is
  Packed<T> a_, b_;
};

/// The same as doubles and as floats, of which kernels ask for either.
struct PackedParts {
  PackedParts(const Problem& problem, const Part& part) : doubles(problem, part), floats(problem, part) {}

  void move_to(std::size_t first_k_step, std::size_t k_steps) {
    doubles.move_to(first_k_step, k_steps);
    floats.move_to(first_k_step, k_steps);
  }

  PackedPart<double> doubles;
  PackedPart<float> floats;
};

/// One part, along all of k.
class PartProduct {
 public:
  PartProduct(const Problem& problem, const Part& part)
      : problem_(problem), part_(part), sums_(part, rounded_up(part.m, kRows)), packed_(problem, part) {}

  void run() {
    const PlainArithmetic plain;
    const MachineRounding toward_zero(Rounding::toward_zero);
    read_c();
    constexpr std::size_t kPlaces = 256;  // so much of a panel stays in the cache
    const auto depth = static_cast<std::size_t>(problem_.plan.depth);
    const std::size_t k_steps = rounded_up(problem_.shape.k, depth) / depth;
    const std::size_t at_once = std::max<std::size_t>(1, kPlaces / depth);
    for (std::size_t k_step = 0; k_step < k_steps; k_step += at_once) {
      const std::size_t here = std::min(at_once, k_steps - k_step), first = k_step * depth;
      k_steps_ = {first, std::min(here * depth, problem_.shape.k - first)};
      packed_.move_to(k_step, here);
      for (std::size_t panel = 0; panel < sums_.panels(); ++panel) advance_rows(panel);
    }
    write_d();
  }

 private:
  void read_c() {
    if (problem_.c.codes == nullptr) return;
    const NumberReader<float> reader = reader_of(problem_.plan.c);
    sums_.each_stretch(problem_.c, format(problem_.plan.c).storage_bytes(),
                       [&](float* numbers, std::size_t count, const std::byte* codes) {
                         reader.read(codes, problem_.c.column_stride, count, numbers);
                       });
  }
  void write_d() {
    const NumberWriter writer(problem_.plan.result, problem_.plan.nan);
    sums_.each_stretch(problem_.d, format(problem_.plan.result).storage_bytes(),
                       [&](const float* numbers, std::size_t count, std::byte* codes) {
                         write(writer, numbers, count, codes, problem_.d.column_stride);
                       });
  }
  static NumberReader<float> reader_of(FormatId id) {
    const auto nan = std::bit_cast<std::uint32_t>(std::numeric_limits<float>::quiet_NaN());
    return {{id, Subnormals::kept, SubnormalExponent::minimum}, {nan, false, 0}};
  }
  static void write(const NumberWriter& writer, const float* numbers, std::size_t count, std::byte* codes,
                    std::size_t stride) {
    double wide[kColumns];
    std::copy_n(numbers, count, wide);
    writer.write(wide, count, codes, stride);
  }

  /// Some rows with a panel, along the k-steps.
  template <class T>
  Work<T> work(PackedPart<T>& packed, std::size_t row, std::size_t panel) {
    Work<T> work = packed.work(row, panel);
    for (std::size_t r = 0; r < kRows; ++r) work.sums[r] = sums_.of(row + r, panel);
    if (row + kRows < sums_.rows()) work.next = sums_.of(row + kRows, panel);
    return work;
  }
  /// Takes them along if they and all that becomes of them is ordinary.
  template <class T>
  bool advance_ordinary(PackedPart<T>& packed, std::size_t row, std::size_t panel) {
    const Range rows = packed.a().range_of_rows(row), &columns = packed.b(panel).range[0];
    if (!is_ordinary<T>(rows, columns)) return false;
    Work<T> ordinary = work(packed, row, panel);
    ordinary.offset8 = rows.top() + columns.top() - 2 * kHighest8;
    return problem_.kernels.in<T>().ordinary(ordinary);
  }
  bool advance_ordinary(std::size_t row, std::size_t panel) {
    if (problem_.plan.fits_floats && advance_ordinary(packed_.floats, row, panel)) return true;
    return advance_ordinary(packed_.doubles, row, panel);
  }
  /// All rows with a panel, along the k-steps.
  void advance_rows(std::size_t panel) {
    std::size_t first_left = 0;  // rows from this on are to go otherwise
    for (std::size_t row = 0; row < sums_.rows(); row += kRows) {
      if (!advance_ordinary(row, panel)) continue;
      advance_otherwise(first_left, row, panel);
      first_left = row + kRows;
    }
    advance_otherwise(first_left, sums_.rows(), panel);
  }
  /// Rows first … end − 1 as trees of sums.
  void advance_otherwise(std::size_t first, std::size_t end, std::size_t panel) {
    end = std::min(end, part_.m);
    if (first >= end) return;
    const Plan& plan = problem_.plan;
    const std::size_t rows = end - first, i = part_.i + first, j = part_.j + panel * kColumns;
    const std::size_t columns = std::min(kColumns, part_.n - panel * kColumns);
    const auto bytes_of = [](FormatId id) { return static_cast<std::size_t>(format(id).storage_bytes()); };
    const std::size_t c_bytes = bytes_of(plan.c), d_bytes = bytes_of(plan.result);
    c_codes_.resize(rows * kColumns * c_bytes);
    d_codes_.resize(rows * kColumns * d_bytes);
    const NumberWriter writer(plan.c, nan_code(format(plan.c)));
    for (std::size_t r = 0; r < rows; ++r)
      write(writer, sums_.of(first + r, panel), columns, &c_codes_[r * kColumns * c_bytes], 1);
    BlockScales scales;
    if (plan.scales) {
      const std::size_t block = k_steps_.first / static_cast<std::size_t>(plan.scales->block_k);
      scales = {part_from(problem_.scales.a, i, block, 1), part_from(problem_.scales.b, block, j, 1)};
    }
    multiply(*plan.otherwise, {rows, columns, k_steps_.products},
             part_from(problem_.a, i, k_steps_.first, bytes_of(plan.a)),
             part_from(problem_.b, k_steps_.first, j, bytes_of(plan.b)), {c_codes_.data(), kColumns, 1},
             {d_codes_.data(), kColumns, 1}, 1, scales);
    const NumberReader<float> reader = reader_of(plan.result);
    for (std::size_t r = 0; r < rows; ++r)
      reader.read(&d_codes_[r * kColumns * d_bytes], 1, columns, sums_.of(first + r, panel));
  }

  const Problem& problem_;
  Part part_;
  PartNumbers<float> sums_;  // which hold all results, as fp16 or fp32 they are
  PackedParts packed_;
  struct {
    std::size_t first = 0, products = 0;  ///< along k
  } k_steps_;                             // that are packed
  std::vector<std::byte> c_codes_, d_codes_;
};

}  // namespace

bool are_here() { return kernels() != nullptr; }

void multiply(const Plan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads, const BlockScales& scales) {
  const Problem problem{
      plan, *kernels(), shape, a, b, c, d, scales, plan.scales ? scales_of(plan.scales->format) : std::vector<Scale>()};
  each_part(shape, threads, [&](const Part& part) { PartProduct(problem, part).run(); });
}

}  // namespace tcnum::panels
