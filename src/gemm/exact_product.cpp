// Each row of A and each column of B is a row of integers times a power of two. Cut into slices of kSliceBits bits,
// these are matrices whose products doubles hold: a sum of kDepth products of two slices stays below
// kDepth · 2^(2·kSliceBits) = 2^53, so that no FMA of it rounds, in whatever order. What so many slices do not hold is
// added product by product.
#include "exact_product.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <span>

namespace tcnum {
namespace {

constexpr int kSliceBits = 22;
constexpr std::size_t kDepth = 512;
static_assert((std::uint64_t{kDepth} << (2 * kSliceBits)) <= std::uint64_t{1} << std::numeric_limits<double>::digits);
/// Products of slices, beyond which adding product by product is faster; and the widest lines that scaling to integers
/// keeps within a double's range.
constexpr std::size_t kMostProducts = 25, kMostOfLine = 40;
static_assert(kMostOfLine * kSliceBits < std::numeric_limits<double>::max_exponent);

/// The exponents of a finite number's bits that are the leading and the last one.
int leading_bit(double x) { return std::ilogb(x); }
int last_bit(double x) { return dyadic_of(x).exponent; }

/// Some of one operand: lines (rows of A, or columns of B) by so many of k.
struct SlicedLines {
  std::size_t lines = 0, depth = 0;
  std::size_t line_stride = 1, k_stride = 1;
  std::vector<double> numbers;     ///< number (line, k) is at line · line_stride + k · k_stride
  std::vector<int> lowest, above;  ///< of each line, its numbers are multiples of 2^lowest below 2^above

  std::size_t at(std::size_t line, std::size_t k) const { return line * line_stride + k * k_stride; }
  /// Calls with the line, the k and the place of each number, in the order of places.
  template <class With>
  void each(const With& with) const {
    if (k_stride == 1) {
      for (std::size_t line = 0; line < lines; ++line) {
        for (std::size_t k = 0; k < depth; ++k) with(line, k, at(line, k));
      }
    } else {
      for (std::size_t k = 0; k < depth; ++k) {
        for (std::size_t line = 0; line < lines; ++line) with(line, k, at(line, k));
      }
    }
  }
  /// How many slices hold its widest line.
  std::size_t slices() const {
    int bits = 1;
    for (std::size_t line = 0; line < lines; ++line) bits = std::max(bits, above[line] - lowest[line]);
    return static_cast<std::size_t>((bits + kSliceBits - 1) / kSliceBits);
  }
  /// The integers, as so many digits of kSliceBits bits, each with the number's sign, the lowest first.
  std::vector<std::vector<double>> sliced(std::size_t count) const {
    std::vector<std::vector<double>> digits(count, std::vector<double>(numbers.size()));
    std::vector<double> units;
    for (std::size_t slice = 0; slice < count; ++slice)
      units.push_back(std::ldexp(1.0, kSliceBits * static_cast<int>(slice)));
    each([&](std::size_t line, std::size_t, std::size_t i) {
      double left = std::ldexp(numbers[i], -lowest[line]);
      for (std::size_t slice = count; slice-- > 1;) {
        digits[slice][i] = std::trunc(left / units[slice]);
        left -= digits[slice][i] * units[slice];
      }
      digits[0][i] = left;
    });
    return digits;
  }
  /// Magnitudes, the largest of each line about 1.
  std::vector<double> scaled_magnitudes() const {
    std::vector<double> scaled(numbers.size());
    each([&](std::size_t line, std::size_t, std::size_t i) {
      scaled[i] = std::ldexp(std::fabs(numbers[i]), -above[line]);
    });
    return scaled;
  }
};

/// Numbers of an operand, from a line and a k on; marks the lines that have an infinity or NaN.
SlicedLines read(SlicedLines into, const ScaledOperand& operand, std::size_t first_line, std::size_t first_k,
                 std::vector<bool>& not_finite) {
  into.numbers.resize(into.lines * into.depth);
  into.lowest.assign(into.lines, std::numeric_limits<int>::max());
  into.above.assign(into.lines, std::numeric_limits<int>::min());
  into.each([&](std::size_t line, std::size_t k, std::size_t i) {
    double x = operand.number(first_line + line, first_k + k);
    if (!std::isfinite(x)) {
      not_finite[line] = true;
      x = 0;
    }
    into.numbers[i] = x;
    if (x == 0) return;
    into.lowest[line] = std::min(into.lowest[line], last_bit(x));
    into.above[line] = std::max(into.above[line], leading_bit(x) + 1);
  });
  for (std::size_t line = 0; line < into.lines; ++line) {
    if (into.lowest[line] > into.above[line]) into.lowest[line] = into.above[line] = 0;  // zeros alone
  }
  return into;
}

/// Adds to the sums of a block the products of one stretch of k.
class Adder {
 public:
  Adder(const SlicedLines& a, const SlicedLines& b, ExactSums& sums) : a_(a), b_(b), sums_(sums) {}

