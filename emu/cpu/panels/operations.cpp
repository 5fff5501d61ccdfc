#include "operations.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "emu/machine_rounding.hpp"
#include "emu/parallel.hpp"
#include "left_over.hpp"
#include "number_reader.hpp"
#include "operation_kernels.hpp"
#include "parts.hpp"

namespace tcnum::panels {
namespace {

/// Products along k that are packed at once: those of a panel stay in the cache.
constexpr std::size_t kProducts = 256;

/// Whether operands are those that rules are for.
bool are_ordinary(const double* numbers, std::size_t count) {
  static const double kLeast = std::ldexp(1.0, -kMostOrdinaryOperand), kMost = std::ldexp(1.0, kMostOrdinaryOperand);
  bool all = true;
  for (std::size_t i = 0; i < count; ++i) {
    const double x = std::abs(numbers[i]);
    all &= x == 0 || (x >= kLeast && x < kMost);  // no NaN
  }
  return all;
}

template <class T>
class OperationPart {
 public:
  OperationPart(const OperationPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
                const MatrixCodes<const std::byte>& b, const Part& part)
      : plan_(plan),
        shape_(shape),
        a_(a),
        b_(b),
        part_(part),
        rows_(rounded_up(part.m, kOperationRows)),
        panels_(rounded_up(part.n, kColumns) / kColumns),
        results_(part, rows_),
        a_reader_(plan.a, nan()),
        b_reader_(plan.b, nan()),
        left_over_(plan.datapath, shape, a, b) {
    values_.resize(plan.places * kOperationRows * kColumns);
    left_.resize(kOperationRows * kColumns);
  }

  void run(const MatrixCodes<const std::byte>& c, const MatrixCodes<std::byte>& d) {
    const PlainArithmetic plain;
    c_ = c;
    if (c.codes != nullptr) read_c();
    {
      const MachineRounding rounding(plan_.rounding);
      const std::size_t links = rounded_up(shape_.k, plan_.depth) / plan_.depth;
      const std::size_t at_once = std::max<std::size_t>(1, kProducts / plan_.depth);
      for (std::size_t link = 0; link < links; link += at_once) add_links(link, std::min(at_once, links - link));
    }
    write_d(d);
  }

 private:
  NanBits<T> nan() const { return {static_cast<BitsOf<T>>(plan_.nan), false, 0}; }
  T* results(std::size_t row, std::size_t panel) { return results_.of(row, panel); }

  void read_c() {
    // Of the results' format, what is flushed is so along each link.
    OperandRule rule = plan_.c;
    if (has_codes_of_results()) rule.subnormals = Subnormals::kept;
    NanBits<T> as_it_is = nan();
    as_it_is.comes_back = has_rules() && has_codes_of_results();
    const NumberReader<T> reader(rule, as_it_is);
    const int bytes = format(plan_.c.format).storage_bytes();
    results_.each_stretch(c_, bytes, [&](T* numbers, std::size_t count, const std::byte* codes) {
      reader.read(codes, c_.column_stride, count, numbers);
    });
  }
  void write_d(const MatrixCodes<std::byte>& d) {
    results_.each_stretch(d, sizeof(T), [&](const T* numbers, std::size_t count, std::byte* codes) {
      for (std::size_t j = 0; j < count; ++j) {
        BitsOf<T> code;
        std::memcpy(&code, numbers + j, sizeof(code));
        if (numbers[j] != numbers[j] && !plan_.datapath.numerics.nan.propagate)
          code = static_cast<BitsOf<T>>(plan_.nan);
        std::memcpy(codes + j * d.column_stride * sizeof(T), &code, sizeof(code));
      }
    });
  }

  void add_links(std::size_t first_link, std::size_t links) {
    const std::size_t first = first_link * plan_.depth, products = links * plan_.depth;
    const std::size_t there = std::min(products, shape_.k - first);  // products after these are of zeros
    packed_a_.resize(rows_ * products);
    std::fill_n(packed_a_.data(), packed_a_.size(), T{0});
    for (std::size_t i = 0; i < part_.m; ++i) {
      const std::size_t at = (part_.i + i) * a_.row_stride + first * a_.column_stride;
      a_reader_.read(a_.codes + at * a_reader_.bytes, a_.column_stride, there, &packed_a_[i * products]);
    }
    find_ordinary_a(links);
    packed_b_.resize(products * kColumns);
    for (std::size_t panel = 0; panel < panels_; ++panel) {
      const std::size_t column = part_.j + panel * kColumns, columns = std::min(kColumns, part_.j + part_.n - column);
      std::fill_n(packed_b_.data(), packed_b_.size(), T{0});
      for (std::size_t k = 0; k < there; ++k) {
        const std::size_t at = (first + k) * b_.row_stride + column * b_.column_stride;
        b_reader_.read(b_.codes + at * b_reader_.bytes, b_.column_stride, columns, &packed_b_[k * kColumns]);
      }
      find_ordinary_b(links);
      for (std::size_t row = 0; row < rows_; row += kOperationRows) {
        OperationWork<T> work;
        work.plan = &plan_;
        work.links = links;
        for (std::size_t r = 0; r < kOperationRows; ++r) {
          work.a[r] = &packed_a_[(row + r) * products];
          work.results[r] = results(row + r, panel);
        }
        work.b = packed_b_.data();
        work.values = values_.data();
        if (has_rules())
          run_by_rules(first_link, row, panel, work);
        else
          run_operations<T>()(work);
      }
    }
  }

