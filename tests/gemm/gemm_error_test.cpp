// tcnum/gemm_error.hpp: every figure of a report is that of the definition, computed with GMP's integers.
#include "tcnum/gemm_error.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <boost/multiprecision/gmp.hpp>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <random>

#include "refusal.hpp"
#include "src/gemm/exact_product.hpp"
#include "src/gemm/sums.hpp"

namespace tcnum::gemm_error_test {
namespace {

using Integer = boost::multiprecision::mpz_int;
using Random = std::mt19937_64;

template <class Value>
Value one_of(Random& random, std::initializer_list<Value> values) {
  return *(values.begin() + random() % values.size());
}

/// Everything is a multiple of 2^-kScale: products of three numbers of at most 2^-1100 each.
constexpr int kScale = 3400;

Integer scaled(const Integer& x, int exponent) {
  return exponent >= 0 ? Integer(x << exponent) : Integer(x >> -exponent);
}
/// A finite code's number times 2^1100.
Integer number(const Format& f, std::uint64_t code) {
  const Decoded x = decode(f, code);
  const Integer magnitude = scaled(Integer(x.significand), x.exponent - f.fraction_bits + 1100);
  return x.negative ? Integer(-magnitude) : magnitude;
}
Integer number(double x) { return number(format(FormatId::fp64), std::bit_cast<std::uint64_t>(x)); }
int exponent_of(const Integer& x) { return static_cast<int>(msb(x)) - kScale; }
/// A quotient, good to far more than a double's bits.
double quotient(const Integer& x, const Integer& y) {
  using Float = boost::multiprecision::mpf_float_100;
  return static_cast<double>(Float(x) / Float(y));
}

struct Product {
  Matrix a, b, d;
  std::optional<Matrix> c = {}, bias = {};
  double alpha = 1, beta = 0;

