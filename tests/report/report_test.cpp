// What reports say of a fit, and how their text is laid out.
#include "src/report/datapath_text.hpp"
#include "src/report/layout.hpp"
#include "src/report/probe_report.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>
#include <sstream>

#include "draw.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "src/report/layout.hpp"
#include "src/report/problem_text.hpp"

namespace tcnum {
namespace {

/// The report of a fit to what the catalogue has of an instruction.
nlohmann::ordered_json report_of(const char* name) {
  const Instruction& instruction = *find_instruction(name);
  DatapathOracle oracle(catalogue(ArchId::sm_90, instruction).at(0).datapath, instruction, "the catalogue", 2);
  Fit fit(instruction, &oracle, FitOptions{.threads = 2});
  const FitResult result = fit.run();
  return json_report({.fit = fit,
                      .result = result,
                      .arch = "sm_90",
                      .source = {OracleKind::datapath, "the catalogue", "", {}},
                      .accounts = {},
                      .relatives = {},
                      .compared = {},
                      .sass = ""});
}

TEST(ProbeReport, SaysWhatBecomesOfANumberTooLarge) {
  const std::map<const char*, const char*> expected = {
      {"mma.m8n8k4.f64.f64.f64.f64", "inf"},     {"mma.m8n8k4.f64.f64.f64.f64.rz", "max_finite"},
      {"mma.m8n8k4.f64.f64.f64.f64.rm", "ieee"}, {"mma.m8n8k4.f64.f64.f64.f64.rp", "ieee"},
      {"mma.m16n8k32.s32.s8.s8.s32", "wrap"},    {"mma.m16n8k32.s32.s8.s8.s32.satfinite", "max_finite"}};
  for (const auto& [name, overflow] : expected)
    EXPECT_EQ(report_of(name).at("summary").at("overflow"), overflow) << name;
}

TEST(ProbeReport, HasNumbersWhereValuesAreNumbers) {
  const auto report = report_of("mma.m16n8k8.f16.f16.f16.f16");
  const auto& summary = report.at("summary");
  EXPECT_EQ(summary.at("fraction_bits"), 25);
  EXPECT_EQ(summary.at("zero_exponent"), -21);
  EXPECT_EQ(summary.at("nan"), "0x7fff");
  bool refutes_24 = false;
  for (const auto& each : report.at("rejected")) {
    refutes_24 = refutes_24 || (each.at("property") == "fraction_bits" && each.at("value") == 24);
  }
  EXPECT_TRUE(refutes_24);
}

TEST(PropertyTable, EscapesWhatItsStyleWouldRead) {
  const std::vector<TableRow> rows = {
      {{{"name", "v_f32"}, {"none", ""}, {"value", "a|b, \"50%\" & {2^3} ~ \\ $x × #"}}},
      {{{"name", "b"}, {"none", ""}, {"value", "*c* <d> [e]\nf"}}}};
  EXPECT_EQ(property_table(rows, TableStyle::markdown),
            "| name | value |\n| --- | --- |\n"
            "| v\\_f32 | a\\|b, \"50%\" &amp; {2^3} \\~ \\\\ \\$x × \\# |\n"
            "| b | \\*c\\* &lt;d&gt; \\[e\\] f |\n");
  EXPECT_EQ(property_table(rows, TableStyle::csv),
            "name,value\nv_f32,\"a|b, \"\"50%\"\" & {2^3} ~ \\ $x × #\"\nb,\"*c* <d> [e]\nf\"\n");
  EXPECT_EQ(property_table(rows, TableStyle::latex),
            "\\begin{tabular}{ll}\n\\toprule\nname & value \\\\\n\\midrule\n"
            "v\\_f32 & a\\textbar{}b, ''50\\%'' \\& \\{2\\textasciicircum{}3\\} "
            "\\textasciitilde{} \\textbackslash{} \\$x $\\times$ \\# \\\\\n"
            "b & *c* \\textless{}d\\textgreater{} [e] f \\\\\n\\bottomrule\n\\end{tabular}\n");
  EXPECT_NE(property_table({{{{"zero exponent", "-133"}}}}, TableStyle::latex).find("\n$-$133 "), std::string::npos);
  EXPECT_EQ(property_table(rows, TableStyle::text).substr(0, 15), "  name   value\n");
}

/// Of what is published too, which may be no datapath of a space.
TEST(ShortDatapath, SaysWhatTheExamplesAre) {
  const std::map<std::string, std::string> expected = {{"hopper-fp16", "1×16 F=25 RZ"},
                                                       {"hopper-fp8-lowered", "2×16 F=25 RZ, +c RN"},
                                                       {"cdna3-fp16", "2×8 F=24, 2 adds F=24|32 cut RD RD m31→RN"},
                                                       {"ampere-s8", "1×32 exact saturates"},
                                                       {"blackwell-nvfp4", "4×16 exact scaled, +c F=35 RZ"}};
  for (const auto& [name, text] : expected) {
    EXPECT_EQ(short_text(read_datapath(TCNUM_SOURCE_DIR "/docs/datapaths/" + name + ".json")), text) << name;
  }
}

TEST(Sentence, SaysHowProductsAndCBecomeTheResult) {
  const Instruction& in = *find_instruction("wmma.m16n16k16.f16.f16.f16.f32");
  const Space space(in);
  Choice choice{};
  space.put<Property::fraction_bits>(choice, 25);
  Space::set(choice, Property::structure,
             find_structure(space, Combination::chain, 8, {ProductOrder::Kind::interleaved, 2}));
  space.put<Property::inner_result>(choice, InnerResult::fp32_nearest_even);
  EXPECT_EQ(
      structure_sentence(space, choice),
      "A chain of two fused sums over interleaved halves of k, each of 8 products and the sum before it, the first "
      "with c: each term is cut toward zero 25 bits below the largest exponent, each sum is rounded to nearest even "
      "to fp32, the last rounded toward zero to fp16.");
  Space::set(choice, Property::structure, find_structure(space, Combination::adds, 8));
  space.put<Property::add_rounding>(choice, {Rounding::nearest_even, true});
  EXPECT_EQ(structure_sentence(space, choice),
            "Two fused sums of 8 products each in ascending k (F = 25, rounded to nearest even to fp32); the sums are "
            "added to c one after the other by floating-point adds rounded to nearest even to fp32 first and then to "
            "fp16.");
  // What no result tells is not said.
  const std::array<Property, 3> open = {Property::output_rounding, Property::align_rounding, Property::inner_result};
  Space::set(choice, Property::structure, find_structure(space, Combination::chain, 16));
  EXPECT_EQ(
      structure_sentence(space, choice, open),
      "One fused sum of 16 products and c: each term is cut 25 bits below the largest exponent, the sum is rounded "
      "to fp16.");
}

TEST(Layout, WrapsWideCellsAndNoLineIsLonger) {
  const std::string text =
      table_text({{"name", "value"}, {"±x", std::string(60, 'a') + " " + std::string(60, 'b')}, {"yy", "1"}});
  EXPECT_EQ(text,
            "  name  value\n  ±x    " + std::string(60, 'a') + "\n        " + std::string(60, 'b') + "\n  yy    1\n");
  std::istringstream lines(wrapped(std::string(50, 'w') + " " + std::string(400, 'x') + " y z", 4));
  for (std::string line; std::getline(lines, line);) {
    EXPECT_TRUE(line.size() <= kReportWidth || line.find("xx") != std::string::npos) << line;
    EXPECT_EQ(line.find_first_not_of(' '), 4u);
  }
}

}  // namespace
}  // namespace tcnum
