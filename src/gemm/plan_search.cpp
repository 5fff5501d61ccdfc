#include "plan_search.hpp"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <random>
#include <utility>

#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using Random = std::mt19937_64;

std::size_t below(Random& random, std::size_t end) { return static_cast<std::size_t>(random() % end); }

std::uint64_t opposite(const Format& f, std::uint64_t code) {
  if (!f.floating) return f.has_sign ? (~code + 1) & f.code_mask() : code;
  return code ^ (std::uint64_t{1} << (f.storage_bits - 1));
}

/// Codes of one operand: what is common to all families.
class Numbers {
 public:
  Numbers(FormatId id, Random& random) : f_(format(id)), random_(random) {}

  /// ±1.xxx · 2^exponent, or an integer as large.
  std::uint64_t number(int exponent) {
    const std::uint64_t one = std::uint64_t{1} << fraction_bits();
    const std::uint64_t fraction = random_() & (one - 1);
    const bool negative = f_.has_sign && (random_() & 1) != 0;
    if (f_.floating && exponent >= f_.min_exponent() && exponent < f_.max_exponent())  // as nearly all are
      return (std::uint64_t{negative} << (f_.storage_bits - 1)) |
             (static_cast<std::uint64_t>(exponent + f_.bias) << f_.fraction_bits) | fraction;
    return encode(f_, negative, one | fraction, exponent - fraction_bits(), false, Rounding::toward_zero,
                  Overflow::max_finite);
  }
  std::uint64_t power(int exponent, bool negative) const {
    return encode(f_, f_.has_sign && negative, 1, exponent, false, Rounding::nearest_even, Overflow::max_finite);
  }
  /// Exponents that a product's sum can hold whatever they are.
  int lowest() const { return f_.floating ? std::max(f_.min_exponent(), -kSpread) : 0; }
  int highest() const { return f_.floating ? std::min(f_.max_exponent() - 1, kSpread) : f_.fraction_bits - 1; }

 private:
  static constexpr int kSpread = 14;
  int fraction_bits() const { return f_.floating ? f_.fraction_bits : 6; }

  const Format& f_;
  Random& random_;
};

/// A matrix whose every code `code(row, column)` says.
template <class Code>
Matrix matrix_of(FormatId id, std::size_t rows, std::size_t columns, const Code& code) {
  Matrix matrix(id, rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) matrix.set(i, j, code(i, j));
  }
  return matrix;
}

Matrix random_matrix(FormatId id, std::size_t rows, std::size_t columns, int low, int high, Random& random) {
  Numbers numbers(id, random);
  const int lowest = std::max(low, numbers.lowest()), highest = std::max(lowest, std::min(high, numbers.highest()));
  return matrix_of(id, rows, columns, [&](std::size_t, std::size_t) {
    return numbers.number(lowest + static_cast<int>(below(random, static_cast<std::size_t>(highest - lowest) + 1)));
  });
}

/// Products at one place along k become the opposite of those at another.
void oppose(GemmOperands& operands, std::size_t from, std::size_t to) {
  Matrix &a = operands.a, &b = operands.b;
  for (std::size_t i = 0; i < a.rows(); ++i) a.set(i, to, a(i, from));
  for (std::size_t j = 0; j < b.columns(); ++j) b.set(to, j, opposite(format(b.format()), b(from, j)));
}

/// Each stretch of k has its own binades; of some the sums are the opposite of an earlier one's, so that what those
/// between lost beside it is left.
GemmOperands steps(const GemmSubject& subject, Random& random) {
  Numbers of_a(subject.a, random), of_b(subject.b, random);
  // From less than an instruction to a quarter of k: parts of k are that long.
  constexpr std::size_t kShortest = 16, kFewestLengths = 5;
  const auto lengths = static_cast<std::size_t>(std::bit_width(subject.k / (4 * kShortest)));
  const std::size_t length = kShortest << below(random, std::max(kFewestLengths, lengths));
  std::vector<int> a_exponent(subject.k), b_exponent(subject.k);
  // Narrow formats need their ends for sums that are lost beside others.
  // And so large that all sums are numbers of the result's format.
  const int most = format(subject.d).floating
                       ? (format(subject.d).max_exponent() - static_cast<int>(std::bit_width(subject.k))) / 2 - 1
                       : 0;
  const auto highest = [&](const Numbers& of) {
    return std::clamp(of.highest(), of.lowest(), std::max(of.lowest(), most));
  };
  enum class Size : std::uint8_t { smallest, largest, any };
  const auto draw = [&](const Numbers& of, Size size) {
    if (size == Size::smallest) return of.lowest();
    if (size == Size::largest) return highest(of);
    return of.lowest() + static_cast<int>(below(random, static_cast<std::size_t>(highest(of) - of.lowest()) + 1));
  };
  for (std::size_t first = 0; first < subject.k; first += length) {
    const auto size = static_cast<Size>(below(random, 3));
    const int a = draw(of_a, size), b = draw(of_b, size);
    for (std::size_t k = first; k < std::min(subject.k, first + length); ++k) a_exponent[k] = a, b_exponent[k] = b;
  }
  GemmOperands operands = {matrix_of(subject.a, subject.m, subject.k,
                                     [&](std::size_t, std::size_t k) { return of_a.number(a_exponent[k]); }),
                           matrix_of(subject.b, subject.k, subject.n,
                                     [&](std::size_t k, std::size_t) { return of_b.number(b_exponent[k]); })};
  for (std::size_t first = length; first + length <= subject.k; first += length) {
    if (below(random, 2) == 0) continue;
    const std::size_t earlier = below(random, first / length) * length;
    for (std::size_t k = 0; k < length; ++k) oppose(operands, earlier + k, first + k);
  }
  return operands;
}

