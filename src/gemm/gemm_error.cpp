// Errors of matrix products: block by block, each element's sum exactly and then its difference from what is given.
#include "tcnum/gemm_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include "emu/parallel.hpp"
#include "exact_product.hpp"
#include "performer.hpp"
#include "sums.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kWhere = "error";
constexpr std::size_t kBlockRows = 256, kBlockColumns = 256;
constexpr std::size_t kLargestTerms = 4;

/// What is added to the sums, as a number of its own.
class Addends {
 public:
  explicit Addends(const GemmInputs& inputs)
      : inputs_(inputs),
        alpha_(dyadic_of(inputs.alpha)),
        beta_number_(inputs.factor_of_c()),
        beta_(dyadic_of(beta_number_)) {}

  bool has_c() const { return beta_number_ != 0; }
  bool has_bias() const { return inputs_.bias != nullptr; }
  bool are_none() const { return inputs_.alpha == 1 && !has_c() && !has_bias(); }
  const Dyadic& alpha() const { return alpha_; }

  FixedRange range(const FixedRange& sums) const {
    FixedRange all = product(sums, alpha_.range());
    if (has_c()) all = both(all, product(fixed_range_of(format(inputs_.c->format())), beta_.range()));
    if (has_bias()) all = both(all, fixed_range_of(format(inputs_.bias->format())));
    return {all.lowest, all.highest + 2};
  }
  /// beta · c, and the bias, as they are in IEEE 754 where one is not finite.
  double special(std::size_t row, std::size_t column) const {
    double sum = 0;
    if (has_c()) sum += beta_number_ * number(*inputs_.c, row, column);
    if (has_bias()) sum += bias(row, column);
    return sum;
  }
  bool are_finite(std::size_t row, std::size_t column) const {
    return (!has_c() || std::isfinite(number(*inputs_.c, row, column))) &&
           (!has_bias() || std::isfinite(bias(row, column)));
  }
  /// Of finite ones: adds them to `sum`, and returns their magnitudes.
  long double add_to(FixedPoint& sum, std::size_t row, std::size_t column) const {
    long double magnitudes = 0;
    if (has_c()) {
      const Dyadic c = dyadic_of(number(*inputs_.c, row, column));
      sum.add(c.negative != beta_.negative, uint128{c.significand} * beta_.significand, c.exponent + beta_.exponent);
      magnitudes +=
          std::ldexp(static_cast<long double>(uint128{c.significand} * beta_.significand), c.exponent + beta_.exponent);
    }
    if (has_bias()) {
      const double x = bias(row, column);
      sum.add(dyadic_of(x));
      magnitudes += std::fabs(x);
    }
    return magnitudes;
  }

 private:
  /// Of a row or of a column.
  double bias(std::size_t row, std::size_t column) const {
    const MatrixView& matrix = *inputs_.bias;
    return number(matrix, matrix.rows() > 1 ? row : 0, matrix.columns() > 1 ? column : 0);
  }
  static double number(const MatrixView& matrix, std::size_t row, std::size_t column) {
    return number_of(format(matrix.format()), code_at(matrix, row, column));
  }

  const GemmInputs& inputs_;
  Dyadic alpha_;
  double beta_number_;
  Dyadic beta_;
};

/// What all blocks share.
struct Comparison {
  Comparison(const MatrixView& the_d, const MatrixView& the_a, const MatrixView& the_b, const GemmInputs& the_inputs,
             ExactBy by)
      : d(the_d),
        a(the_a),
        b(the_b),
        inputs(the_inputs),
        output(format(the_d.format())),
        products(the_a, the_b, by),
        addends(the_inputs),
        range(both(addends.range(products.range()), fixed_range_of(output))),
        ulp_of_largest(std::max(output.max_exponent(), output.min_exponent()) - output.fraction_bits) {
    // Room for the difference of two, and for half an ulp.
    range.lowest -= 1;
    range.highest += 2;
  }

  const MatrixView &d, &a, &b;
  const GemmInputs& inputs;
  const Format& output;
  ExactProduct products;
  Addends addends;
  FixedRange range;  ///< of results, D's numbers, and their differences
  int ulp_of_largest;
};

/// How one element is off.
struct ElementError {
  enum class Kind : std::uint8_t { measured, beyond, not_finite, lost };
  Kind kind = Kind::measured;
  bool differs = false;  ///< of what is not finite
  bool is_exact = true;
  double ulps = 0, relative = 0, drift = 0;
  int bin = kLeastErrorBin;
  // Of the exact result.
  double exact = 0, magnitudes = 0;
  std::uint64_t nearest = 0;
};

/// Elements of one block, one after the other.
class BlockErrors {
 public:
  BlockErrors(const Comparison& of, const ExactBlock& block)
      : of_(of), block_(block), sums_(of.products.sums(block)), exact_(of.range.words()), difference_(exact_) {}

