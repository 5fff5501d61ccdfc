// Formats: every code of the small ones, and rounding against MPFR.
// Labels: sanitized
#include "tcnum/format.hpp"

#include <gtest/gtest.h>
#include <mpfr.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace tcnum {

void PrintTo(const Format& f, std::ostream* out) { *out << f.name; }

namespace {

constexpr std::array kModes = {Rounding::toward_zero, Rounding::nearest_even, Rounding::nearest_away, Rounding::up,
                               Rounding::down};
constexpr std::array kOverflows = {Overflow::ieee, Overflow::infinity, Overflow::max_finite};

const Format& F(FormatId id) { return format(id); }

std::vector<Format> formats(bool (*wanted)(const Format&)) {
  std::vector<Format> result;
  for (const Format& f : kFormats) {
    if (wanted(f)) result.push_back(f);
  }
  return result;
}
bool is_small(const Format& f) { return f.storage_bits <= 16; }
bool is_small_float(const Format& f) { return f.floating && is_small(f); }
bool is_large_float(const Format& f) { return f.floating && !is_small(f); }
bool is_small_integer(const Format& f) { return !f.floating && is_small(f); }

std::string format_name(const testing::TestParamInfo<Format>& info) { return std::string(info.param.name); }

double value_of(const Format& f, const Decoded& d) {
  const double magnitude = std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
  return d.negative ? -magnitude : magnitude;
}
double value_of(const Format& f, std::uint64_t code) { return value_of(f, decode(f, code)); }

/// Of the smallest number above zero, a power of two (ue8m0 has no zero: of its smallest).
int least_exponent(const Format& f) { return f.id == FormatId::ue8m0 ? -127 : f.min_exponent() - f.fraction_bits; }

bool rounds_toward_zero(Rounding mode, bool negative) {
  return mode == Rounding::toward_zero || mode == (negative ? Rounding::up : Rounding::down);
}

/// What encode() must give for a number beyond the largest.
std::uint64_t expected_overflow(const Format& f, bool negative, Rounding mode, Overflow overflow) {
  const bool saturates = f.non_finite == NonFinite::none || overflow == Overflow::max_finite ||
                         (overflow == Overflow::ieee && rounds_toward_zero(mode, negative));
  const std::uint64_t sign = f.has_sign && negative ? std::uint64_t{1} << (f.storage_bits - 1) : 0;
  const std::uint64_t ones = (std::uint64_t{1} << (f.exponent_bits + f.fraction_bits)) - 1;
  switch (f.non_finite) {
    case NonFinite::ieee: {
      const std::uint64_t infinity = (ones >> f.fraction_bits << f.fraction_bits) << f.padding_bits;
      return sign | (saturates ? infinity - (std::uint64_t{1} << f.padding_bits) : infinity);
    }
    case NonFinite::nan_all_ones:
      return sign | (saturates ? ones - 1 : ones);
    case NonFinite::nan_negative_zero:
      return saturates ? sign | ones : std::uint64_t{1} << (f.storage_bits - 1);
    case NonFinite::none:
      return sign | ones;
  }
  return 0;
}

// --- Every code of the small formats ---------------------------------------------------------------------------------

class SmallFormat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, SmallFormat, testing::ValuesIn(formats(is_small)), format_name);

TEST_P(SmallFormat, EveryCodeSurvivesDecodingAndEncoding) {
  const Format& f = GetParam();
  for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
    const Decoded d = decode(f, code);
    if (d.number_class == NumberClass::nan) continue;
    if (d.number_class == NumberClass::infinity) {
      ASSERT_EQ(infinity_code(f, d.negative), code);
      continue;
    }
    for (const Rounding mode : kModes) {
      ASSERT_EQ(encode(f, d.negative, d.significand, d.exponent - f.fraction_bits, false, mode), code);
      // The same number with as many zeros below as there is room for.
      ASSERT_EQ(encode(f, d.negative, uint128{d.significand} << 100, d.exponent - f.fraction_bits - 100, false, mode),
                code);
    }
  }
}