/// Along k, some products come again with the opposite sign: in A the same, in B its opposite.
void cancel(GemmOperands& operands, Random& random) {
  const std::size_t k = operands.a.columns();
  std::vector<std::size_t> places(k);
  for (std::size_t i = 0; i < k; ++i) places[i] = i;
  // std::shuffle may differ from library to library.
  for (std::size_t i = k; i > 1; --i) std::swap(places[i - 1], places[below(random, i)]);
  const std::size_t pairs = k / 2 - k / 16;  // some products stay alone
  for (std::size_t pair = 0; pair < pairs; ++pair) oppose(operands, places[2 * pair], places[2 * pair + 1]);
}

GemmOperands marks(const GemmSubject& subject, Random& random) {
  const Numbers of_a(subject.a, random), of_b(subject.b, random);
  const auto places = [&](std::size_t count) {
    std::vector<std::size_t> at(count);
    for (std::size_t& each : at) each = below(random, subject.k);
    return at;
  };
  const std::vector<std::size_t> plus = places(subject.m), minus = places(subject.n);
  // One small number of either is 2^-28 and less of a large one and a small one, where the formats have as much.
  const std::uint64_t a_small = of_a.power(of_a.lowest(), false), a_large = of_a.power(of_a.highest(), false);
  const std::uint64_t b_small = of_b.power(of_b.lowest(), false);
  const std::uint64_t b_large = of_b.power(of_b.lowest() + of_a.highest() - of_a.lowest(), true);
  return {matrix_of(subject.a, subject.m, subject.k,
                    [&](std::size_t i, std::size_t k) { return k == plus[i] ? a_large : a_small; }),
          matrix_of(subject.b, subject.k, subject.n,
                    [&](std::size_t k, std::size_t j) { return k == minus[j] ? b_large : b_small; })};
}

}  // namespace

std::string_view name(OperandFamily family) {
  constexpr std::array<std::string_view, kOperandFamilies> kNames = {"plain", "spread", "steps", "cancel", "marks"};
  return kNames.at(static_cast<std::size_t>(family));
}

GemmOperands make_operands(const GemmSubject& subject, OperandFamily family, std::uint64_t seed) {
  Random random(seed * kOperandFamilies + static_cast<std::uint64_t>(family));
  if (family == OperandFamily::marks) return marks(subject, random);
  if (family == OperandFamily::steps) return steps(subject, random);
  const int spread = family == OperandFamily::plain ? 2 : 14;
  GemmOperands operands = {random_matrix(subject.a, subject.m, subject.k, -spread, spread, random),
                           random_matrix(subject.b, subject.k, subject.n, -spread, spread, random)};
  if (family == OperandFamily::cancel) cancel(operands, random);
  return operands;
}

Matrix product_by(const Candidate& candidate, const Matrix& a, const Matrix& b, unsigned threads,
                  KnownAccumulations* known) {
  Matrix d(candidate.plan.output, a.rows(), b.columns());
  multiply_by({candidate.plan, *candidate.performer, candidate.reduction, known}, d, a, b, {}, {.threads = threads});
  return d;
}

void check_answer(const Matrix& d, const GemmSubject& subject) {
  if (d.format() == subject.d && d.rows() == subject.m && d.columns() == subject.n) return;
  throw InputError(fmt::format("gemm: the callable gave {} × {} of {}; expected {} × {} of {}", d.rows(), d.columns(),
                               format(d.format()).name, subject.m, subject.n, format(subject.d).name));
}

bool is_same_result(const Format& f, std::uint64_t x, std::uint64_t y) {
  const auto is_nan = [&](std::uint64_t code) {
    return f.floating && decode(f, code).number_class == NumberClass::nan;
  };
  return x == y || (is_nan(x) && is_nan(y));
}

std::size_t count_differences(const Matrix& x, const Matrix& y) {
  std::size_t count = 0;
  each_difference(x, y, [&](std::size_t, std::size_t) { ++count; });
  return count;
}

Matrix rows_of(const Matrix& from, const std::vector<std::size_t>& rows) {
  Matrix some(from.format(), rows.size(), from.columns());
  for (std::size_t i = 0; i < rows.size(); ++i) {
    for (std::size_t j = 0; j < from.columns(); ++j) some.set(i, j, from(rows[i], j));
  }
  return some;
}

Matrix columns_of(const Matrix& from, const std::vector<std::size_t>& columns) {
  Matrix some(from.format(), from.rows(), columns.size());
  for (std::size_t i = 0; i < from.rows(); ++i) {
    for (std::size_t j = 0; j < columns.size(); ++j) some.set(i, j, from(i, columns[j]));
  }
  return some;
}

}  // namespace tcnum