  /// `row` and `column` are the block's own.
  ElementError error(std::size_t row, std::size_t column) {
    const std::size_t i = block_.i + row, j = block_.j + column;
    const std::uint64_t given = code_at(of_.d, i, j);
    const Decoded decoded = decode(of_.output, given);
    ElementError error;
    if (sums_.row_not_finite[row] || sums_.column_not_finite[column] || !of_.addends.are_finite(i, j)) {
      const double exact = special(i, j), d = number_of(of_.output, given);
      error.kind = ElementError::Kind::not_finite;
      error.differs = std::isnan(exact) ? !std::isnan(d) : d != exact;
      error.exact = exact;
      return error;
    }

    std::ranges::fill(exact_, 0);
    FixedPoint exact(exact_, of_.range.lowest), sum = sums_.sum(row, column);
    const bool is_sum_negative = sum.drop_sign();
    exact.add_product(is_sum_negative, sum, of_.addends.alpha());
    long double magnitudes = sums_.magnitudes[row * block_.n + column];
    if (!of_.addends.are_none()) {
      magnitudes *= std::fabs(of_.inputs.alpha);
      magnitudes += of_.addends.add_to(exact, i, j);
    }
    const bool negative = exact.drop_sign();
    describe(exact, negative, magnitudes, error);
    if (is_beyond(exact, negative)) {
      error.kind = ElementError::Kind::beyond;
    } else if (!decoded.is_finite()) {
      error.kind = ElementError::Kind::lost;
    } else {
      measure(exact, negative, dyadic_of(of_.output, given), magnitudes, error);
    }
    return error;
  }

 private:
  /// What an element with operands that are not finite is in IEEE 754.
  double special(std::size_t i, std::size_t j) const {
    const Format &of_a = format(of_.a.format()), &of_b = format(of_.b.format());
    double sum = 0;
    for (std::size_t k = 0; k < of_.a.columns(); ++k) {
      const double x = number_of(of_a, code_at(of_.a, i, k)), y = number_of(of_b, code_at(of_.b, k, j));
      if (!std::isfinite(x) || !std::isfinite(y)) sum += x * y;
    }
    return of_.inputs.alpha * sum + of_.addends.special(i, j);
  }
  void describe(const FixedPoint& exact, bool negative, long double magnitudes, ElementError& error) const {
    const FixedPoint::Leading x = exact.leading();
    error.nearest = encode(of_.output, negative, x.magnitude, x.exponent, x.sticky, Rounding::nearest_even);
    const long double number = exact.approximately();
    error.exact = static_cast<double>(negative ? -number : number);
    error.magnitudes = static_cast<double>(magnitudes);
  }
  /// Half an ulp or more above the largest number.
  bool is_beyond(const FixedPoint& exact, bool negative) {
    const bool may_be =
        !of_.output.has_sign || exact.exponent().value_or(of_.range.lowest) >= of_.output.max_exponent();
    if (!may_be) return false;
    const Dyadic largest = dyadic_of(of_.output, max_finite_code(of_.output, negative));
    difference_ = exact_;
    FixedPoint above(difference_, of_.range.lowest);
    above.add(true, largest.significand, largest.exponent);
    above.add(true, 1, of_.ulp_of_largest - 1);
    return !above.drop_sign();
  }
  void measure(const FixedPoint& exact, bool negative, const Dyadic& given, long double magnitudes,
               ElementError& error) {
    const int exponent = std::max(std::min(exact.exponent().value_or(of_.range.lowest), of_.output.max_exponent()),
                                  of_.output.min_exponent());
    const int ulp = exponent - of_.output.fraction_bits;
    difference_ = exact_;
    FixedPoint difference(difference_, of_.range.lowest);
    // Both as if the exact result were positive.
    difference.add(given.negative == negative, given.significand, given.exponent);
    const bool too_small = !difference.drop_sign();
    const std::optional<int> leading = difference.exponent();
    error.is_exact = !leading;
    if (error.is_exact) return;
    error.bin = std::max(*leading + (difference.is_power_of_two() ? 0 : 1) - ulp, kLeastErrorBin);
    const long double off = difference.approximately();
    error.ulps = static_cast<double>(std::ldexp(off, -ulp));
    error.drift = too_small ? -error.ulps : error.ulps;
    error.relative = magnitudes > 0 ? static_cast<double>(off / magnitudes) : std::numeric_limits<double>::infinity();
  }

  const Comparison& of_;
  ExactBlock block_;
  ExactSums sums_;
  std::vector<std::uint64_t> exact_, difference_;
};

/// Sums over elements. Blocks are added in their order, so that threads change no bit.
class Tally {
 public:
  struct Place {
    std::size_t row = 0, column = 0;
    double value = -1;

