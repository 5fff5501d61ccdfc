// Errors of matrix products: block by block, each element's sum exactly and then its difference from what is given.
#include "tcnum/gemm_error.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <utility>

#include "emu/parallel.hpp"
#include "exact_product.hpp"
#include "performer.hpp"
#include "scales.hpp"
#include "sums.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kOfErrors = "error";
constexpr std::size_t kBlockRows = 256, kBlockColumns = 256;
constexpr std::size_t kLargestTerms = 4;

/// What is added to the sums: beta · C, and a bias of the rows or of the columns.
class Addends {
 public:
  explicit Addends(const GemmInputs& inputs) : alpha_(dyadic_of(inputs.alpha)), is_alpha_one_(inputs.alpha == 1) {
    if (const double beta = inputs.factor_of_c(); beta != 0) addends_.push_back({beta, inputs.c});
    if (inputs.bias != nullptr) addends_.push_back({1, inputs.bias});
  }
  bool are_none() const { return is_alpha_one_ && addends_.empty(); }
  const Dyadic& alpha() const { return alpha_; }

  FixedRange range(const FixedRange& sums) const {
    FixedRange all = product(sums, alpha_.range());
    for (const Addend& each : addends_)
      all = both(all, product(fixed_range_of(format(each.matrix->format())), dyadic_of(each.factor).range()));
    return {all.lowest, all.highest + 2};
  }
  /// As it is in IEEE 754 where one is not finite.
  double special(std::size_t row, std::size_t column) const {
    double sum = 0;
    for (const Addend& each : addends_) sum += each.factor * each.number(row, column);
    return sum;
  }
  bool are_finite(std::size_t row, std::size_t column) const {
    return std::ranges::all_of(addends_, [&](const Addend& x) { return std::isfinite(x.number(row, column)); });
  }
  /// Of finite ones: adds them to `sum`, and returns their magnitudes.
  long double add_to(FixedPoint& sum, std::size_t row, std::size_t column) const {
    long double magnitudes = 0;
    for (const Addend& each : addends_) {
      const Dyadic x = dyadic_of(each.number(row, column)), factor = dyadic_of(each.factor);
      const uint128 magnitude = uint128{x.significand} * factor.significand;
      sum.add(x.negative != factor.negative, magnitude, x.exponent + factor.exponent);
      magnitudes += std::ldexp(static_cast<long double>(magnitude), x.exponent + factor.exponent);
    }
    return magnitudes;
  }

 private:
  struct Addend {
    double factor;
    const MatrixView* matrix;
    /// A matrix with one row, or one column, has it for all.
    double number(std::size_t row, std::size_t column) const {
      return number_of(format(matrix->format()),
                       code_at(*matrix, matrix->rows() > 1 ? row : 0, matrix->columns() > 1 ? column : 0));
    }
  };
  Dyadic alpha_;
  bool is_alpha_one_;
  std::vector<Addend> addends_;
};

/// What all blocks share. The reference is made of the exact operands, where there are some.
struct Comparison {
  Comparison(const MatrixView& the_d, const ScaledOperand& a, const ScaledOperand& b, const GemmInputs& the_inputs,
             const ErrorReference& reference)
      : d(the_d),
        reference_a(reference.exact_a == nullptr ? a : ScaledOperand(*reference.exact_a, OperandLines::rows)),
        reference_b(reference.exact_b == nullptr ? b : ScaledOperand(*reference.exact_b, OperandLines::columns)),
        inputs(the_inputs),
        output(format(the_d.format())),
        products(reference_a, reference_b),
        addends(the_inputs),
        range(both(addends.range(products.range()), fixed_range_of(output))),
        ulp_of_largest(std::max(output.max_exponent(), output.min_exponent()) - output.fraction_bits) {
    if (reference.exact_a != nullptr || reference.exact_b != nullptr) {
      quantised.emplace(a, b);
      range = both(range, addends.range(quantised->range()));
    }
    // Room for the difference of two, and for half an ulp.
    range.lowest -= 1;
    range.highest += 2;
  }