  ErrorReport report(const GemmOptions& options = {}) const {
    std::optional<MatrixView> of_c, of_bias;
    if (c) of_c = *c;
    if (bias) of_bias = *bias;
    return error_of(d, a, b,
                    {.c = c ? &*of_c : nullptr, .bias = bias ? &*of_bias : nullptr, .alpha = alpha, .beta = beta},
                    options);
  }
};

/// One element by the definition.
struct Naive {
  Naive(const Product& p, std::size_t i, std::size_t j) {
    const Format &fa = format(p.a.format()), &fb = format(p.b.format());
    double special = 0;
    const auto finite = [](const Format& f, std::uint64_t code) { return decode(f, code).is_finite(); };
    for (std::size_t k = 0; k < p.a.columns(); ++k) {
      const std::uint64_t x = p.a(i, k), y = p.b(k, j);
      if (finite(fa, x) && finite(fb, y)) {
        const Integer product = number(fa, x) * number(fb, y) * number(p.alpha);
        exact += product;
        magnitudes += abs(product);
      } else {
        is_finite = false;
        special += number_of(fa, x) * number_of(fb, y);
      }
    }
    special *= p.alpha;
    const auto add = [&](const Matrix& more, std::size_t row, double factor) {
      const Format& f = format(more.format());
      const std::uint64_t code = more(row, j);
      special += factor * number_of(f, code);
      if (!finite(f, code)) {
        is_finite = false;
        return;
      }
      const Integer product = (number(f, code) * number(factor)) << 1100;
      exact += product;
      magnitudes += abs(product);
    };
    if (p.c && p.beta != 0) add(*p.c, i, p.beta);
    if (p.bias) add(*p.bias, 0, 1);
    if (!is_finite) exact_special = special;
    exact = scaled(exact, kScale - 3300);
    magnitudes = scaled(magnitudes, kScale - 3300);
  }
  Integer exact = 0, magnitudes = 0;
  bool is_finite = true;
  double exact_special = 0;
};

/// The exact result rounded to the format.
std::uint64_t rounded(const Format& f, const Integer& exact) {
  if (exact == 0) return zero_code(f, false);
  const Integer magnitude = abs(exact);
  const int drop = std::max(0, static_cast<int>(msb(magnitude)) - 100);
  const Integer top = magnitude >> drop;
  const auto low = static_cast<std::uint64_t>(top & ~std::uint64_t{0}), high = static_cast<std::uint64_t>(top >> 64);
  return encode(f, exact < 0, uint128{high} << 64 | low, drop - kScale, (Integer(top << drop)) != magnitude,
                Rounding::nearest_even);
}

void expect_close(double x, double y) {
  if (x != y) {
    EXPECT_NEAR(x, y, 1e-11 * std::fabs(y));
  }
}

void expect_report(const Product& p, const ErrorReport& report) {
  const Format& f = format(p.d.format());
  std::uint64_t measured = 0, beyond = 0, not_finite = 0, differ = 0, lost = 0, nearest = 0, exact = 0;
  double most = 0, sum = 0, drift = 0, most_relative = 0, sum_relative = 0;
  std::map<int, std::uint64_t> bins;
  for (std::size_t i = 0; i < p.d.rows(); ++i) {
    for (std::size_t j = 0; j < p.d.columns(); ++j) {
      const Naive element(p, i, j);
      const std::uint64_t code = p.d(i, j);
      if (!element.is_finite) {
        ++not_finite;
        const double given = number_of(f, code);
        differ += std::isnan(element.exact_special) ? !std::isnan(given) : given != element.exact_special;
        continue;
      }
      const Integer magnitude = abs(element.exact);
      const Integer largest = abs(number(f, max_finite_code(f, element.exact < 0))) << (kScale - 1100);
      const int top = std::max(f.max_exponent(), f.min_exponent()) - f.fraction_bits;
      if (magnitude >= largest + scaled(1, top - 1 + kScale)) {
        ++beyond;
        continue;
      }
      if (!decode(f, code).is_finite()) {
        ++lost;
        continue;
      }
      ++measured;
      const Integer off = abs(Integer((number(f, code) << (kScale - 1100)) - element.exact));
      if (off == 0) {
        ++exact;
        ++nearest;
        continue;
      }
      int exponent = magnitude == 0 ? -kScale : exponent_of(magnitude);
      exponent = std::max(std::min(exponent, f.max_exponent()), f.min_exponent());
      const Integer ulp = scaled(1, exponent - f.fraction_bits + kScale);
      if (2 * off <= ulp) ++nearest;
      int bin = kLeastErrorBin;
      while (scaled(off, 30) > scaled(ulp, 30 + bin)) ++bin;
      ++bins[bin];
      const double ulps = quotient(off, ulp);
      const bool is_above = (number(f, code) << (kScale - 1100)) > element.exact;
      drift += is_above == (element.exact >= 0) ? ulps : -ulps;
      most = std::max(most, ulps);
      sum += ulps;
      const double relative = element.magnitudes == 0 ? HUGE_VAL : quotient(off, element.magnitudes);
      most_relative = std::max(most_relative, relative);
      sum_relative += relative;
    }
  }
  EXPECT_EQ(report.measured, measured);
  EXPECT_EQ(report.beyond, beyond);
  EXPECT_EQ(report.not_finite, not_finite);
  EXPECT_EQ(report.not_finite_differ, differ);
  EXPECT_EQ(report.lost, lost);
  EXPECT_EQ(report.exact, exact);
  EXPECT_EQ(report.nearest, nearest);
  EXPECT_EQ(report.elements(), p.d.rows() * p.d.columns());
  std::map<int, std::uint64_t> reported;
  for (const ErrorBin& bin : report.bins) reported[bin.exponent] = bin.elements;
  EXPECT_EQ(reported, bins);
  if (measured == 0) return;
  const auto count = static_cast<double>(measured);
  expect_close(report.error.ulps.max(), most);
  expect_close(report.error.ulps.mean, sum / count);
  EXPECT_NEAR(report.drift_ulps, drift / count, 1e-11 * (1 + sum / count));
  expect_close(report.error.relative.max(), most_relative);
  expect_close(report.error.relative.mean, sum_relative / count);

  ASSERT_TRUE(report.worst && report.worst_relative);
  const ErrorElement& worst = *report.worst;
  const Naive element(p, worst.row, worst.column);
  EXPECT_EQ(worst.ulps, report.error.ulps.max());
  EXPECT_EQ(worst.given, p.d(worst.row, worst.column));
  EXPECT_EQ(worst.nearest, rounded(f, element.exact));
  expect_close(worst.exact, quotient(element.exact, Integer(1) << kScale));
  expect_close(worst.magnitudes, quotient(element.magnitudes, Integer(1) << kScale));
  EXPECT_EQ(report.worst_relative->relative, report.error.relative.max());
  for (std::size_t t = 1; t < worst.largest.size(); ++t)
    EXPECT_GE(std::fabs(worst.largest[t - 1].product), std::fabs(worst.largest[t].product));
}

/// Codes of any kind, or numbers of a few binades.
Matrix random_matrix(Random& random, FormatId id, std::size_t rows, std::size_t columns, bool any, bool specials) {
  const Format& f = format(id);
  Matrix matrix(id, rows, columns);
  for (std::size_t i = 0; i < rows; ++i) {
    for (std::size_t j = 0; j < columns; ++j) {
      std::uint64_t code = random() & f.code_mask();
      if (!any && f.floating) {
        const std::uint64_t significand =
            (std::uint64_t{1} << f.fraction_bits) | (code & detail::low_mask(f.fraction_bits));
        code = encode(f, random() % 2 != 0, significand, static_cast<int>(random() % 6) - 3 - f.fraction_bits, false,
                      Rounding::nearest_even);
      }
      while (!specials && !decode(f, code).is_finite()) code = random() & f.code_mask();
      matrix.set(i, j, code);
    }
  }
  return matrix;
}

/// What D is, beside the exact result.
enum class Given : std::uint8_t { nearest, close, anything };

Product random_product(Random& random, FormatId a, FormatId b, FormatId d, Given given) {
  const std::size_t m = 1 + random() % 5, n = 1 + random() % 5, k = 1 + random() % 40;
  const bool any = random() % 3 == 0, specials = random() % 4 == 0;
  Product p{random_matrix(random, a, m, k, any, specials), random_matrix(random, b, k, n, any, specials),
            random_matrix(random, d, m, n, true, true)};
  if (random() % 3 == 0) {
    p.alpha = one_of(random, {0.75, -3.0, 0.1, 0.0, 0x1p-40});
    if (random() % 2 == 0) {
      p.c = random_matrix(random, one_of(random, {FormatId::fp32, FormatId::fp16, FormatId::s32, d}), m, n, any, false);
      p.beta = one_of(random, {1.0, -0.3, 0.0, 7.0});
    }
    if (random() % 2 == 0)
      p.bias = random_matrix(random, one_of(random, {FormatId::fp32, FormatId::bf16}), 1, n, any, specials);
  }
  if (given == Given::anything) return p;
  const Format& f = format(d);
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      const Naive element(p, i, j);
      if (!element.is_finite) continue;
      std::uint64_t code = rounded(f, element.exact);
      if (given == Given::close) code = (code + (random() % 9) - 4) & f.code_mask();
      p.d.set(i, j, code);
    }
  }
  return p;
}