    /// Of the first of the largest.
    void take(const Place& other) {
      if (other.value > value || (other.value == value && std::pair(other.row, other.column) < std::pair(row, column)))
        *this = other;
    }
  };

  void add(const ElementError& error, std::size_t row, std::size_t column) {
    switch (error.kind) {
      case ElementError::Kind::beyond:
        ++beyond_;
        return;
      case ElementError::Kind::not_finite:
        ++not_finite_;
        differ_ += error.differs ? 1 : 0;
        return;
      case ElementError::Kind::lost:
        ++lost_;
        return;
      case ElementError::Kind::measured:
        break;
    }
    ++measured_;
    if (error.is_exact)
      ++exact_;
    else
      ++bins_.at(bin_index(error.bin));
    ulps_ += error.ulps;
    relative_ += error.relative;
    drift_ += error.drift;
    worst_.take({row, column, error.ulps});
    worst_relative_.take({row, column, error.relative});
  }
  void add(const Tally& other) {
    beyond_ += other.beyond_;
    not_finite_ += other.not_finite_;
    differ_ += other.differ_;
    lost_ += other.lost_;
    measured_ += other.measured_;
    exact_ += other.exact_;
    for (std::size_t i = 0; i < bins_.size(); ++i) bins_[i] += other.bins_[i];
    ulps_ += other.ulps_;
    relative_ += other.relative_;
    drift_ += other.drift_;
    if (other.measured_ > 0) {
      worst_.take(other.worst_);
      worst_relative_.take(other.worst_relative_);
    }
  }
  /// All but the worst elements.
  ErrorReport report() const {
    ErrorReport report;
    report.measured = measured_;
    report.beyond = beyond_;
    report.not_finite = not_finite_;
    report.not_finite_differ = differ_;
    report.lost = lost_;
    report.exact = report.nearest = exact_;
    for (std::size_t i = 0; i < bins_.size(); ++i) {
      if (bins_[i] == 0) continue;
      const int exponent = static_cast<int>(i) + kLeastErrorBin;
      if (exponent < 0) report.nearest += bins_[i];
      report.bins.push_back({exponent, bins_[i]});
    }
    if (measured_ == 0) return report;
    const auto count = static_cast<double>(measured_);
    report.max_ulps = worst_.value;
    report.mean_ulps = ulps_ / count;
    report.drift_ulps = drift_ / count;
    report.max_relative = worst_relative_.value;
    report.mean_relative = relative_ / count;
    return report;
  }
  bool has_worst() const { return measured_ > 0; }
  const Place& worst() const { return worst_; }
  const Place& worst_relative() const { return worst_relative_; }

 private:
  /// From an fp64's smallest number to its largest, each the ulp of the other.
  static constexpr std::size_t kBins = 2 * 2200;
  static std::size_t bin_index(int bin) { return std::min(static_cast<std::size_t>(bin - kLeastErrorBin), kBins - 1); }

  std::uint64_t measured_ = 0, beyond_ = 0, not_finite_ = 0, differ_ = 0, lost_ = 0, exact_ = 0;
  std::vector<std::uint64_t> bins_ = std::vector<std::uint64_t>(kBins);
  double ulps_ = 0, relative_ = 0, drift_ = 0;
  Place worst_, worst_relative_;
};

Tally tally_of(const Comparison& comparison, const ExactBlock& block) {
  BlockErrors errors(comparison, block);
  Tally tally;
  for (std::size_t i = 0; i < block.m; ++i) {
    for (std::size_t j = 0; j < block.n; ++j) tally.add(errors.error(i, j), block.i + i, block.j + j);
  }
  return tally;
}

std::vector<ErrorTerm> largest_terms(const Comparison& of, std::size_t row, std::size_t column) {
  std::vector<ErrorTerm> terms(of.a.columns());
  for (std::size_t k = 0; k < terms.size(); ++k) {
    const std::uint64_t a = code_at(of.a, row, k), b = code_at(of.b, k, column);
    const double x = number_of(format(of.a.format()), a), y = number_of(format(of.b.format()), b);
    terms[k] = {k, a, b, of.inputs.alpha * x * y};
  }
  const auto end = terms.begin() + static_cast<std::ptrdiff_t>(std::min(kLargestTerms, terms.size()));
  std::ranges::partial_sort(terms, end, [](const ErrorTerm& x, const ErrorTerm& y) {
    return std::pair(-std::fabs(x.product), x.k) < std::pair(-std::fabs(y.product), y.k);
  });
  terms.erase(end, terms.end());
  std::erase_if(terms, [](const ErrorTerm& x) { return x.product == 0; });
  return terms;
}

ErrorElement element_at(const Comparison& of, const Tally::Place& place) {
  BlockErrors errors(of, {place.row, place.column, 1, 1});
  const ElementError error = errors.error(0, 0);
  return {0,
          place.row,
          place.column,
          code_at(of.d, place.row, place.column),
          error.nearest,
          error.exact,
          error.magnitudes,
          error.ulps,
          error.relative,
          largest_terms(of, place.row, place.column)};
}