  const MatrixView& d;
  ScaledOperand reference_a, reference_b;
  const GemmInputs& inputs;
  const Format& output;
  ExactProduct products;                  ///< of the reference
  std::optional<ExactProduct> quantised;  ///< of the operands that were multiplied, where they are others
  Addends addends;
  FixedRange range;  ///< of results, D's numbers, and their differences
  int ulp_of_largest;
};

/// The size of a difference.
struct Size {
  double ulps = 0, relative = 0;
};

/// How one element is off.
struct ElementError {
  enum class Kind : std::uint8_t { measured, beyond, not_finite, lost };
  Kind kind = Kind::measured;
  bool differs = false;  ///< of what is not finite
  bool is_exact = true;
  Size error, quantisation, arithmetic;
  double drift = 0;
  int bin = kLeastErrorBin;
  // Of the exact result.
  double exact = 0, magnitudes = 0;
  std::optional<double> quantised;
  std::uint64_t nearest = 0;
};

/// alpha · sum + beta · c + bias of one element: a sign, and a magnitude in words.
class ExactResult {
 public:
  explicit ExactResult(const FixedRange& range) : words_(range.words()), lowest_(range.lowest) {}

  FixedPoint magnitude() { return {words_, lowest_}; }
  const std::vector<std::uint64_t>& words() const { return words_; }
  bool is_negative() const { return negative_; }
  double number() {
    const long double magnitude = this->magnitude().approximately();
    return static_cast<double>(negative_ ? -magnitude : magnitude);
  }
  /// Of the element (i, j), whose sum is (row, column) of the block's. Returns the terms' magnitudes.
  long double compute(const Comparison& of, ExactSums& sums, std::size_t row, std::size_t column, std::size_t i,
                      std::size_t j) {
    std::ranges::fill(words_, 0);
    FixedPoint exact = magnitude(), sum = sums.sum(row, column);
    const bool is_sum_negative = sum.drop_sign();
    exact.add_product(is_sum_negative, sum, of.addends.alpha());
    long double magnitudes = sums.magnitudes[row * sums.columns + column];
    if (!of.addends.are_none()) {
      magnitudes *= std::fabs(of.inputs.alpha);
      magnitudes += of.addends.add_to(exact, i, j);
    }
    negative_ = exact.drop_sign();
    return magnitudes;
  }

 private:
  std::vector<std::uint64_t> words_;
  int lowest_;
  bool negative_ = false;
};

/// Elements of one block, one after the other.
class BlockErrors {
 public:
  BlockErrors(const Comparison& of, const ExactBlock& block)
      : of_(of), block_(block), sums_(of.products.sums(block)), exact_(of.range), quantised_(of.range) {
    if (of.quantised) quantised_sums_ = of.quantised->sums(block);
  }

  /// `row` and `column` are the block's own.
  ElementError error(std::size_t row, std::size_t column) {
    const std::size_t i = block_.i + row, j = block_.j + column;
    const std::uint64_t given = code_at(of_.d, i, j);
    ElementError error;
    if (!is_finite(sums_, row, column) || !of_.addends.are_finite(i, j)) {
      const double exact = special(i, j), d = number_of(of_.output, given);
      error.kind = ElementError::Kind::not_finite;
      error.differs = std::isnan(exact) ? !std::isnan(d) : d != exact;
      error.exact = exact;
      return error;
    }

    const long double magnitudes = exact_.compute(of_, sums_, row, column, i, j);
    if (quantised_sums_) error.quantised = quantised(row, column, i, j);
    const FixedPoint exact = exact_.magnitude();
    const FixedPoint::Leading x = exact.leading();
    error.nearest = encode(of_.output, exact_.is_negative(), x.magnitude, x.exponent, x.sticky, Rounding::nearest_even);
    error.exact = exact_.number();
    error.magnitudes = static_cast<double>(magnitudes);
    if (is_beyond()) {
      error.kind = ElementError::Kind::beyond;
    } else if (!decode(of_.output, given).is_finite()) {
      error.kind = ElementError::Kind::lost;
    } else {
      measure(dyadic_of(of_.output, given), magnitudes, error);
    }
    return error;
  }

