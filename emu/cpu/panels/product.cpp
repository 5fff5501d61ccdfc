#include "product.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <limits>
#include <vector>

#include "emu/machine_rounding.hpp"
#include "emu/parallel.hpp"
#include "kernels.hpp"
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
};

/// Rows of A and panels of B along some links, packed when they are asked for.
template <class T>
class PackedPart {
 public:
  PackedPart(const Problem& problem, const Part& part)
      : problem_(problem),
        part_(part),
        a_fields_(problem.plan.a_rule),
        b_fields_(problem.plan.b_rule),
        b_(rounded_up(part.n, kColumns) / kColumns) {}

  void move_to(std::size_t first_link, std::size_t links) {
    first_ = first_link * static_cast<std::size_t>(problem_.plan.depth);
    links_ = links;
    has_a_ = false;
    has_b_.assign(b_.size(), false);
  }
  const Packed<T>& a() {
    if (!has_a_) {
      const auto& [codes, row_stride, column_stride] = problem_.a;
      pack_a({codes + (part_.i * row_stride + first_ * column_stride) * static_cast<std::size_t>(a_fields_.bytes),
              row_stride, column_stride, part_.m, products()});
      has_a_ = true;
    }
    return a_;
  }
  const Packed<T>& b(std::size_t panel) {
    if (!has_b_[panel]) {
      const auto& [codes, row_stride, column_stride] = problem_.b;
      const std::size_t column = part_.j + panel * kColumns;
      pack_b({codes + (first_ * row_stride + column * column_stride) * static_cast<std::size_t>(b_fields_.bytes),
              column_stride, row_stride, std::min(kColumns, part_.j + part_.n - column), products()},
             b_[panel]);
      has_b_[panel] = true;
    }
    return b_[panel];
  }
  Work<T> work(std::size_t row, std::size_t panel) {
    const auto depth = static_cast<std::size_t>(problem_.plan.depth);
    Work<T> work;
    work.plan = &problem_.plan;
    work.links = links_;
    work.a = &a();
    work.row = row;
    work.a_places = links_ * depth;
    work.a_words = links_ * problem_.plan.nodes.size();
    work.b = &b(panel);
    return work;
  }

 private:
  std::size_t products() const {
    return std::min(problem_.shape.k - first_, links_ * static_cast<std::size_t>(problem_.plan.depth));
  }
  void pack_a(const CodesToPack& from) {
    if constexpr (sizeof(T) == 8)
      problem_.kernels.pack_a_double(problem_.plan, a_fields_, from, links_, a_);
    else
      problem_.kernels.pack_a_float(problem_.plan, a_fields_, from, links_, a_);
  }
  void pack_b(const CodesToPack& from, Packed<T>& to) {
    if constexpr (sizeof(T) == 8)
      problem_.kernels.pack_b_double(problem_.plan, b_fields_, from, links_, to);
    else
      problem_.kernels.pack_b_float(problem_.plan, b_fields_, from, links_, to);
  }

  const Problem& problem_;
  Part part_;
  Fields a_fields_, b_fields_;
  std::size_t first_ = 0, links_ = 0;
  bool has_a_ = false;
  std::vector<bool> has_b_;
  Packed<T> a_;
  std::vector<Packed<T>> b_;
};

/// A row in floats, cut to so many fraction bits, which is what the first sum does anyway.
void to_floats(const double* row, int fraction_bits, float* to) {
  const std::uint32_t kept = ~0u << (std::numeric_limits<float>::digits - 1 - fraction_bits);
  for (std::size_t j = 0; j < kColumns; ++j)
    to[j] = std::bit_cast<float>(std::bit_cast<std::uint32_t>(static_cast<float>(row[j])) & kept);
}

/// One part, along all of k.
class PartProduct {
 public:
  PartProduct(const Problem& problem, const Part& part)
      : problem_(problem),
        part_(part),
        rows_(rounded_up(part.m, kRows)),
        panels_(rounded_up(part.n, kColumns) / kColumns),
        doubles_(problem, part),
        floats_(problem, part) {
    sums_.resize(rows_ * panels_ * kColumns);
  }