TEST(GemmError, IsTheDefinitionsInAllFormats) {
  Random random(1);
  for (const Format& a : kFormats) {
    for (const Format& d : kFormats) {
      const FormatId b = random() % 2 == 0 ? a.id : kFormats[random() % kFormats.size()].id;
      const Given given = one_of(random, {Given::nearest, Given::close, Given::close, Given::anything});
      SCOPED_TRACE(std::string(a.name) + " " + std::string(format(b).name) + " " + std::string(d.name));
      const Product p = random_product(random, a.id, b, d.id, given);
      expect_report(p, p.report({.threads = 1}));
    }
  }
}

TEST(GemmError, CountsUlpsOfTheExactResult) {
  // 1 + 2^-24: an ulp is 2^-23, and 1 is half of one off; 2 − 2^-23 is one ulp below 2, whose own are twice as large.
  const Matrix one = Matrix::from(std::vector{1.0, 1.0}, 1, 2, "fp32");
  const auto report = [&](double x, double y, double given) {
    const Matrix b = Matrix::from(std::vector{x, y}, 2, 1, "fp32"), d = Matrix::from(std::vector{given}, 1, 1, "fp32");
    return error_of(d, one, b);
  };
  EXPECT_EQ(report(1, 0x1p-24, 1).error.ulps.max(), 0.5);
  EXPECT_EQ(report(1, 0x1p-24, 1).nearest, 1u);
  EXPECT_EQ(report(1, 0x1p-24, 1).drift_ulps, -0.5);
  EXPECT_EQ(report(1, 0x1p-24, 1 + 0x1p-23).drift_ulps, 0.5);
  EXPECT_EQ(report(1, 1 - 0x1p-23, 2).error.ulps.max(), 1);
  EXPECT_EQ(report(1, 1, 2 - 0x1p-23).error.ulps.max(), 0.5);
  // Zero's ulps are those of the smallest numbers.
  EXPECT_EQ(report(1, -1, 0x1p-149).error.ulps.max(), 1);
  EXPECT_EQ(report(0, 0, 1).error.relative.max(), HUGE_VAL);
}