TEST_P(SmallFormat, ValuesAscendAsCodesDo) {
  const Format& f = GetParam();
  const std::uint64_t codes = f.code_mask() / 2 + 1;  // without the sign
  const std::uint64_t magnitudes = f.has_sign ? codes : f.code_mask() + 1;
  double previous = -1;
  for (std::uint64_t code = 0; code < magnitudes; ++code) {
    const Decoded d = decode(f, code);
    if (d.number_class == NumberClass::nan) continue;
    if (d.number_class == NumberClass::infinity) {
      ASSERT_EQ(previous, value_of(f, max_finite_code(f, false)));
      continue;
    }
    ASSERT_LT(previous, value_of(f, d)) << code;
    previous = value_of(f, d);
  }
  if (f.floating && f.has_sign) {  // the sign bit does nothing else
    for (std::uint64_t code = 0; code < codes; ++code) {
      Decoded positive = decode(f, code);
      const Decoded negative = decode(f, code | codes);
      if (f.non_finite == NonFinite::nan_negative_zero && code == 0) {
        ASSERT_EQ(negative.number_class, NumberClass::nan);
        continue;
      }
      positive.negative = true;
      ASSERT_EQ(positive, negative);
    }
  }
}

TEST_P(SmallFormat, HasTheSpecialCodesThatItShould) {
  const Format& f = GetParam();
  int infinities = 0, nans = 0, zeros = 0;
  for (std::uint64_t code = 0; code <= f.code_mask(); ++code) {
    const NumberClass number_class = decode(f, code).number_class;
    infinities += number_class == NumberClass::infinity;
    nans += number_class == NumberClass::nan;
    zeros += number_class == NumberClass::zero;
    if (f.floating && f.non_finite != NonFinite::nan_negative_zero) {
      const std::uint64_t magnitude = (f.has_sign ? code & f.code_mask() >> 1 : code) >> f.padding_bits;
      EXPECT_EQ(decode(f, code).is_finite(), magnitude < f.first_non_finite()) << code;
    }
  }
  const int signs = f.has_sign ? 2 : 1;
  switch (f.non_finite) {
    case NonFinite::ieee:
      EXPECT_EQ(infinities, signs);
      EXPECT_EQ(nans, signs * ((1 << f.fraction_bits) - 1));
      break;
    case NonFinite::nan_all_ones:
      EXPECT_EQ(nans, signs);
      break;
    case NonFinite::nan_negative_zero:
      EXPECT_EQ(nans, 1);
      break;
    case NonFinite::none:
      EXPECT_EQ(nans, 0);
      break;
  }
  if (f.non_finite != NonFinite::ieee) {
    EXPECT_EQ(infinities, 0);
  }
  if (f.non_finite != NonFinite::none) {
    EXPECT_EQ(decode(f, nan_code(f)).number_class, NumberClass::nan);
  }
  const bool two_zeros = f.floating && f.has_sign && f.non_finite != NonFinite::nan_negative_zero;
  EXPECT_EQ(zeros, f.id == FormatId::ue8m0 ? 0 : two_zeros ? 2 : 1);
}

struct KnownCode {
  FormatId id;
  std::uint64_t code;
  double value;  ///< NaN for NaN
};