  void by_slices() {
    const auto of_a = a_.sliced(a_.slices()), of_b = b_.sliced(b_.slices());
    for (std::size_t x = 0; x < of_a.size(); ++x) {
      for (std::size_t y = 0; y < of_b.size(); ++y) {
        const std::vector<double> products = multiply(of_a[x], of_b[y]);
        const int up = kSliceBits * static_cast<int>(x + y);
        each([&](std::size_t i, std::size_t j, std::size_t at) {
          const double sum = products[at];
          sums_.sum(i, j).add(sum < 0, static_cast<std::uint64_t>(std::fabs(sum)), a_.lowest[i] + b_.lowest[j] + up);
        });
      }
    }
    const std::vector<double> magnitudes = multiply(a_.scaled_magnitudes(), b_.scaled_magnitudes());
    each([&](std::size_t i, std::size_t j, std::size_t at) {
      sums_.magnitudes[at] += std::ldexp(static_cast<long double>(magnitudes[at]), a_.above[i] + b_.above[j]);
    });
  }
  void by_words() {
    const std::vector<Dyadic> of_a = dyadics(a_), of_b = dyadics(b_);
    each([&](std::size_t i, std::size_t j, std::size_t at) {
      FixedPoint sum = sums_.sum(i, j);
      for (std::size_t k = 0; k < a_.depth; ++k) {
        const Dyadic &x = of_a[i * a_.depth + k], &y = of_b[j * a_.depth + k];
        const uint128 product = uint128{x.significand} * y.significand;
        if (product == 0) continue;
        sum.add(x.negative != y.negative, product, x.exponent + y.exponent);
        sums_.magnitudes[at] += std::ldexp(static_cast<long double>(product), x.exponent + y.exponent);
      }
    });
  }

 private:
  template <class With>
  void each(const With& with) const {
    for (std::size_t i = 0; i < a_.lines; ++i) {
      for (std::size_t j = 0; j < b_.lines; ++j) with(i, j, i * b_.lines + j);
    }
  }
  std::vector<double> multiply(const std::vector<double>& a, const std::vector<double>& b) const {
    std::vector<double> d(a_.lines * b_.lines);
    multiply_doubles({a_.lines, b_.lines, a_.depth}, a, b, d, 1);
    return d;
  }
  /// Line after line.
  static std::vector<Dyadic> dyadics(const SlicedLines& of) {
    std::vector<Dyadic> found(of.numbers.size());
    of.each(
        [&](std::size_t line, std::size_t k, std::size_t i) { found[line * of.depth + k] = dyadic_of(of.numbers[i]); });
    return found;
  }

  const SlicedLines &a_, &b_;
  ExactSums& sums_;
};

}  // namespace

ExactProduct::ExactProduct(const ScaledOperand& a, const ScaledOperand& b, ExactBy by)
    : a_(a), b_(b), by_(by), range_(sum_of_many(product(a.range(), b.range()))) {}

ExactSums ExactProduct::sums(const ExactBlock& block) const {
  const auto& [i, j, m, n] = block;
  ExactSums sums{range_,
                 n,
                 std::vector<std::uint64_t>(m * n * range_.words()),
                 std::vector<long double>(m * n),
                 std::vector<bool>(m),
                 std::vector<bool>(n)};
  for (std::size_t k = 0; k < a_.depth(); k += kDepth) {
    const std::size_t depth = std::min(kDepth, a_.depth() - k);
    const SlicedLines rows = read({m, depth, depth, 1, {}, {}, {}}, a_, i, k, sums.row_not_finite);
    const SlicedLines columns = read({n, depth, 1, n, {}, {}, {}}, b_, j, k, sums.column_not_finite);
    Adder adder(rows, columns, sums);
    const std::size_t of_rows = rows.slices(), of_columns = columns.slices();
    const bool is_worth_it = by_ == ExactBy::whichever ? of_rows * of_columns <= kMostProducts : by_ == ExactBy::slices;
    if (is_worth_it && std::max(of_rows, of_columns) <= kMostOfLine)
      adder.by_slices();
    else
      adder.by_words();
  }
  return sums;
}

}  // namespace tcnum