TEST(GemmError, SlicesAndWordsAndIntegersGiveTheSameSums) {
  Random random(3);
  const std::pair<FormatId, FormatId> formats[] = {
      {FormatId::fp16, FormatId::fp16}, {FormatId::fp32, FormatId::fp32},       {FormatId::fp64, FormatId::fp64},
      {FormatId::bf16, FormatId::fp32}, {FormatId::fp8e5m2, FormatId::fp4e2m1}, {FormatId::s8, FormatId::u8},
      {FormatId::tf32, FormatId::tf32}};
  for (const auto& [of_a, of_b] : formats) {
    for (const bool any : {false, true}) {
      SCOPED_TRACE(std::string(format(of_a).name) + (any ? " any" : ""));
      // Links that are not full, several stretches of k, and vectors that are not full.
      const std::size_t m = 3, n = 21, k = 1200 + random() % 100;
      const Matrix a = random_matrix(random, of_a, m, k, any, false), b = random_matrix(random, of_b, k, n, any, false);
      const ScaledOperand rows(a, OperandLines::rows), columns(b, OperandLines::columns);
      ExactSums by_slices = ExactProduct(rows, columns, ExactBy::slices).sums({1, 2, 2, 18});
      ExactSums by_words = ExactProduct(rows, columns, ExactBy::words).sums({1, 2, 2, 18});
      EXPECT_EQ(by_slices.words, by_words.words);
      for (std::size_t i = 0; i < 2; ++i) {
        for (std::size_t j = 0; j < 18; ++j) {
          Integer sum = 0, magnitudes = 0;
          for (std::size_t x = 0; x < k; ++x) {
            const Integer product = number(format(of_a), a(1 + i, x)) * number(format(of_b), b(x, 2 + j));
            sum += product;
            magnitudes += abs(product);
          }
          FixedPoint given = by_words.sum(i, j);
          EXPECT_EQ(given.drop_sign(), sum < 0);
          Integer words = 0;
          const std::size_t each = by_words.range.words();
          for (std::size_t w = each; w-- > 0;) words = (words << 64) + by_words.words[(i * 18 + j) * each + w];
          EXPECT_EQ(scaled(words, by_words.range.lowest + 2200), abs(sum));
          for (const ExactSums* sums : {&by_slices, &by_words}) {
            // Of a size that doubles have.
            const long double given_magnitudes = sums->magnitudes[i * 18 + j];
            const int e = std::ilogb(given_magnitudes);
            EXPECT_NEAR(static_cast<double>(std::ldexp(given_magnitudes, -e)),
                        quotient(magnitudes, scaled(1, 2200 + e)), 0x1p-40);
          }
        }
      }
    }
  }
}