TEST(Formats, WellKnownCodes) {
  constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
  constexpr double kInf = std::numeric_limits<double>::infinity();
  const std::vector<KnownCode> known = {
      {FormatId::fp16, 0x3c00, 1},
      {FormatId::fp16, 0x7bff, 65504},
      {FormatId::fp16, 0x0001, 0x1p-24},
      {FormatId::fp16, 0x0400, 0x1p-14},
      {FormatId::fp16, 0xfc00, -kInf},
      {FormatId::fp16, 0x7fff, kNan},
      {FormatId::bf16, 0x3f80, 1},
      {FormatId::bf16, 0x4049, 3.140625},
      {FormatId::bf16, 0x7f7f, 0x1.fep127},
      {FormatId::bf16, 0x0001, 0x1p-133},
      {FormatId::bf16, 0x7f80, kInf},
      {FormatId::fp32, 0x3f800000, 1},
      {FormatId::fp32, 0x00000001, 0x1p-149},
      {FormatId::fp32, 0x7f7fffff, 0x1.fffffep127},
      {FormatId::fp32, 0x7fffffff, kNan},
      {FormatId::fp64, 0x3ff0000000000000, 1},
      {FormatId::fp64, 0x0000000000000001, 0x1p-1074},
      {FormatId::fp64, 0xffefffffffffffff, -0x1.fffffffffffffp1023},
      {FormatId::fp64, 0xfff8000000000000, kNan},
      {FormatId::tf32, 0x3f801fff, 1},  // the 13 low bits are not part of the number
      {FormatId::tf32, 0x3f802000, 1 + 0x1p-10},
      {FormatId::tf32, 0x00001fff, 0},
      {FormatId::tf32, 0x00002000, 0x1p-136},
      {FormatId::tf32, 0x7f801fff, kInf},
      {FormatId::tf32, 0x7f7fe000, 0x1.ffcp127},
      {FormatId::fp8e4m3, 0b0'0111'000, 1},
      {FormatId::fp8e4m3, 0b0'1111'110, 448},
      {FormatId::fp8e4m3, 0b0'1111'111, kNan},
      {FormatId::fp8e4m3, 0b1'1111'111, kNan},
      {FormatId::fp8e4m3, 0b0'0000'001, 0x1p-9},
      {FormatId::fp8e4m3, 0b1'0001'000, -0x1p-6},
      {FormatId::fp8e5m2, 0b0'01111'00, 1},
      {FormatId::fp8e5m2, 0b0'11110'11, 57344},
      {FormatId::fp8e5m2, 0b0'11111'00, kInf},
      {FormatId::fp8e5m2, 0b0'11111'01, kNan},
      {FormatId::fp8e5m2, 0b0'00000'01, 0x1p-16},
      {FormatId::fp6e3m2, 0b0'111'11, 28},
      {FormatId::fp6e3m2, 0b0'011'00, 1},
      {FormatId::fp6e3m2, 0b1'000'01, -0.0625},
      {FormatId::fp6e2m3, 0b0'11'111, 7.5},
      {FormatId::fp6e2m3, 0b0'01'000, 1},
      {FormatId::fp6e2m3, 0b0'00'001, 0.125},
      {FormatId::fp4e2m1, 0b0'00'1, 0.5},
      {FormatId::fp4e2m1, 0b0'01'0, 1},
      {FormatId::fp4e2m1, 0b0'01'1, 1.5},
      {FormatId::fp4e2m1, 0b0'10'0, 2},
      {FormatId::fp4e2m1, 0b0'10'1, 3},
      {FormatId::fp4e2m1, 0b0'11'0, 4},
      {FormatId::fp4e2m1, 0b1'11'1, -6},
      {FormatId::ue8m0, 0x00, 0x1p-127},
      {FormatId::ue8m0, 0x7f, 1},
      {FormatId::ue8m0, 0xfe, 0x1p127},
      {FormatId::ue8m0, 0xff, kNan},
      {FormatId::ue4m3, 0x7e, 448},
      {FormatId::ue4m3, 0x7f, kNan},
      {FormatId::ue4m3, 0x38, 1},
      {FormatId::ue4m3, 0xb8, 1},  // the eighth bit is not part of the number
      {FormatId::fp8e4m3fnuz, 0x7f, 240},
      {FormatId::fp8e4m3fnuz, 0x40, 1},
      {FormatId::fp8e4m3fnuz, 0x01, 0x1p-10},
      {FormatId::fp8e4m3fnuz, 0x80, kNan},
      {FormatId::fp8e5m2fnuz, 0x7f, 57344},
      {FormatId::fp8e5m2fnuz, 0x40, 1},
      {FormatId::fp8e5m2fnuz, 0x01, 0x1p-17},
      {FormatId::fp8e5m2fnuz, 0x80, kNan},
      {FormatId::s8, 0x80, -128},
      {FormatId::s8, 0xff, -1},
      {FormatId::s8, 0x7f, 127},
      {FormatId::u8, 0xff, 255},
      {FormatId::s4, 0x8, -8},
      {FormatId::s4, 0xf8, -8},
      {FormatId::u4, 0xf, 15},
      {FormatId::b1, 1, 1},
      {FormatId::s32, 0x80000000, -0x1p31},
  };
  for (const auto& [id, code, value] : known) {
    SCOPED_TRACE(testing::Message() << F(id).name << " " << std::hex << code);
    const Decoded d = decode(F(id), code);
    if (std::isnan(value)) {
      EXPECT_EQ(d.number_class, NumberClass::nan);
    } else if (std::isinf(value)) {
      EXPECT_EQ(d.number_class, NumberClass::infinity);
      EXPECT_EQ(d.negative, value < 0);
    } else {
      EXPECT_EQ(value_of(F(id), d), value);
      EXPECT_EQ(d.negative, value < 0);
    }
  }
}