void check(const MatrixView& d, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs) {
  if (inputs.a_scales != nullptr || inputs.b_scales != nullptr)
    throw InputError(fmt::format("{}: scales; right would be a product without, as the exact one is computed", kWhere));
  const double beta = inputs.factor_of_c();
  check_shapes(a, b, beta == 0 ? nullptr : inputs.c, kWhere);
  if (d.rows() != a.rows() || d.columns() != b.columns()) {
    throw InputError(
        fmt::format("{}: D is {} × {}; right would be {} × {}", kWhere, d.rows(), d.columns(), a.rows(), b.columns()));
  }
  if (inputs.bias != nullptr) check_bias(*inputs.bias, d.rows(), d.columns(), kWhere);
  if (beta != 0 && inputs.c == nullptr)
    throw InputError(fmt::format("{}: beta is {} and there is no C; expected a C, or a beta of 0", kWhere, beta));
  for (const auto& [name, factor] : {std::pair{"alpha", inputs.alpha}, std::pair{"beta", beta}}) {
    if (!std::isfinite(factor))
      throw InputError(fmt::format("{}: {} is {}; right would be a finite number", kWhere, name, factor));
  }
}

}  // namespace

void ErrorReport::add(const ErrorReport& other, std::size_t batch) {
  const auto weighed = [&](double mine, double others) {
    const auto of_mine = static_cast<double>(measured), of_others = static_cast<double>(other.measured);
    return of_mine + of_others == 0 ? 0 : (mine * of_mine + others * of_others) / (of_mine + of_others);
  };
  const auto take = [&](std::optional<ErrorElement>& mine, const std::optional<ErrorElement>& others, auto value) {
    if (!others || (mine && std::invoke(value, *mine) >= std::invoke(value, *others))) return;
    mine = others;
    mine->batch = batch;
  };
  mean_ulps = weighed(mean_ulps, other.mean_ulps);
  drift_ulps = weighed(drift_ulps, other.drift_ulps);
  mean_relative = weighed(mean_relative, other.mean_relative);
  max_ulps = std::max(max_ulps, other.max_ulps);
  max_relative = std::max(max_relative, other.max_relative);
  take(worst, other.worst, &ErrorElement::ulps);
  take(worst_relative, other.worst_relative, &ErrorElement::relative);
  a = other.a;
  b = other.b;
  d = other.d;
  rows += other.rows;
  measured += other.measured;
  beyond += other.beyond;
  not_finite += other.not_finite;
  not_finite_differ += other.not_finite_differ;
  lost += other.lost;
  exact += other.exact;
  nearest += other.nearest;
  for (const ErrorBin& bin : other.bins) {
    const auto at = std::ranges::lower_bound(bins, bin.exponent, {}, &ErrorBin::exponent);
    if (at != bins.end() && at->exponent == bin.exponent)
      at->elements += bin.elements;
    else
      bins.insert(at, bin);
  }
}

ErrorReport error_of(const MatrixView& d, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs,
                     const GemmOptions& options) {
  check(d, a, b, inputs);
  const unsigned threads = options.threads == 0 ? all_threads() : options.threads;
  const Comparison comparison(d, a, b, inputs, ExactBy::whichever);

  const std::size_t m = a.rows(), n = b.columns();
  const std::size_t across = (n + kBlockColumns - 1) / kBlockColumns;
  // So many rows at once that each thread has some blocks.
  const std::size_t bands = (2 * threads + across - 1) / across, rows_at_once = bands * kBlockRows;
  Tally all;
  std::size_t rows = 0;
  while (rows < m) {
    std::vector<ExactBlock> blocks;
    const std::size_t end = std::min(m, rows + rows_at_once);
    for (std::size_t i = rows; i < end; i += kBlockRows) {
      for (std::size_t j = 0; j < n; j += kBlockColumns)
        blocks.push_back({i, j, std::min(kBlockRows, end - i), std::min(kBlockColumns, n - j)});
    }
    std::vector<Tally> tallies(blocks.size());
    in_parallel(blocks.size(), threads, [&](std::size_t at) { tallies[at] = tally_of(comparison, blocks[at]); });
    for (const Tally& tally : tallies) all.add(tally);
    rows = end;
    if (options.progress && !options.progress(rows)) break;
  }
  ErrorReport report = all.report();
  report.a = a.format();
  report.b = b.format();
  report.d = d.format();
  report.rows = rows;
  if (all.has_worst()) {
    report.worst = element_at(comparison, all.worst());
    report.worst_relative = element_at(comparison, all.worst_relative());
  }
  return report;
}

}  // namespace tcnum