/// A product of more than one block of elements, and stretch of k, whose D is rounded toward zero.
Product large_product(Random& random) {
  const std::size_t m = 300, n = 270, k = 600;
  Product p{random_matrix(random, FormatId::fp8e4m3, m, k, false, false),
            random_matrix(random, FormatId::fp8e4m3, k, n, false, false), Matrix(FormatId::fp16, m, n)};
  const std::vector<double> a = p.a.to_doubles(), b = p.b.to_doubles();
  for (std::size_t i = 0; i < m; ++i) {
    for (std::size_t j = 0; j < n; ++j) {
      double sum = 0;  // exact: multiples of 2^-12 below 2^16
      for (std::size_t x = 0; x < k; ++x) sum += a[i * k + x] * b[x * n + j];
      p.d.set(i, j,
              encode(format(FormatId::fp16), sum < 0, static_cast<std::uint64_t>(std::fabs(sum) * 0x1p20), -20, false,
                     Rounding::toward_zero));
    }
  }
  return p;
}

TEST(GemmError, GoesThroughBlocksAndThreadsChangeNoBit) {
  Random random(4);
  const Product p = large_product(random);
  const ErrorReport one = p.report({.threads = 1}), three = p.report({.threads = 3});
  EXPECT_EQ(one.measured, 300u * 270);
  EXPECT_LT(one.error.ulps.max(), 1);
  EXPECT_GT(one.error.ulps.max(), 0.9);
  // Everything is cut toward zero.
  EXPECT_EQ(one.drift_ulps, -one.error.ulps.mean);
  EXPECT_EQ(three.error.ulps.mean, one.error.ulps.mean);
  EXPECT_EQ(three.error.relative.mean, one.error.relative.mean);
  EXPECT_EQ(three.bins, one.bins);
  EXPECT_EQ(three.worst->row, one.worst->row);
  EXPECT_EQ(three.worst->column, one.worst->column);
}

TEST(GemmError, AddsReportsUp) {
  Random random(7);
  const FormatId id = FormatId::fp16;
  const Matrix a = random_matrix(random, id, 9, 50, false, false), b = random_matrix(random, id, 50, 8, false, false),
               d = random_matrix(random, id, 9, 8, true, true);
  const auto rows = [&](const Matrix& of, std::size_t first, std::size_t count) {
    Matrix some(id, count, of.columns());
    for (std::size_t i = 0; i < count; ++i) {
      for (std::size_t j = 0; j < of.columns(); ++j) some.set(i, j, of(first + i, j));
    }
    return some;
  };
  const ErrorReport whole = error_of(d, a, b);
  ErrorReport sum;
  sum.add(error_of(rows(d, 0, 4), rows(a, 0, 4), b), 0);
  sum.add(error_of(rows(d, 4, 5), rows(a, 4, 5), b), 1);
  EXPECT_EQ(sum.elements(), whole.elements());
  EXPECT_EQ(sum.bins, whole.bins);
  EXPECT_EQ(sum.lost, whole.lost);
  expect_close(sum.error.ulps.mean, whole.error.ulps.mean);
  EXPECT_EQ(sum.error.ulps.ascending, whole.error.ulps.ascending);
  EXPECT_EQ(sum.error.ulps.max(), whole.error.ulps.max());
  EXPECT_EQ(sum.worst->batch * 4 + sum.worst->row, whole.worst->row);
  EXPECT_EQ(sum.worst->column, whole.worst->column);
}

