// What explain shows is what the exact emulator did.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <bit>
#include <boost/multiprecision/cpp_int.hpp>
#include <cmath>
#include <span>

#include "generators.hpp"
#include "src/report/explain.hpp"
#include "tcnum/exact.hpp"

namespace tcnum {
namespace {

using Integer = boost::multiprecision::cpp_int;

/// In units of 2^lsb, which is not above the number's.
Integer value(const TracedNumber& n, int lsb) {
  Integer x = 0;
  for (const char bit : n.bits) x = 2 * x + (bit == '1' ? 1 : 0);
  if (x != 0) x <<= static_cast<unsigned>(n.lsb - lsb);
  return n.negative ? Integer(-x) : x;
}

RC_GTEST_PROP(Trace, AddsUp, ()) {
  const Datapath datapath = test::random_datapath();
  const Tiles tiles = test::random_tiles(datapath, 1, 1, 1);
  const Problem p = problem_at(tiles, 0);
  std::vector<TracedNode> trace;
  RC_ASSERT(trace_exact(datapath, p.a, p.b, p.c, trace) == emulate_exact(datapath, p.a, p.b, p.c));
  RC_ASSERT(trace.size() == datapath.tree.nodes.size());
  for (std::size_t i = 0; i < trace.size(); ++i) {
    const TracedNode& node = trace[i];
    RC_ASSERT(node.terms.size() == datapath.tree.nodes[i].terms.size());
    if (!node.alignment) continue;
    int lsb = node.sum.lsb;
    for (const TracedTerm& t : node.terms) {
      if (t.kept.bits != "0") lsb = std::min(lsb, t.kept.lsb);
    }
    Integer sum = 0;
    for (const TracedTerm& t : node.terms) sum += value(t.kept, lsb);
    RC_ASSERT(sum == value(node.sum, lsb));
  }
}

using Rational = boost::multiprecision::cpp_rational;

Rational rational(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  const int exponent = d.exponent - f.fraction_bits;
  Rational x(Integer(d.significand) << static_cast<unsigned>(std::max(exponent, 0)),
             Integer(1) << static_cast<unsigned>(std::max(-exponent, 0)));
  return d.negative ? Rational(-x) : x;
}
Rational power_of_two(int exponent) {
  const Integer power = Integer(1) << static_cast<unsigned>(std::abs(exponent));
  return exponent < 0 ? Rational(1, power) : Rational(power);
}

RC_GTEST_PROP(Explanation, ErrorIsTheDistanceInUlps, ()) {
  const Datapath datapath = test::random_datapath();
  const Numerics& n = datapath.numerics;
  RC_PRE(n.c.format == n.result);
  const auto links = *rc::gen::inRange<std::size_t>(1, 4);
  Problem p;
  for (std::size_t i = 0; i < links; ++i) {
    const Problem more = problem_at(test::random_tiles(datapath, 1, 1, 1), 0);
    p.a.insert(p.a.end(), more.a.begin(), more.a.end());
    p.b.insert(p.b.end(), more.b.begin(), more.b.end());
    p.c = more.c;
  }
  const Explanation found = explain(datapath, p);
  std::uint64_t d = p.c;
  const auto k = static_cast<std::size_t>(datapath.tree.k);
  for (std::size_t i = 0; i < links; ++i)
    d = emulate_exact(datapath, std::span(p.a).subspan(i * k, k), std::span(p.b).subspan(i * k, k), d);
  RC_ASSERT(found.d == d);
  RC_ASSERT(found.nodes.size() == links * datapath.tree.nodes.size());

  const auto finite = [](FormatId id, std::uint64_t code) { return decode(format(id), code).is_finite(); };
  bool all_finite = finite(n.c.format, p.c) && finite(n.result, d);
  Rational sum = finite(n.c.format, p.c) ? rational(format(n.c.format), p.c) : Rational(0);
  for (std::size_t i = 0; i < p.a.size(); ++i) {
    all_finite = all_finite && finite(n.a.format, p.a[i]) && finite(n.b.format, p.b[i]);
    if (all_finite) sum += rational(format(n.a.format), p.a[i]) * rational(format(n.b.format), p.b[i]);
  }
  RC_ASSERT(found.ulps.has_value() == all_finite);
  if (!all_finite) return;
  const Format& f = format(n.result);
  int exponent = f.min_exponent();
  while (exponent < f.max_exponent() && abs(sum) >= power_of_two(exponent + 1)) ++exponent;
  const Rational ulps = (rational(f, d) - sum) / power_of_two(f.floating ? exponent - f.fraction_bits : 0);
  RC_ASSERT(*found.ulps == ulps.convert_to<double>());
}

TEST(ExactValue, HasAllDigits) {
  const auto text = [](double number) {
    return ExactValue::of(format(FormatId::fp64), std::bit_cast<std::uint64_t>(number)).text();
  };
  EXPECT_EQ(text(0), "0");
  EXPECT_EQ(text(-0.875), "-0.875");
  EXPECT_EQ(text(1200), "1200");
  EXPECT_EQ(text(0x1p-20), "9.5367431640625e-07");
  EXPECT_EQ(text(0.015625), "0.015625");
  EXPECT_EQ(text(0x1p80), "1.208925819614629174706176e+24");
  EXPECT_EQ(text(-0x1.000002p-100), "-7.8886099926055987119...e-31");
  EXPECT_EQ(text(-HUGE_VAL), "-inf");
  const ExactValue infinity = ExactValue::of(format(FormatId::fp16), 0x7c00), zero;
  EXPECT_EQ((infinity * zero).text(), "nan");
  EXPECT_EQ((infinity + zero).text(), "inf");
}

/// A step that nothing but zeros come into is left out, and one that cuts the sum that comes in is not.
TEST(Explain, FoldsWhatChangesNothing) {
  const Datapath ampere = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/ampere-fp16.json"),
                 fp8 = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/hopper-fp8-e8m13.json");
  const auto zeros = [](const Datapath& of, std::uint64_t c) {
    const std::vector<std::uint64_t> codes(static_cast<std::size_t>(of.tree.k) * 3, 0);
    return Problem{codes, codes, c};
  };
  Problem p = zeros(ampere, 0x3f800000);
  p.a[0] = p.b[0] = 0x3c00;
  const std::string chain = explain_text(ampere, p);
  EXPECT_NE(chain.find("  sum 1 ("), std::string::npos) << chain;
  EXPECT_NE(chain.find("  sums 2 to "), std::string::npos) << chain;
  EXPECT_EQ(chain.find("  sum 2"), std::string::npos) << chain;
  EXPECT_EQ(explain_text(ampere, zeros(ampere, 0)).find("  sum 1 ("), std::string::npos) << "but the last";
  // All of 23 fraction bits come in, and 13 go on.
  const std::string cut = explain_text(fp8, zeros(fp8, 0x3fffffff));
  EXPECT_NE(cut.find("  sum 1 ("), std::string::npos) << cut;
  EXPECT_NE(cut.find("  sums 2 to 3: only zeros come in, and change nothing"), std::string::npos) << cut;
}

TEST(Explain, ShowsWhatIsKeptAndWhatIsCut) {
  const Datapath datapath = read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/hopper-fp16.json");
  Problem p{std::vector<std::uint64_t>(16, 0), std::vector<std::uint64_t>(16, 0), 0xbe28fe00};
  p.a[0] = 0xd000, p.b[0] = 0xc800;  // -32 * -8
  p.a[1] = 0x3c01, p.b[1] = 0x0401;
  EXPECT_EQ(explain_text(datapath, p), R"(  sum 1 (fused): aligned to 2^8, cut toward_zero below 2^-17

  term       exponent  shift  kept, in units of 2^8         cut off
  c          -3        11     -0.0000000000101010001111111
  a[0]*b[0]  8         0      +1.0000000000000000000000000
  a[1]*b[1]  -14       22     +0.0000000000000000000001000  00000100000000001
  (14 products that are zero)

  exact sum  +0.1111111111010101110001001 * 2^8
  rounded    +1.111111111010101110001 * 2^7 (toward_zero, 23 fraction bits)

  d = 0x437fd5c4 = 255.83502197265625
  true value 255.83502972131827846...; error -0.5078 ulps; the nearest is 0x437fd5c5 = 255.8350372314453
)");
  p.a[2] = 0x7c00;  // infinity times zero
  EXPECT_NE(explain_text(datapath, p).find("infinities and NaNs decide"), std::string::npos);
}

}  // namespace
}  // namespace tcnum
