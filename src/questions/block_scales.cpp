#include "block_scales.hpp"

#include <algorithm>
#include <array>

#include "numbers.hpp"

namespace tcnum {
namespace {

/// How the scales of a problem's blocks are drawn, and how often.
enum class Scales : std::uint8_t { ones, alike, close, apart, any_codes, ends };
constexpr std::array<Weighted<Scales>, 6> kScales = {{{Scales::ones, 1},
                                                      {Scales::alike, 3},
                                                      {Scales::close, 2},
                                                      {Scales::apart, 3},
                                                      {Scales::any_codes, 2},
                                                      {Scales::ends, 1}}};
/// Where the products are taken to.
enum class Place : std::uint8_t { about_one, smallest, largest, anywhere };
constexpr std::array<Weighted<Place>, 4> kPlaces = {
    {{Place::about_one, 3}, {Place::smallest, 3}, {Place::largest, 1}, {Place::anywhere, 1}}};
constexpr Interval kAboutOne = {-8, 8}, kAboutSmallest = {-40, 30}, kAboutLargest = {-12, 4};
constexpr Interval kClose = {-4, 4}, kApart = {0, 60};
// Percent:
constexpr int kWithC = 70;         // of problems: c is multiplied, too
constexpr int kOtherBlock = 50;    // of blocks that lie apart
constexpr int kSignificands = 50;  // of problems with significands of any kind
constexpr int kSpecials = 50;      // of problems in which there may be special scales

const Format& scale_format(const Instruction& in) { return format(in.scales.format); }

/// The exponents of one scale that is a power of two.
Interval powers_of_two(const Format& f) {
  if (f.id == FormatId::ue8m0) return {-f.bias, f.max_exponent()};
  return {smallest_exponent(f), f.max_exponent()};
}

std::uint64_t power_of_two(const Format& f, int exponent) {
  if (f.id == FormatId::ue8m0) return static_cast<std::uint64_t>(exponent + f.bias);
  return encode(f, false, 1, exponent, false, Rounding::toward_zero);
}

std::uint64_t finite_scale(const Format& f, std::uint64_t code) {
  code &= f.code_mask();
  return decode(f, code).is_finite() ? code : code - 1;
}

int exponent_at(const Instruction& in, Place place, RandomNumbers& random) {
  const ProductMaker make(in);
  const Format& d = format(in.d);
  const int product = random.between(make.lowest(), make.highest());
  switch (place) {
    case Place::about_one:
      break;
    case Place::smallest:
      return smallest_exponent(d) - product + random.in(kAboutSmallest);
    case Place::largest:
      return d.max_exponent() - product + random.in(kAboutLargest);
    case Place::anywhere:
      return random.in(scale_exponents(in));
  }
  return random.in(kAboutOne);
}

/// Codes at the ends of their range, and one.
std::uint64_t end_of_range(const Format& f, RandomNumbers& random) {
  const std::uint64_t one = static_cast<std::uint64_t>(f.bias) << f.fraction_bits;
  const std::array<Weighted<std::uint64_t>, 4> codes = {{{0, 1}, {1, 1}, {finite_scale(f, ~0ull), 1}, {one, 2}}};
  return random.pick(codes);
}

}  // namespace

Interval scale_exponents(const Instruction& in) {
  const Interval one = powers_of_two(scale_format(in));
  return {2 * one.low, 2 * one.high};
}

void put_scales(const Instruction& in, Problem& p, std::size_t block, int exponent) {
  const Format& f = scale_format(in);
  const Interval one = powers_of_two(f);
  exponent = std::clamp(exponent, 2 * one.low, 2 * one.high);
  const int of_a = std::clamp(exponent / 2, one.low, one.high);
  p.sa[block] = power_of_two(f, of_a);
  p.sb[block] = power_of_two(f, exponent - of_a);
}

void scale_accumulator(const Instruction& in, Problem& p, int exponent) {
  const Format& f = format(in.c);
  const Decoded c = decode(f, p.c);
  if (!c.is_finite() || c.significand == 0) return;
  p.c = cut_code(f, c.negative, c.significand, c.exponent + exponent - f.fraction_bits);
}

void draw_scale_significands(const Instruction& in, Problem& p, RandomNumbers& random) {
  const Format& f = scale_format(in);
  for (auto* scales : {&p.sa, &p.sb}) {
    for (std::uint64_t& code : *scales) {
      code = finite_scale(f, code | (random.next() & ((std::uint64_t{1} << f.fraction_bits) - 1)));
    }
  }
}

void draw_scales(const Instruction& in, Problem& p, RandomNumbers random, bool with_specials) {
  const Format& f = scale_format(in);
  const Scales kind = random.pick(kScales);
  const Place place = random.pick(kPlaces);
  const int exponent = exponent_at(in, place, random);
  const bool powers = kind == Scales::alike || kind == Scales::close || kind == Scales::apart;
  if (powers && random.chance(kWithC)) scale_accumulator(in, p, exponent);
  for (std::size_t block = 0; block < p.sa.size(); ++block) {
    switch (kind) {
      case Scales::ones:
        break;
      case Scales::alike:
        put_scales(in, p, block, exponent);
        break;
      case Scales::close:
        put_scales(in, p, block, exponent + random.in(kClose));
        break;
      case Scales::apart:
        put_scales(in, p, block, exponent - (random.chance(kOtherBlock) ? random.in(kApart) : 0));
        break;
      case Scales::any_codes:
        for (auto* scales : {&p.sa, &p.sb}) (*scales)[block] = finite_scale(f, random.next64());
        break;
      case Scales::ends:
        for (auto* scales : {&p.sa, &p.sb}) (*scales)[block] = end_of_range(f, random);
        break;
    }
  }
  if (powers && f.fraction_bits > 0 && random.chance(kSignificands)) draw_scale_significands(in, p, random);
  if (!with_specials || !random.chance(kSpecials)) return;
  std::vector<std::uint64_t>& scales = random.coin() ? p.sa : p.sb;
  const auto block = static_cast<std::size_t>(random.between(0, static_cast<int>(scales.size()) - 1));
  const bool zero = f.id != FormatId::ue8m0 && random.coin();
  scales[block] = zero ? 0 : f.code_mask();  // all ones is NaN in both formats
}

}  // namespace tcnum