TEST(GemmError, HasPercentilesOfTheNearestRank) {
  const Matrix one = Matrix::from(std::vector{1.0}, 1, 1, "fp32"),
               ones = Matrix::from(std::vector<double>(10, 1), 1, 10, "fp32");
  std::vector<double> given;
  for (int i = 9; i >= 0; --i) given.push_back(1 + i * 0x1p-23);
  const ErrorReport report = error_of(Matrix::from(given, 1, 10, "fp32"), one, ones);
  const ErrorMeasure& ulps = report.error.ulps;
  EXPECT_EQ(ulps.percentile(50), 4);
  EXPECT_EQ(ulps.percentile(51), 5);
  EXPECT_EQ(ulps.percentile(90), 8);
  EXPECT_EQ(ulps.percentile(99), 9);
  EXPECT_EQ(ulps.percentile(0), 0);
  EXPECT_EQ(ulps.mean, 4.5);
  EXPECT_EQ(report.error.relative.percentile(90), 8 * 0x1p-23);
  EXPECT_EQ(ErrorMeasure{}.percentile(50), 0);
}

/// Whatever D is; with the numbers that A was made of, its error is measured.
TEST(GemmError, OfWhatAScaleOfNanMultipliesIsNotMeasured) {
  const Matrix ones = Matrix::from(std::vector<double>(4, 1), 1, 4, "fp8e4m3"),
               ones_down = Matrix::from(std::vector<double>(4, 1), 4, 1, "fp8e4m3"),
               d = Matrix::from(std::vector{25.0}, 1, 1, "fp32"),
               nan = Matrix::from(std::vector{2.0, std::nan("")}, 1, 2, "fp32"),
               was = Matrix::from(std::vector{2.5, 2.0, 0.5, 0.5}, 1, 4, "fp64");
  const MatrixView scales = nan, exact_a = was;
  EXPECT_EQ(error_of(d, ones, ones_down, {.a_scales = &scales}).not_finite, 1u);
  const ErrorReport split = error_of(d, ones, ones_down, {.a_scales = &scales}, {}, {.exact_a = &exact_a});
  EXPECT_EQ(split.measured, 1u);
  EXPECT_EQ(split.error.relative.max(), (25 - 5.5) / 5.5);
  EXPECT_EQ(split.arithmetic.value().ulps.max(), HUGE_VAL);
}

/// Numbers times their scales, which fp64 holds.
Matrix times_scales(const Matrix& of, const Matrix& scales, std::size_t rows_each, std::size_t columns_each) {
  Matrix scaled(FormatId::fp64, of.rows(), of.columns());
  for (std::size_t i = 0; i < of.rows(); ++i) {
    for (std::size_t j = 0; j < of.columns(); ++j) {
      const double scale = number_of(format(scales.format()), scales(i / rows_each, j / columns_each));
      scaled.set(i, j, std::bit_cast<std::uint64_t>(number_of(format(of.format()), of(i, j)) * scale));
    }
  }
  return scaled;
}