TEST(Formats, LargestSmallestAndSpecialCodes) {
  EXPECT_EQ(max_finite_code(F(FormatId::fp8e4m3), false), 0x7eu);
  EXPECT_EQ(max_finite_code(F(FormatId::fp8e5m2), true), 0xfbu);
  EXPECT_EQ(max_finite_code(F(FormatId::tf32), false), 0x7f7fe000u);
  EXPECT_EQ(max_finite_code(F(FormatId::ue8m0), false), 0xfeu);
  EXPECT_EQ(max_finite_code(F(FormatId::fp4e2m1), true), 0xfu);
  EXPECT_EQ(max_finite_code(F(FormatId::s8), false), 0x7fu);
  EXPECT_EQ(max_finite_code(F(FormatId::s8), true), 0x80u);
  EXPECT_EQ(max_finite_code(F(FormatId::s32), true), 0x80000000u);
  EXPECT_EQ(max_finite_code(F(FormatId::u8), true), 0u);
  EXPECT_EQ(nan_code(F(FormatId::fp16)), 0x7e00u);
  EXPECT_EQ(nan_code(F(FormatId::tf32)), 0x7fc00000u);
  EXPECT_EQ(nan_code(F(FormatId::fp64)), 0x7ff8000000000000u);
  EXPECT_EQ(nan_code(F(FormatId::fp8e4m3fnuz)), 0x80u);
  EXPECT_EQ(infinity_code(F(FormatId::fp16), true), 0xfc00u);
  EXPECT_EQ(infinity_code(F(FormatId::tf32), false), 0x7f800000u);
  EXPECT_EQ(zero_code(F(FormatId::fp32), true), 0x80000000u);
  EXPECT_EQ(zero_code(F(FormatId::fp8e4m3fnuz), true), 0u);
  EXPECT_EQ(zero_code(F(FormatId::s8), true), 0u);
  EXPECT_THROW(infinity_code(F(FormatId::fp8e4m3), false), std::logic_error);
  EXPECT_THROW(nan_code(F(FormatId::fp4e2m1)), std::logic_error);
  EXPECT_EQ(F(FormatId::fp8e4m3).max_exponent(), 8);
  EXPECT_EQ(F(FormatId::fp8e4m3fnuz).max_exponent(), 7);
  EXPECT_EQ(F(FormatId::ue8m0).max_exponent(), 127);
  EXPECT_EQ(F(FormatId::fp32).max_exponent(), 127);
  EXPECT_EQ(F(FormatId::fp32).min_exponent(), -126);
}

TEST(Formats, AreFoundByEitherName) {
  for (const Format& f : kFormats) {
    EXPECT_EQ(find_format(f.name), f.id);
    const bool is_ptx = !f.name.ends_with("fnuz");
    EXPECT_EQ(find_format(f.ptx), is_ptx ? std::optional(f.id) : std::nullopt) << "AMD's fp8 is OCP's on gfx950";
  }
  EXPECT_EQ(find_format("fp17"), std::nullopt);
  EXPECT_EQ(find_format(""), std::nullopt);
}

// --- Rounding against MPFR -------------------------------------------------------------------------------------------

/// A real number as encode() takes it.
struct Real {
  bool negative = false;
  uint128 magnitude = 0;
  int exponent = 0;
  bool sticky = false;
};

std::string text(const Real& x) {
  std::ostringstream out;
  out << (x.negative ? "-0x" : "0x") << std::hex << static_cast<std::uint64_t>(x.magnitude >> 64) << ":"
      << static_cast<std::uint64_t>(x.magnitude) << std::dec << " * 2^" << x.exponent << (x.sticky ? " + sticky" : "");
  return out.str();
}

class MpfrNumber {
 public:
  explicit MpfrNumber(mpfr_prec_t precision) { mpfr_init2(value_, precision); }
  ~MpfrNumber() { mpfr_clear(value_); }
  MpfrNumber(const MpfrNumber&) = delete;
  MpfrNumber& operator=(const MpfrNumber&) = delete;
  mpfr_ptr get() { return value_; }
  mpfr_srcptr get() const { return value_; }

 private:
  mpfr_t value_;
};

/// What a format's number nearest to a real is, by MPFR. Knows nothing of codes but how to assemble one.
class Reference {
 public:
  explicit Reference(const Format& f) : f_(f), rounded_(f.fraction_bits + 1), above_(f.fraction_bits + 1) {
    smallest_ = least_exponent(f) + 1;  // MPFR's significands lie in [1/2, 1)
  }
  ~Reference() { mpfr_free_cache(); }

