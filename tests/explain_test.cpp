// What explain shows is what the exact emulator did.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <boost/multiprecision/cpp_int.hpp>

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
)");
  p.a[2] = 0x7c00;  // infinity times zero
  EXPECT_NE(explain_text(datapath, p).find("infinities and NaNs decide"), std::string::npos);
}

}  // namespace
}  // namespace tcnum