  bool has_rules() const { return !plan_.rules.empty(); }
  /// Of c, which else is there along one link alone.
  bool has_codes_of_results() const { return plan_.c.format == plan_.number; }
  /// Of each group of rows, along each link.
  void find_ordinary_a(std::size_t links) {
    ordinary_a_.clear();
    if constexpr (std::is_same_v<T, double>) {
      const std::size_t depth = plan_.depth;
      for (std::size_t row = 0; has_rules() && row < rows_; row += kOperationRows) {
        for (std::size_t link = 0; link < links; ++link) {
          bool all = true;
          for (std::size_t r = 0; r < kOperationRows; ++r)
            all &= are_ordinary(&packed_a_[((row + r) * links + link) * depth], depth);
          ordinary_a_.push_back(all);
        }
      }
    }
  }
  /// Of a panel, along each link.
  void find_ordinary_b(std::size_t links) {
    ordinary_b_.clear();
    if constexpr (std::is_same_v<T, double>) {
      const std::size_t in_panel = plan_.depth * kColumns;
      for (std::size_t link = 0; has_rules() && link < links; ++link)
        ordinary_b_.push_back(are_ordinary(&packed_b_[link * in_panel], in_panel));
    }
  }
  void run_by_rules(std::size_t first_link, std::size_t row, std::size_t panel, OperationWork<T>& work) {
    if constexpr (std::is_same_v<T, double>) {
      const std::size_t links = std::exchange(work.links, 1), in_panel = plan_.depth * kColumns;
      work.left = left_.data();
      for (std::size_t link = 0; link < links; ++link) {
        bool any_left = true;
        if (ordinary_a_[row / kOperationRows * links + link] && ordinary_b_[link])
          any_left = run_rules()(work);
        else
          std::fill_n(left_.data(), left_.size(), 1);
        if (any_left) evaluate_left((first_link + link) * plan_.depth, row, panel);
        for (const double*& a : work.a) a += plan_.depth;
        work.b += in_panel;
      }
    }
  }
  /// One link of what was left of some rows, whose numbers are codes.
  void evaluate_left(std::size_t k, std::size_t row, std::size_t panel) {
    const std::size_t column = panel * kColumns, columns = std::min(kColumns, part_.n - column);
    std::uint64_t codes[kColumns];
    for (std::size_t r = 0; r < kOperationRows && row + r < part_.m; ++r) {
      std::memcpy(codes, results(row + r, panel), sizeof(codes));
      if (!has_codes_of_results()) copy_left_c(row + r, column, {&left_[r * kColumns], columns}, codes);
      left_over_.evaluate_flagged(k, part_.i + row + r, part_.j + column, {&left_[r * kColumns], columns}, codes);
      std::memcpy(results(row + r, panel), codes, sizeof(codes));
    }
  }

  /// Of what is left, the codes of c, which is of another format.
  void copy_left_c(std::size_t row, std::size_t column, std::span<const std::uint64_t> left,
                   std::uint64_t* codes) const {
    const auto bytes = static_cast<std::size_t>(format(plan_.c.format).storage_bytes());
    for (std::size_t j = 0; j < left.size(); ++j) {
      if (left[j] == 0) continue;
      codes[j] = 0;
      if (c_.codes == nullptr) continue;
      const std::size_t at = (part_.i + row) * c_.row_stride + (part_.j + column + j) * c_.column_stride;
      std::memcpy(codes + j, c_.codes + at * bytes, bytes);
    }
  }

  const OperationPlan& plan_;
  ProductShape shape_;
  MatrixCodes<const std::byte> a_, b_, c_{};
  Part part_;
  std::size_t rows_, panels_;
  PartNumbers<T> results_;
  NumberReader<T> a_reader_, b_reader_;
  LeftOver left_over_;
  Buffer<T> packed_a_, packed_b_, values_;
  Buffer<std::uint64_t> left_;
  std::vector<bool> ordinary_a_, ordinary_b_;
};

}  // namespace

bool operation_panels_are_here() { return run_operations<float>() != nullptr; }

void multiply(const OperationPlan& plan, const ProductShape& shape, const MatrixCodes<const std::byte>& a,
              const MatrixCodes<const std::byte>& b, const MatrixCodes<const std::byte>& c,
              const MatrixCodes<std::byte>& d, unsigned threads) {
  const std::vector<Part> parts = parts_of(shape, threads);
  in_parallel(parts.size(), std::min(threads, static_cast<unsigned>(parts.size())), [&](std::size_t at) {
    if (plan.number == FormatId::fp64)
      OperationPart<double>(plan, shape, a, b, parts[at]).run(c, d);
    else
      OperationPart<float>(plan, shape, a, b, parts[at]).run(c, d);
  });
}

}  // namespace tcnum::panels