  void set(const Real& x) {
    x_ = x;
    mpfr_set_ui_2exp(exact_.get(), static_cast<std::uint64_t>(x.magnitude >> 64), x.exponent + 64, MPFR_RNDN);
    mpfr_set_ui_2exp(part_.get(), static_cast<std::uint64_t>(x.magnitude), x.exponent, MPFR_RNDN);
    mpfr_add(exact_.get(), exact_.get(), part_.get(), MPFR_RNDN);
    if (x.sticky) {
      mpfr_set_ui_2exp(part_.get(), 1, x.exponent - 8, MPFR_RNDN);
      mpfr_add(exact_.get(), exact_.get(), part_.get(), MPFR_RNDN);
    }
    if (x.negative) mpfr_neg(exact_.get(), exact_.get(), MPFR_RNDN);
  }

  std::uint64_t code(Rounding mode, Overflow overflow) {
    if (x_.negative && !f_.has_sign) return 0;
    switch (mode) {
      case Rounding::toward_zero:
        round(rounded_.get(), MPFR_RNDZ);
        break;
      case Rounding::nearest_even:
        round(rounded_.get(), MPFR_RNDN);
        break;
      case Rounding::up:
        round(rounded_.get(), MPFR_RNDU);
        break;
      case Rounding::down:
        round(rounded_.get(), MPFR_RNDD);
        break;
      case Rounding::nearest_away:
        round_nearest_away();
        break;
    }
    return to_code(mode, overflow);
  }

 private:
  /// As the manual's section on IEEE 754 emulation does it, with one binade above the format's to see overflow in.
  void round(mpfr_ptr to, mpfr_rnd_t mode) const {
    int ternary = mpfr_set(to, exact_.get(), mode);
    const mpfr_exp_t emin = mpfr_get_emin(), emax = mpfr_get_emax();
    mpfr_set_emin(smallest_);
    mpfr_set_emax(f_.max_exponent() + 2);
    ternary = mpfr_check_range(to, ternary, mode);
    mpfr_subnormalize(to, ternary, mode);
    mpfr_set_emin(emin);
    mpfr_set_emax(emax);
  }

  /// The neighbour that is nearer by exact subtraction; the outer one if neither is.
  void round_nearest_away() {
    round(rounded_.get(), MPFR_RNDZ);
    round(above_.get(), x_.negative ? MPFR_RNDD : MPFR_RNDU);
    if (mpfr_inf_p(above_.get()) || mpfr_equal_p(rounded_.get(), above_.get())) {
      mpfr_set(rounded_.get(), above_.get(), MPFR_RNDN);  // far beyond the format, or exact
      return;
    }
    mpfr_sub(below_distance_.get(), exact_.get(), rounded_.get(), MPFR_RNDN);
    mpfr_sub(above_distance_.get(), above_.get(), exact_.get(), MPFR_RNDN);
    if (mpfr_cmpabs(above_distance_.get(), below_distance_.get()) <= 0) {
      mpfr_set(rounded_.get(), above_.get(), MPFR_RNDN);
    }
  }

  std::uint64_t to_code(Rounding mode, Overflow overflow) const {
    mpfr_srcptr r = rounded_.get();
    const std::uint64_t sign = f_.has_sign && x_.negative ? std::uint64_t{1} << (f_.storage_bits - 1) : 0;
    if (mpfr_inf_p(r)) return expected_overflow(f_, x_.negative, mode, overflow);
    if (mpfr_zero_p(r)) return f_.non_finite == NonFinite::nan_negative_zero ? 0 : sign;
    const auto exponent = static_cast<int>(mpfr_get_exp(r)) - 1;
    if (exponent > f_.max_exponent()) return expected_overflow(f_, x_.negative, mode, overflow);
    if (f_.id == FormatId::ue8m0) return static_cast<std::uint64_t>(exponent + 127);
    const std::uint64_t units = significand(exponent);
    // Exponent field and fraction together count the format's numbers.
    const std::uint64_t count =
        exponent < f_.min_exponent()
            ? units
            : units + (static_cast<std::uint64_t>(exponent - f_.min_exponent()) << f_.fraction_bits);
    const std::uint64_t nan = (std::uint64_t{1} << (f_.exponent_bits + f_.fraction_bits)) - 1;
    if (f_.non_finite == NonFinite::nan_all_ones && count == nan) {
      return expected_overflow(f_, x_.negative, mode, overflow);
    }
    return sign | (count << f_.padding_bits);
  }