 private:
  static bool is_finite(const ExactSums& sums, std::size_t row, std::size_t column) {
    return !sums.row_not_finite[row] && !sums.column_not_finite[column];
  }
  /// What the operands that were multiplied give, to nearest.
  double quantised(std::size_t row, std::size_t column, std::size_t i, std::size_t j) {
    if (!is_finite(*quantised_sums_, row, column)) return std::numeric_limits<double>::quiet_NaN();
    quantised_.compute(of_, *quantised_sums_, row, column, i, j);
    return quantised_.number();
  }
  /// What an element with operands that are not finite is in IEEE 754.
  double special(std::size_t i, std::size_t j) const {
    double sum = 0;
    for (std::size_t k = 0; k < of_.reference_a.depth(); ++k) {
      const double x = of_.reference_a.number(i, k), y = of_.reference_b.number(j, k);
      if (!std::isfinite(x) || !std::isfinite(y)) sum += x * y;
    }
    return of_.inputs.alpha * sum + of_.addends.special(i, j);
  }
  /// Half an ulp or more above the largest number.
  bool is_beyond() {
    const bool may_be =
        !of_.output.has_sign || exact_.magnitude().exponent().value_or(of_.range.lowest) >= of_.output.max_exponent();
    if (!may_be) return false;
    const Dyadic largest = dyadic_of(of_.output, max_finite_code(of_.output, exact_.is_negative()));
    FixedPoint above = copy_of(exact_);
    above.add(true, largest.significand, largest.exponent);
    above.add(true, 1, of_.ulp_of_largest - 1);
    return !above.drop_sign();
  }
  void measure(const Dyadic& given, long double magnitudes, ElementError& error) {
    const int exponent =
        std::max(std::min(exact_.magnitude().exponent().value_or(of_.range.lowest), of_.output.max_exponent()),
                 of_.output.min_exponent());
    const int ulp = exponent - of_.output.fraction_bits;
    const auto size = [&](const FixedPoint& difference) -> Size {
      const long double off = difference.approximately();
      if (off == 0) return {};
      return {static_cast<double>(std::ldexp(off, -ulp)),
              magnitudes > 0 ? static_cast<double>(off / magnitudes) : std::numeric_limits<double>::infinity()};
    };
    // Differences are taken as if the minuend's result were positive.
    const auto difference_from = [&](const ExactResult& result) {
      FixedPoint difference = copy_of(result);
      difference.add(given.negative == result.is_negative(), given.significand, given.exponent);
      return difference;
    };
    if (error.quantised && std::isnan(*error.quantised)) {
      constexpr double kInfinity = std::numeric_limits<double>::infinity();
      error.quantisation = error.arithmetic = {kInfinity, kInfinity};
    } else if (error.quantised) {
      FixedPoint arithmetic = difference_from(quantised_);
      arithmetic.drop_sign();
      error.arithmetic = size(arithmetic);
      FixedPoint quantisation = copy_of(quantised_);
      quantisation.add_product(exact_.is_negative() == quantised_.is_negative(), exact_.magnitude(), {false, 1, 0});
      quantisation.drop_sign();
      error.quantisation = size(quantisation);
    }
    FixedPoint difference = difference_from(exact_);
    const bool too_small = !difference.drop_sign();
    const std::optional<int> leading = difference.exponent();
    error.is_exact = !leading;
    if (error.is_exact) return;
    error.bin = std::max(*leading + (difference.is_power_of_two() ? 0 : 1) - ulp, kLeastErrorBin);
    error.error = size(difference);
    error.drift = too_small ? -error.error.ulps : error.error.ulps;
  }
  /// Its magnitude, to be changed.
  FixedPoint copy_of(const ExactResult& result) {
    difference_ = result.words();
    return {difference_, of_.range.lowest};
  }

  const Comparison& of_;
  ExactBlock block_;
  ExactSums sums_;
  std::optional<ExactSums> quantised_sums_;
  ExactResult exact_, quantised_;
  std::vector<std::uint64_t> difference_;
};

// --- Reports while elements and blocks are added up: the drift is a sum yet, measures stand in no order, and there are
// --- no means.