  void run() {
    const PlainArithmetic plain;
    const MachineRounding toward_zero(Rounding::toward_zero);
    read_c();
    // So much of a panel stays in the cache.
    constexpr std::size_t kPlaces = 256;
    const auto depth = static_cast<std::size_t>(problem_.plan.depth);
    const std::size_t links = rounded_up(problem_.shape.k, depth) / depth;
    const std::size_t at_once = std::max<std::size_t>(1, kPlaces / depth);
    for (std::size_t link = 0; link < links; link += at_once) {
      const std::size_t here = std::min(at_once, links - link);
      doubles_.move_to(link, here);
      floats_.move_to(link, here);
      for (std::size_t panel = 0; panel < panels_; ++panel) {
        for (std::size_t row = 0; row < rows_; row += kRows) advance(row, panel);
      }
    }
    write_d();
  }

 private:
  double* sums(std::size_t row, std::size_t panel) { return &sums_[(panel * rows_ + row) * kColumns]; }

  /// Calls with each stretch of a row of C or D: its numbers, how many, and its first code.
  template <class Byte, class With>
  void each_stretch(const MatrixCodes<Byte>& matrix, FormatId id, const With& with) {
    const auto bytes = static_cast<std::size_t>(format(id).storage_bytes());
    for (std::size_t i = 0; i < part_.m; ++i) {
      for (std::size_t panel = 0; panel < panels_; ++panel) {
        const std::size_t j = panel * kColumns;
        const std::size_t at = (part_.i + i) * matrix.row_stride + (part_.j + j) * matrix.column_stride;
        with(sums(i, panel), std::min(kColumns, part_.n - j), matrix.codes + at * bytes);
      }
    }
  }
  void read_c() {
    std::fill_n(sums_.data(), sums_.size(), 0.0);
    if (problem_.c.codes == nullptr) return;
    const FormatId id = problem_.plan.c;
    each_stretch(problem_.c, id, [&](double* numbers, std::size_t count, const std::byte* codes) {
      problem_.kernels.read(id, codes, problem_.c.column_stride, count, numbers);
    });
  }
  void write_d() {
    const FormatId id = problem_.plan.result;
    each_stretch(problem_.d, id, [&](const double* numbers, std::size_t count, std::byte* codes) {
      problem_.kernels.write(id, problem_.plan.nan, numbers, count, codes, problem_.d.column_stride);
    });
  }

  template <class T>
  bool is_ordinary_work(PackedPart<T>& packed, std::size_t row, std::size_t panel) {
    Range range = packed.a().range[row];
    range.add(packed.a().range[row + 1]);
    return is_ordinary<T>(range, packed.b(panel).range[0]);
  }

  /// Takes rows of results along the links.
  void advance(std::size_t row, std::size_t panel) {
    static_assert(kRows == 2);
    double* const rows[kRows] = {sums(row, panel), sums(row + 1, panel)};
    const Plan& plan = problem_.plan;
    const bool may_be_ordinary =
        plan.is_plain_chain && problem_.kernels.are_ordinary(rows[0]) && problem_.kernels.are_ordinary(rows[1]);
    if (may_be_ordinary && plan.fits_floats && is_ordinary_work(floats_, row, panel)) {
      alignas(64) float narrow[kRows][kColumns];
      Work<float> work = floats_.work(row, panel);
      for (std::size_t r = 0; r < kRows; ++r) {
        to_floats(rows[r], plan.nodes.front().fraction_bits, narrow[r]);
        work.sums[r] = narrow[r];
      }
      problem_.kernels.ordinary_float(work);
      for (std::size_t r = 0; r < kRows; ++r) std::copy_n(narrow[r], kColumns, rows[r]);
      return;
    }
    Work<double> work = doubles_.work(row, panel);
    for (std::size_t r = 0; r < kRows; ++r) work.sums[r] = rows[r];
    if (may_be_ordinary && is_ordinary_work(doubles_, row, panel))
      problem_.kernels.ordinary_double(work);
    else
      problem_.kernels.general(work);
  }

  const Problem& problem_;
  Part part_;
  std::size_t rows_, panels_;
  PackedPart<double> doubles_;
  PackedPart<float> floats_;
  Buffer<double> sums_;  // of each panel, row after row
};

}  // namespace

bool are_here() { return kernels() != nullptr; }

void multiply(const Plan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads) {
  const Problem problem{plan, *kernels(), shape, a, b, c, d};
  const std::vector<Part> parts = parts_of(shape, threads);
  in_parallel(parts.size(), std::min(threads, static_cast<unsigned>(parts.size())),
              [&](std::size_t at) { PartProduct(problem, parts[at]).run(); });
}

}  // namespace tcnum::panels