  /// The rounded number in units of its last place.
  std::uint64_t significand(int exponent) const {
    mpfr_exp_t own = 0;
    const double fraction = std::fabs(mpfr_get_d_2exp(&own, rounded_.get(), MPFR_RNDN));
    const int below = exponent < f_.min_exponent() ? f_.min_exponent() - exponent : 0;
    return static_cast<std::uint64_t>(std::ldexp(fraction, 1 + f_.fraction_bits - below));
  }

  Format f_;
  Real x_;
  mpfr_exp_t smallest_;
  MpfrNumber exact_{256}, part_{64}, rounded_, above_, below_distance_{2600}, above_distance_{2600};
};

std::string mismatch(const Format& f, const Real& x, Rounding mode) {
  return text(x) + " to " + std::string(f.name) + ", " + std::string(name(mode));
}

class SmallFloat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, SmallFloat, testing::ValuesIn(formats(is_small_float)), format_name);

/// Between each number and the next (for the largest: the next if the exponents went on) the quarter points, the
/// numbers themselves and the midpoints, the last two also with a sticky amount above.
TEST_P(SmallFloat, RoundsBetweenAllNeighboursAsMpfrDoes) {
  const Format& f = GetParam();
  Reference reference(f);
  std::vector<Real> starts;
  for (std::uint64_t code = 0; code <= max_finite_code(f, false); ++code) {
    const Decoded d = decode(f, code);
    starts.push_back({false, d.significand, d.exponent - f.fraction_bits, false});
  }
  starts.push_back({false, 0, f.min_exponent() - f.fraction_bits - 1, false});
  for (int beyond = 0; beyond < 4; ++beyond) {
    starts.push_back({false, uint128{1} << f.fraction_bits, f.max_exponent() + 1 + beyond - f.fraction_bits, false});
  }
  for (const Real& start : starts) {
    for (const bool negative : {false, true}) {
      for (unsigned point = 0; point < 6; ++point) {
        const unsigned quarter = point < 4 ? point : 2 * (point - 4);
        const Real x{negative, start.magnitude * 4 + quarter, start.exponent - 2, point >= 4};
        reference.set(x);
        for (const Rounding mode : kModes) {
          const std::uint64_t got = encode(f, x.negative, x.magnitude, x.exponent, x.sticky, mode);
          if (x.magnitude == 0 && !x.sticky) {
            ASSERT_EQ(got, zero_code(f, negative));
          } else {
            ASSERT_EQ(got, reference.code(mode, Overflow::ieee)) << mismatch(f, x, mode);
          }
        }
      }
    }
  }
}

class AnyFloat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, AnyFloat, testing::ValuesIn(formats([](const Format& f) { return f.floating; })),
                         format_name);

TEST_P(AnyFloat, OverflowsAsAsked) {
  const Format& f = GetParam();
  Reference reference(f);
  const Decoded largest = decode(f, max_finite_code(f, false));
  std::vector<Real> reals;
  for (const unsigned quarter : {0u, 1u, 2u, 3u, 4u, 5u}) {
    reals.push_back({false, uint128{largest.significand} * 4 + quarter, largest.exponent - f.fraction_bits - 2, false});
  }
  reals.push_back({false, 1, f.max_exponent() + 1, false});
  reals.push_back({false, ~uint128{0}, f.max_exponent() - 127, true});
  reals.push_back({false, 1, 100000, true});
  for (Real x : reals) {
    for (const bool negative : {false, true}) {
      x.negative = negative;
      reference.set(x);
      for (const Rounding mode : kModes) {
        for (const Overflow overflow : kOverflows) {
          ASSERT_EQ(encode(f, negative, x.magnitude, x.exponent, x.sticky, mode, overflow),
                    reference.code(mode, overflow))
              << mismatch(f, x, mode) << ", overflow mode " << static_cast<int>(overflow);
        }
      }
    }
  }
}