void add(ErrorMeasures& to, const Size& size) {
  to.ulps.ascending.push_back(size.ulps);
  to.relative.ascending.push_back(size.relative);
}
void add(ErrorMeasures& to, const ErrorMeasures& more) {
  for (const auto measure : {&ErrorMeasures::ulps, &ErrorMeasures::relative}) {
    const std::vector<double>& values = (more.*measure).ascending;
    (to.*measure).ascending.insert((to.*measure).ascending.end(), values.begin(), values.end());
  }
}
template <class More>
void add(std::optional<ErrorMeasures>& to, const More& more) {
  if (!to) to.emplace();
  add(*to, more);
}
void add_bin(std::vector<ErrorBin>& bins, const ErrorBin& bin) {
  const auto at = std::ranges::lower_bound(bins, bin.exponent, {}, &ErrorBin::exponent);
  if (at != bins.end() && at->exponent == bin.exponent)
    at->elements += bin.elements;
  else
    bins.insert(at, bin);
}
/// The first of the largest is kept.
void keep_worst(std::optional<ErrorElement>& worst, const ErrorElement& other, double ErrorElement::*value) {
  const auto place = [](const ErrorElement& x) { return std::tuple(x.batch, x.row, x.column); };
  if (!worst || other.*value > (*worst).*value || (other.*value == (*worst).*value && place(other) < place(*worst)))
    worst = other;
}

void add(ErrorReport& to, const ElementError& error, std::size_t row, std::size_t column) {
  switch (error.kind) {
    case ElementError::Kind::beyond:
      ++to.beyond;
      return;
    case ElementError::Kind::not_finite:
      ++to.not_finite;
      to.not_finite_differ += error.differs ? 1 : 0;
      return;
    case ElementError::Kind::lost:
      ++to.lost;
      return;
    case ElementError::Kind::measured:
      break;
  }
  ++to.measured;
  to.exact += error.is_exact ? 1 : 0;
  to.nearest += error.is_exact || error.bin < 0 ? 1 : 0;
  if (!error.is_exact) add_bin(to.bins, {error.bin, 1});
  to.drift_ulps += error.drift;
  add(to.error, error.error);
  if (error.quantised) {
    add(to.quantisation, error.quantisation);
    add(to.arithmetic, error.arithmetic);
  }
  ErrorElement element;
  element.row = row;
  element.column = column;
  element.ulps = error.error.ulps;
  element.relative = error.error.relative;
  keep_worst(to.worst, element, &ErrorElement::ulps);
  keep_worst(to.worst_relative, element, &ErrorElement::relative);
}
void add(ErrorReport& to, const ErrorReport& more) {
  for (const auto count : {&ErrorReport::measured, &ErrorReport::beyond, &ErrorReport::not_finite, &ErrorReport::lost,
                           &ErrorReport::not_finite_differ, &ErrorReport::exact, &ErrorReport::nearest})
    to.*count += more.*count;
  for (const ErrorBin& bin : more.bins) add_bin(to.bins, bin);
  to.drift_ulps += more.drift_ulps;
  add(to.error, more.error);
  if (more.quantisation) add(to.quantisation, *more.quantisation);
  if (more.arithmetic) add(to.arithmetic, *more.arithmetic);
  if (more.worst) keep_worst(to.worst, *more.worst, &ErrorElement::ulps);
  if (more.worst_relative) keep_worst(to.worst_relative, *more.worst_relative, &ErrorElement::relative);
}
void finish_sums(ErrorReport& of) {
  if (of.measured == 0) return;
  const auto count = static_cast<double>(of.measured);
  of.drift_ulps /= count;
  for (ErrorMeasures* measures :
       {&of.error, of.quantisation ? &*of.quantisation : nullptr, of.arithmetic ? &*of.arithmetic : nullptr}) {
    if (measures == nullptr) continue;
    for (ErrorMeasure* measure : {&measures->ulps, &measures->relative}) {
      std::ranges::sort(measure->ascending);
      measure->mean = std::accumulate(measure->ascending.begin(), measure->ascending.end(), 0.0) / count;
    }
  }
}

ErrorReport report_of(const Comparison& comparison, const ExactBlock& block) {
  BlockErrors errors(comparison, block);
  ErrorReport report;
  for (std::size_t i = 0; i < block.m; ++i) {
    for (std::size_t j = 0; j < block.n; ++j) add(report, errors.error(i, j), block.i + i, block.j + j);
  }
  return report;
}