TEST(GemmError, OfScaledOperandsIsThatOfTheScaledNumbers) {
  struct Case {
    FormatId operands, scales;
    std::size_t k, block, a_rows, b_columns;  ///< to a scale
  };
  constexpr std::size_t kM = 2, kN = 130;
  Random random(8);
  for (const auto& [operands, of_scales, k, block, a_rows, b_columns] :
       std::initializer_list<Case>{{FormatId::fp8e4m3, FormatId::fp32, 300, 128, 1, 128},  // DeepSeek's, of a ragged k
                                   {FormatId::fp8e5m2, FormatId::fp32, 300, 128, 1, 1},
                                   {FormatId::fp8e4m3, FormatId::fp32, 300, 300, 1, 1},    // of rows and columns
                                   {FormatId::fp16, FormatId::fp32, 70, 70, kM, kN},       // of tensors
                                   {FormatId::fp4e2m1, FormatId::ue4m3, 64, 16, 1, 1},     // NVFP4
                                   {FormatId::fp6e2m3, FormatId::ue8m0, 96, 32, 1, 1}}) {  // MX
    SCOPED_TRACE(std::string(format(operands).name) + " " + std::string(format(of_scales).name));
    const auto parts = [](std::size_t x, std::size_t each) { return (x + each - 1) / each; };
    const Matrix a = random_matrix(random, operands, kM, k, true, false),
                 b = random_matrix(random, operands, k, kN, true, false);
    const bool any = of_scales == FormatId::ue4m3;  // whose numbers are of a few binades anyway
    const Matrix sa = random_matrix(random, of_scales, parts(kM, a_rows), parts(k, block), any, false),
                 sb = random_matrix(random, of_scales, parts(k, block), parts(kN, b_columns), any, false);
    const Matrix scaled_a = times_scales(a, sa, a_rows, block), scaled_b = times_scales(b, sb, block, b_columns);
    Product numbers{scaled_a, scaled_b, Matrix(FormatId::bf16, kM, kN)};
    for (std::size_t i = 0; i < kM; ++i) {
      for (std::size_t j = 0; j < kN; ++j)
        numbers.d.set(i, j, (rounded(format(FormatId::bf16), Naive(numbers, i, j).exact) + random() % 5 - 2) & 0xFFFF);
    }
    const ErrorReport right = numbers.report();
    const MatrixView a_scales = sa, b_scales = sb, exact_a = scaled_a, exact_b = scaled_b;
    const GemmInputs inputs = {.a_scales = &a_scales, .b_scales = &b_scales};
    const ErrorReport report =
        error_of(numbers.d, a, b, inputs, {.threads = 2}, {.exact_a = &exact_a, .exact_b = &exact_b});
    EXPECT_GT(report.measured, kM * kN / 2);
    EXPECT_EQ(report.a_scale_block, block);
    for (const ErrorReport& each : {error_of(numbers.d, a, b, inputs), report}) {
      EXPECT_EQ(each.measured, right.measured);
      EXPECT_EQ(each.bins, right.bins);
      EXPECT_EQ(each.error.ulps.ascending, right.error.ulps.ascending);
      expect_close(each.error.relative.mean, right.error.relative.mean);
      EXPECT_EQ(each.worst->nearest, right.worst->nearest);
    }
    // They were nothing else before.
    EXPECT_EQ(report.quantisation.value().ulps.max(), 0);
    EXPECT_EQ(report.arithmetic.value().ulps.ascending, right.error.ulps.ascending);
  }
}

TEST(GemmError, SaysWhatIsWrong) {
  const Matrix a(FormatId::fp16, 3, 4), b(FormatId::fp16, 4, 5), d(FormatId::fp32, 3, 5), c(FormatId::fp32, 3, 4);
  const MatrixView of_c = c;
  const auto expect = [](const auto& call, const std::string& message) { EXPECT_EQ(refusal(call), message); };
  expect([&] { error_of(c, a, b); }, "error: D is 3 × 4; expected 3 × 5");
  expect([&] { error_of(d, a, b, {.beta = 2}); }, "error: beta is 2 and there is no C; expected a C, or a beta of 0");
  expect([&] { error_of(d, a, b, {.bias = &of_c}); }, "error: bias is 3 × 4; expected 1 × 5 or 3 × 1");
  expect([&] { error_of(d, a, b, {.alpha = HUGE_VAL}); }, "error: alpha is inf; expected a finite number");
  const Matrix scales(FormatId::fp32, 1, 3);
  const MatrixView of_scales = scales, as_c = c;
  expect([&] { error_of(d, a, b, {.a_scales = &of_scales}); },
         "error: a_scales has 3 parts of k, which is 4; expected 1, or one for every so many products, a power of two");
  expect([&] { error_of(d, a, b, {.b_scales = &of_scales}); },
         "error: b_scales has scales for 3 columns and 1 parts of k; expected 1, 1 or 5");
  expect([&] { error_of(d, a, b, {.a_scales = &of_scales}, {}, {.scale_block = 2}); },
         "error: a_scales has 3 parts of k, which is 4; expected 1, or 2, of 2 products each");
  expect([&] { error_of(d, a, b, {}, {}, {.exact_b = &as_c}); },
         "error: exact_b is 3 × 4; expected 4 × 5, as the operand is");
  EXPECT_THROW(error_of(d, a, a), InputError);
  EXPECT_THROW(error_of(d, a, b, {.c = &of_c, .beta = 1}), InputError);
}

}  // namespace
}  // namespace tcnum::gemm_error_test