TEST_P(AnyFloat, UnderflowsFromFarBelow) {
  const Format& f = GetParam();
  Reference reference(f);
  for (const int below : {0, 1, 2, 100, 126, 127, 128, 129, 130, 131, 1000, 100000}) {
    for (const uint128 magnitude : {uint128{1}, uint128{3}, uint128{1} << 127, ~uint128{0}}) {
      for (const bool negative : {false, true}) {
        const Real x{negative, magnitude, least_exponent(f) - 1 - below, true};
        reference.set(x);
        for (const Rounding mode : kModes) {
          ASSERT_EQ(encode(f, negative, x.magnitude, x.exponent, x.sticky, mode), reference.code(mode, Overflow::ieee))
              << mismatch(f, x, mode);
        }
      }
    }
  }
}

TEST_P(AnyFloat, RefusesAStickyAmountThatLeavesTheResultOpen) {
  const Format& f = GetParam();
  Reference reference(f);
  for (const Rounding mode : kModes) {
    const Real one{false, uint128{1} << f.fraction_bits, -f.fraction_bits, true};
    reference.set(one);
    if (mode == Rounding::nearest_even || mode == Rounding::nearest_away) {
      EXPECT_THROW(encode(f, false, one.magnitude, one.exponent, true, mode), std::logic_error);
    } else {
      EXPECT_EQ(encode(f, false, one.magnitude, one.exponent, true, mode), reference.code(mode, Overflow::ieee));
    }
    if (f.fraction_bits > 0) {
      EXPECT_THROW(encode(f, false, 1, 0, true, mode), std::logic_error);
    }
    const int half = least_exponent(f) - 1;
    EXPECT_NO_THROW(encode(f, false, 0, half, true, mode));
  }
}

class LargeFloat : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, LargeFloat, testing::ValuesIn(formats(is_large_float)), format_name);

/// Significands with all kinds of tails below the format's last bit, at all exponents, and exact quarter points of
/// subnormals.
rc::Gen<Real> real_for(const Format& f) {
  const auto any = [](std::uint64_t below) { return rc::gen::inRange<std::uint64_t>(0, below); };
  constexpr auto kAll = std::numeric_limits<std::uint64_t>::max();
  const int tail_bits = 127 - f.fraction_bits;
  const auto make = [f, tail_bits](std::uint64_t bits, std::uint64_t low, std::uint64_t kind, int at, int bit_count,
                                   bool sticky, bool negative) {
    const std::uint64_t hidden = std::uint64_t{1} << f.fraction_bits;
    const uint128 half = uint128{1} << (tail_bits - 1);
    const std::array<uint128, 6> tails = {0, 1, half - 1, half, half + 1, 2 * half - 1};
    const int lowest = f.min_exponent() - f.fraction_bits - 2;
    if (kind == 7) return Real{negative, bits >> (64 - bit_count), lowest, false};
    const std::uint64_t significand = (kind == 5 ? kAll : bits) & (hidden - 1);
    const uint128 tail = kind < tails.size() ? tails[kind] : ((uint128{bits} << 64) | low) & (2 * half - 1);
    const int span = f.max_exponent() - f.min_exponent() + f.fraction_bits + 16;
    // Every exponent; near either end more often.
    const int exponent = low % 3 == 0   ? f.min_exponent() - f.fraction_bits - 4 + at % span
                         : low % 3 == 1 ? f.min_exponent() + 3 - at % (f.fraction_bits + 8)
                                        : f.max_exponent() + 2 - at % 4;
    return Real{negative, (uint128{hidden | significand} << tail_bits) | tail, exponent - 127, sticky};
  };
  return rc::gen::apply(make, any(kAll), any(kAll), any(8), rc::gen::inRange(0, 1 << 20),
                        rc::gen::inRange(1, f.fraction_bits + 4), rc::gen::arbitrary<bool>(),
                        rc::gen::arbitrary<bool>());
}

TEST_P(LargeFloat, RoundsRandomNumbersAsMpfrDoes) {
  const Format& f = GetParam();
  Reference reference(f);
  rc::detail::checkGTest([&] {
    for (const Real& x : *rc::gen::container<std::vector<Real>>(100, real_for(f))) {
      reference.set(x);
      for (const Rounding mode : kModes) {
        for (const Overflow overflow : kOverflows) {
          if (x.magnitude == 0 && !x.sticky) continue;
          const std::uint64_t got = encode(f, x.negative, x.magnitude, x.exponent, x.sticky, mode, overflow);
          if (got != reference.code(mode, overflow)) RC_FAIL(mismatch(f, x, mode));
        }
      }
    }
  });
}