std::vector<ErrorTerm> largest_terms(const Comparison& of, std::size_t row, std::size_t column) {
  std::vector<ErrorTerm> terms(of.reference_a.depth());
  for (std::size_t k = 0; k < terms.size(); ++k) {
    terms[k] = {k, of.reference_a.code(row, k), of.reference_b.code(column, k),
                of.inputs.alpha * of.reference_a.number(row, k) * of.reference_b.number(column, k)};
  }
  const auto end = terms.begin() + static_cast<std::ptrdiff_t>(std::min(kLargestTerms, terms.size()));
  std::ranges::partial_sort(terms, end, [](const ErrorTerm& x, const ErrorTerm& y) {
    return std::pair(-std::fabs(x.product), x.k) < std::pair(-std::fabs(y.product), y.k);
  });
  terms.erase(end, terms.end());
  std::erase_if(terms, [](const ErrorTerm& x) { return x.product == 0; });
  return terms;
}

/// All that a report says of an element.
ErrorElement element_at(const Comparison& of, const ErrorElement& place) {
  BlockErrors errors(of, {place.row, place.column, 1, 1});
  const ElementError error = errors.error(0, 0);
  return {.row = place.row,
          .column = place.column,
          .given = code_at(of.d, place.row, place.column),
          .nearest = error.nearest,
          .exact = error.exact,
          .quantised = error.quantised,
          .magnitudes = error.magnitudes,
          .ulps = error.error.ulps,
          .relative = error.error.relative,
          .largest = largest_terms(of, place.row, place.column)};
}

/// How many products along k share one of so many scales.
std::size_t block_of(const LineScales& scales, std::string_view name, std::size_t k, std::size_t asked) {
  if (scales.blocks() == 1) return k;
  const auto parts = [&](std::size_t block) { return (k + block - 1) / block; };
  const std::size_t block = asked == 0 ? std::bit_ceil(parts(scales.blocks())) : asked;
  if (parts(block) == scales.blocks()) return block;
  throw InputError(fmt::format("{}: {} has {} parts of k, which is {}; expected 1{}", kOfErrors, name, scales.blocks(),
                               k,
                               asked == 0 ? ", or one for every so many products, a power of two"
                                          : fmt::format(", or {}, of {} products each", parts(asked), asked)));
}

/// An operand with its scales, and the products along k that share one.
struct GivenOperand {
  GivenOperand(const MatrixView& matrix, OperandLines along, const MatrixView* scales, std::size_t asked_block)
      : numbers(matrix, along) {
    if (scales == nullptr) return;
    const bool is_a = along == OperandLines::rows;
    const Format& f = format(matrix.format());
    if (!holds_scales_of(f)) {
      throw InputError(fmt::format("{}: {} is of {}, with scales; expected a format of at most 29 bits of precision",
                                   kOfErrors, is_a ? "A" : "B", f.name));
    }
    LineScales of_lines = line_scales(*scales, is_a ? ScalesOf::a : ScalesOf::b, numbers.lines(), kOfErrors);
    block = block_of(of_lines, is_a ? "a_scales" : "b_scales", numbers.depth(), asked_block);
    numbers = ScaledOperand(matrix, along, std::move(of_lines), *block);
  }
  ScaledOperand numbers;
  std::optional<std::size_t> block;
};

void check_exact(const MatrixView* exact, std::string_view name, const MatrixView& of) {
  if (exact == nullptr || (exact->rows() == of.rows() && exact->columns() == of.columns())) return;
  throw InputError(fmt::format("{}: {} is {} × {}; expected {} × {}, as the operand is", kOfErrors, name, exact->rows(),
                               exact->columns(), of.rows(), of.columns()));
}