TEST_P(LargeFloat, RandomCodesSurviveDecodingAndEncoding) {
  const Format& f = GetParam();
  rc::detail::checkGTest([&] {
    for (const std::uint64_t any : *rc::gen::container<std::vector<std::uint64_t>>(
             100, rc::gen::inRange<std::uint64_t>(0, std::numeric_limits<std::uint64_t>::max()))) {
      const std::uint64_t code = (any & f.code_mask()) >> f.padding_bits << f.padding_bits;
      const Decoded d = decode(f, code);
      if (!d.is_finite()) continue;
      for (const Rounding mode : kModes) {
        RC_ASSERT(encode(f, d.negative, d.significand, d.exponent - f.fraction_bits, false, mode) == code);
      }
    }
  });
}

// --- Integers --------------------------------------------------------------------------------------------------------

/// All halves from far below the smallest to far above the largest, with and without something below.
class SmallInteger : public testing::TestWithParam<Format> {};
INSTANTIATE_TEST_SUITE_P(Formats, SmallInteger, testing::ValuesIn(formats(is_small_integer)), format_name);

TEST_P(SmallInteger, RoundsAndSaturates) {
  const Format& f = GetParam();
  const double largest = std::ldexp(1.0, f.fraction_bits) - 1;
  const double smallest = f.has_sign ? -largest - 1 : 0;
  for (int quarters = -2100; quarters <= 2100; ++quarters) {
    const double x = quarters / 4.0;
    for (const Rounding mode : kModes) {
      double rounded = 0;
      switch (mode) {
        case Rounding::toward_zero:
          rounded = std::trunc(x);
          break;
        case Rounding::nearest_even:
          rounded = std::nearbyint(x);
          break;
        case Rounding::nearest_away:
          rounded = std::round(x);
          break;
        case Rounding::up:
          rounded = std::ceil(x);
          break;
        case Rounding::down:
          rounded = std::floor(x);
          break;
      }
      const double expected = std::fmin(std::fmax(rounded, smallest), largest);
      const auto magnitude = static_cast<unsigned>(std::abs(quarters));
      for (const Overflow overflow : kOverflows) {
        const std::uint64_t code = encode(f, quarters < 0, magnitude, -2, false, mode, overflow);
        ASSERT_EQ(code & ~f.code_mask(), 0u);
        ASSERT_EQ(value_of(f, code), expected) << x << " " << name(mode);
      }
      // Something between this quarter and the next is as the middle between them.
      ASSERT_EQ(encode(f, quarters < 0, magnitude, -2, true, mode),
                encode(f, quarters < 0, magnitude * 2 + 1, -3, false, mode))
          << x << " " << name(mode);
    }
  }
}

TEST(Integers, SaturateAtAnySize) {
  for (const Format& f : kFormats) {
    if (f.floating) continue;
    for (const bool negative : {false, true}) {
      const std::uint64_t largest = max_finite_code(f, negative);
      for (const int exponent : {40, 64, 100, 128, 1000}) {
        EXPECT_EQ(encode(f, negative, 1, exponent, false, Rounding::nearest_even), largest);
        EXPECT_EQ(encode(f, negative, 0, exponent, false, Rounding::nearest_even), 0u);
      }
      EXPECT_EQ(encode(f, negative, ~uint128{0}, 0, true, Rounding::toward_zero), largest);
      EXPECT_EQ(encode(f, negative, ~uint128{0}, -64, true, Rounding::toward_zero), largest);
      EXPECT_EQ(encode(f, negative, ~uint128{0}, -128, true, Rounding::toward_zero), 0u);
      EXPECT_EQ(encode(f, negative, ~uint128{0}, -128, true, Rounding::nearest_even),
                encode(f, negative, 1, 0, false, Rounding::nearest_even));
      EXPECT_EQ(encode(f, negative, ~uint128{0}, -1000, true, Rounding::nearest_even), 0u);
    }
  }
  const Format& s32 = F(FormatId::s32);
  EXPECT_EQ(encode(s32, true, uint128{1} << 31, 0, false, Rounding::toward_zero), 0x80000000u);
  EXPECT_EQ(encode(s32, false, uint128{1} << 31, 0, false, Rounding::toward_zero), 0x7fffffffu);
  EXPECT_EQ(encode(s32, true, 5, 0, false, Rounding::toward_zero), 0xfffffffbu);
}

}  // namespace
}  // namespace tcnum