void check(const MatrixView& d, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs,
           const ErrorReference& reference) {
  const double beta = inputs.factor_of_c();
  check_shapes(a, b, beta == 0 ? nullptr : inputs.c, kOfErrors);
  if (d.rows() != a.rows() || d.columns() != b.columns()) {
    throw InputError(
        fmt::format("{}: D is {} × {}; expected {} × {}", kOfErrors, d.rows(), d.columns(), a.rows(), b.columns()));
  }
  check_exact(reference.exact_a, "exact_a", a);
  check_exact(reference.exact_b, "exact_b", b);
  if (inputs.bias != nullptr) check_bias(*inputs.bias, d.rows(), d.columns(), kOfErrors);
  if (beta != 0 && inputs.c == nullptr)
    throw InputError(fmt::format("{}: beta is {} and there is no C; expected a C, or a beta of 0", kOfErrors, beta));
  for (const auto& [name, factor] : {std::pair{"alpha", inputs.alpha}, std::pair{"beta", beta}}) {
    if (!std::isfinite(factor))
      throw InputError(fmt::format("{}: {} is {}; expected a finite number", kOfErrors, name, factor));
  }
}

}  // namespace

double ErrorMeasure::percentile(double percent) const {
  if (ascending.empty()) return 0;
  const double rank = std::ceil(percent / 100 * static_cast<double>(ascending.size()));
  return ascending[std::min(static_cast<std::size_t>(std::max(rank, 1.0)), ascending.size()) - 1];
}

void ErrorReport::add(const ErrorReport& other, std::size_t batch) {
  ErrorReport more = other;
  for (auto* const worst : {&more.worst, &more.worst_relative}) {
    if (*worst) (*worst)->batch = batch;
  }
  for (ErrorReport* each : {this, &more}) each->drift_ulps *= static_cast<double>(each->measured);
  tcnum::add(*this, more);
  finish_sums(*this);
  a = other.a;
  b = other.b;
  d = other.d;
  exact_a = other.exact_a;
  exact_b = other.exact_b;
  a_scale_block = other.a_scale_block;
  b_scale_block = other.b_scale_block;
  rows += other.rows;
}

ErrorReport error_of(const MatrixView& d, const MatrixView& a, const MatrixView& b, const GemmInputs& inputs,
                     const GemmOptions& options, const ErrorReference& reference) {
  check(d, a, b, inputs, reference);
  const unsigned threads = options.threads == 0 ? all_threads() : options.threads;
  const GivenOperand of_a(a, OperandLines::rows, inputs.a_scales, reference.scale_block),
      of_b(b, OperandLines::columns, inputs.b_scales, reference.scale_block);
  const Comparison comparison(d, of_a.numbers, of_b.numbers, inputs, reference);

  const std::size_t m = a.rows(), n = b.columns();
  const std::size_t across = (n + kBlockColumns - 1) / kBlockColumns;
  // So many rows at once that each thread has some blocks.
  const std::size_t bands = (2 * threads + across - 1) / across, rows_at_once = bands * kBlockRows;
  ErrorReport report;
  std::size_t rows = 0;
  while (rows < m) {
    std::vector<ExactBlock> blocks;
    const std::size_t end = std::min(m, rows + rows_at_once);
    for (std::size_t i = rows; i < end; i += kBlockRows) {
      for (std::size_t j = 0; j < n; j += kBlockColumns)
        blocks.push_back({i, j, std::min(kBlockRows, end - i), std::min(kBlockColumns, n - j)});
    }
    std::vector<ErrorReport> reports(blocks.size());
    in_parallel(blocks.size(), threads, [&](std::size_t at) { reports[at] = report_of(comparison, blocks[at]); });
    for (const ErrorReport& each : reports) add(report, each);  // in their order, so that threads change no bit
    rows = end;
    if (options.progress && !options.progress(rows)) break;
  }
  finish_sums(report);
  for (auto* const step : {&report.quantisation, &report.arithmetic}) {
    if (comparison.quantised && !*step) step->emplace();
  }
  if (reference.exact_a != nullptr) report.exact_a = reference.exact_a->format();
  if (reference.exact_b != nullptr) report.exact_b = reference.exact_b->format();
  report.a_scale_block = of_a.block;
  report.b_scale_block = of_b.block;
  report.a = a.format();
  report.b = b.format();
  report.d = d.format();
  report.rows = rows;
  for (auto* const worst : {&report.worst, &report.worst_relative}) {
    if (*worst) *worst = element_at(comparison, **worst);
  }
  return report;
}

}  // namespace tcnum
