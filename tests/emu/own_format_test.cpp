// Number formats of the user's own.
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <cmath>
#include <fstream>
#include <limits>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include <nlohmann/json.hpp>

#include "generators.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/matrix.hpp"

namespace tcnum::own_format_test {
namespace {

using Json = nlohmann::ordered_json;

/// The number that a code of a format with these fields stands for, by its definition.
double value_of(const OwnFormat& own, std::uint64_t code) {
  const auto field = static_cast<int>(code >> own.fraction_bits & ((1u << own.exponent_bits) - 1));
  const auto fraction = static_cast<double>(code & ((std::uint64_t{1} << own.fraction_bits) - 1));
  const bool negative = own.has_sign && (code >> (own.exponent_bits + own.fraction_bits) & 1) != 0;
  const double hidden = field == 0 ? 0 : std::ldexp(1.0, own.fraction_bits);
  const double size = std::ldexp(hidden + fraction, std::max(field, 1) - own.bias - own.fraction_bits);
  return negative ? -size : size;
}

double number_of(const Format& f, const Decoded& d) {
  const double size = std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
  return d.negative ? -size : size;
}

OwnFormat random_own(bool with_infinity) {
  OwnFormat own;
  own.exponent_bits = *rc::gen::inRange(2, 9);
  own.fraction_bits = *rc::gen::inRange(1, 15);
  if (!with_infinity) {
    own.non_finite =
        *rc::gen::element(NonFinite::ieee, NonFinite::nan_all_ones, NonFinite::nan_negative_zero, NonFinite::none);
  }
  const int last_field = (1 << own.exponent_bits) - (own.non_finite == NonFinite::ieee ? 1 : 0);  // and one more
  own.bias = *rc::gen::inRange(1, last_field);
  own.name = "e" + std::to_string(own.exponent_bits) + "m" + std::to_string(own.fraction_bits) + "b" +
             std::to_string(own.bias) + "k" + std::to_string(static_cast<int>(own.non_finite)) + "x";
  return own;
}

TEST(OwnFormat, IsOneForTheSameFieldsAndName) {
  const OwnFormat own{"half-like", 5, 10, 15};
  const FormatId id = own_format(own);
  EXPECT_TRUE(is_own(id));
  EXPECT_EQ(own_format(own), id);
  EXPECT_EQ(format(id).name, "half-like");
  EXPECT_EQ(format(id).id, id);
  EXPECT_EQ(format(id).storage_bytes(), 2);
  EXPECT_EQ(find_format_or_own("half-like"), id);
  EXPECT_EQ(find_format("half-like"), std::nullopt);
  OwnFormat other = own;
  other.bias = 16;
  const FormatId second = own_format(other);
  EXPECT_NE(second, id) << "another format of the same name";
  EXPECT_EQ(find_format_or_own("half-like"), second) << "whose name it is now";
  EXPECT_EQ(own_format(own), id);
  EXPECT_EQ(find_format_or_own("half-like"), id) << "and again";
  EXPECT_EQ(format(id).bias, 15);
  EXPECT_EQ(find_format_or_own("fp16"), FormatId::fp16);
}

TEST(OwnFormat, IsOneWordWhateverItsNameStandsFor) {
  const FormatId first = own_format({"renamed", 5, 10, 15}),
                 unsigned_one = own_format({"renamed", 5, 9, 3, NonFinite::none, false});
  EXPECT_EQ(format_text(first), "renamed:5:10:15:ieee:signed");
  EXPECT_EQ(format_text(unsigned_one), "renamed:5:9:3:none:unsigned");
  EXPECT_EQ(format_text(FormatId::fp8e4m3), "fp8e4m3");
  for (const FormatId id : {first, unsigned_one, FormatId::fp8e4m3}) {
    EXPECT_EQ(find_format_or_own(format_text(id)), id);
    EXPECT_EQ(find_format_or_own("renamed"), unsigned_one) << "a text renames nothing";
  }
  const FormatId known_by_text = find_format_or_own("by-text:4:4:7:nan_all_ones:signed").value();
  EXPECT_EQ(format(known_by_text).name, "by-text");
  EXPECT_EQ(format(known_by_text).non_finite, NonFinite::nan_all_ones);
  EXPECT_EQ(find_format_or_own("by-text"), std::nullopt);
  for (const char* text : {"x:5:10:15:ieee", "x:5:10:15:ieee:signed:", "x:5:10:15:odd:signed", "x:5:10:15:ieee:maybe",
                           "x:5:1o:15:ieee:signed", "x:5::15:ieee:signed", ":", ""})
    EXPECT_EQ(find_format_or_own(text), std::nullopt) << text;
  EXPECT_THROW(find_format_or_own("fp16:5:10:15:ieee:signed"), InputError);
  EXPECT_THROW(find_format_or_own("x:50:10:15:ieee:signed"), InputError);
  const std::vector<std::uint16_t> codes = {1};
  EXPECT_EQ(MatrixView(std::as_bytes(std::span(codes)), 1, 1, first).format(), first);
}

TEST(OwnFormat, IsTheSameForAllThreads) {
  std::vector<FormatId> ids(8);
  {
    std::vector<std::jthread> threads;
    for (FormatId& id : ids) threads.emplace_back([&id] { id = own_format({"of-threads", 4, 4, 7}); });
  }
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), 1u);
}

TEST(OwnFormat, SaysWhatIsWrong) {
  const auto error_of = [](const OwnFormat& own) -> std::string {
    try {
      own_format(own);
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of({"x", 12, 10, 0}), "formats.x.exponent_bits: is 12; expected 2..11");
  EXPECT_EQ(error_of({"x", 5, 53, 15}), "formats.x.fraction_bits: is 53; expected 1..52");
  EXPECT_EQ(error_of({"fp16", 5, 10, 15}), "formats.fp16: fp16 is a format already; expected another name");
  EXPECT_EQ(error_of({"e4m3", 4, 3, 7}), "formats.e4m3: fp8e4m3 is a format already; expected another name");
  EXPECT_EQ(error_of({"a b", 4, 3, 7}), "formats.a b: expected a name of 1 to 60 letters, digits, _ and -");
  EXPECT_EQ(error_of({"x", 4, 3, 8, NonFinite::nan_negative_zero, false}),
            "formats.x.non_finite: is nan_negative_zero; expected another, as the format has no sign");
  EXPECT_EQ(error_of({"x", 1, 0, 0, NonFinite::nan_all_ones}),
            "formats.x.exponent_bits: is 1; expected more, for normal numbers");
  EXPECT_EQ(
      error_of({"x", 11, 52, 1024}),
      "formats.x.bias: is 1024; its numbers lie between 2^-1075 and 2^1023, and expected are doubles, from 2^-1074 "
      "to below 2^1024");
  EXPECT_EQ(error_of({"x", 5, 10, 31}), "formats.x.bias: is 31; expected 1..30");
  EXPECT_EQ(error_of({"x", 5, 10, 31, NonFinite::none}), "");
  EXPECT_EQ(error_of({"of-double", 11, 52, 1023}), "");
}

TEST(OwnFormat, MeansWhatItsFieldsSay) {
  for (const NonFinite kind :
       {NonFinite::ieee, NonFinite::nan_all_ones, NonFinite::nan_negative_zero, NonFinite::none}) {
    for (const auto& [exponent, fraction, bias] :
         {std::array{2, 1, 1}, {3, 4, 3}, {4, 3, 11}, {6, 5, 60}, {5, 10, 15}}) {
      const OwnFormat own{"meant-" + std::to_string(static_cast<int>(kind)), exponent, fraction, bias, kind};
      const Format& f = format(own_format(own));
      const std::uint64_t sign = std::uint64_t{1} << (exponent + fraction), ends = sign - 1;
      const std::uint64_t infinity = ends - ((std::uint64_t{1} << fraction) - 1);
      for (std::uint64_t code = 0; code < 2 * sign; ++code) {
        const Decoded d = decode(f, code);
        const std::uint64_t magnitude = code & ends;
        const bool is_nan = (kind == NonFinite::ieee && magnitude > infinity) ||
                            (kind == NonFinite::nan_all_ones && magnitude == ends) ||
                            (kind == NonFinite::nan_negative_zero && code == sign);
        const bool is_infinite = kind == NonFinite::ieee && magnitude == infinity;
        ASSERT_EQ(d.number_class == NumberClass::nan, is_nan) << code;
        ASSERT_EQ(d.number_class == NumberClass::infinity, is_infinite) << code;
        if (is_nan || is_infinite) continue;
        ASSERT_EQ(number_of(f, d), value_of(own, code)) << code;
        ASSERT_EQ(encode(f, d.negative, d.significand, d.exponent - fraction, false, Rounding::nearest_even), code);
      }
    }
  }
}

TEST(OwnFormat, IsPartOfADatapath) {
  std::ifstream file(TCNUM_SOURCE_DIR "/docs/datapaths/hopper-fp16.json");
  Json json = Json::parse(file);
  json["formats"] = {{"tiny", {{"exponent_bits", 3}, {"fraction_bits", 8}, {"bias", 6}, {"non_finite", "none"}}},
                     {"wide", {{"exponent_bits", 9}, {"fraction_bits", 20}}}};
  json["operands"]["a"]["format"] = "tiny";
  json["operands"]["c"]["format"] = json["result"] = "wide";
  json["units"]["fused"]["result"][0]["format"] = "wide";
  json["nan"]["code"] = "0x1fffffff";
  const Datapath datapath = datapath_from_json(json);
  const Format &tiny = format(datapath.numerics.a.format), &wide = format(datapath.numerics.result);
  EXPECT_EQ(tiny.name, "tiny");
  EXPECT_EQ(tiny.bias, 6);
  EXPECT_EQ(tiny.non_finite, NonFinite::none);
  EXPECT_EQ(wide.bias, 255) << "IEEE 754's, as none is given";
  EXPECT_EQ(wide.non_finite, NonFinite::ieee);
  EXPECT_EQ(datapath.numerics.b.format, FormatId::fp16);
  EXPECT_EQ(datapath.numerics.units[0].result.step[0], round_to(wide, Rounding::toward_zero, Overflow::infinity));
  const Json written = to_json(datapath);
  EXPECT_EQ(written["formats"]["tiny"], Json::parse(R"({"exponent_bits": 3, "fraction_bits": 8, "bias": 6,
                                                         "non_finite": "none"})"));
  EXPECT_EQ(written["formats"].size(), 2u);
  EXPECT_EQ(datapath_from_json(written), datapath);

  const auto error_of = [&](const char* pointer, const Json& value) -> std::string {
    Json bad = json;
    bad[Json::json_pointer(pointer)] = value;
    try {
      datapath_from_json(bad, "d.json");
    } catch (const InputError& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_EQ(error_of("/formats", 3), "d.json: formats: is 3; expected an object");
  EXPECT_EQ(error_of("/formats/tiny/exponent_bits", 99), "d.json: formats.tiny.exponent_bits: is 99; expected 1..11");
  EXPECT_EQ(error_of("/formats/tiny/non_finite", "all"),
            "d.json: formats.tiny.non_finite: unknown value \"all\"; expected one of ieee, nan_all_ones, "
            "nan_negative_zero, none");
  EXPECT_EQ(error_of("/formats/tiny/width", 1),
            "d.json: formats.tiny: unknown key \"width\"; expected one of exponent_bits, fraction_bits, bias, "
            "non_finite, sign");
  EXPECT_TRUE(error_of("/operands/b/format", "tinier").ends_with("b1, tiny, wide"))
      << error_of("/operands/b/format", "tinier");
  own_format({"not-here", 5, 9, 15});
  EXPECT_NE(error_of("/operands/a/format", "not-here"), "") << "it is another datapath's";
  EXPECT_EQ(error_of("/result", "tiny"),
            "d.json: result: tiny has no infinity; a result needs one, or a signed integer format");
  EXPECT_EQ(error_of("/formats/fp16", {{"exponent_bits", 5}, {"fraction_bits", 10}}),
            "d.json: formats.fp16: fp16 is a format already; expected another name");
}

TEST(OwnFormat, ScalesMayBeOfOne) {
  std::ifstream file(TCNUM_SOURCE_DIR "/docs/datapaths/blackwell-nvfp4.json");
  ASSERT_TRUE(file.good());
  Json json = Json::parse(file);
  json["formats"] = {{"ue5m3", {{"exponent_bits", 5}, {"fraction_bits", 3}, {"sign", false}}}};
  json["scales"]["format"] = "ue5m3";
  const Datapath datapath = datapath_from_json(json);
  EXPECT_EQ(format(datapath.numerics.scales->format).storage_bits, 8);
  EXPECT_EQ(datapath_from_json(to_json(datapath)), datapath);
  json["formats"]["ue5m3"]["sign"] = true;
  EXPECT_THROW(datapath_from_json(json), InputError);
}

/// Results, and what is added to, of a format of one's own.
void give_own_result(Datapath& d) {
  Numerics& n = d.numerics;
  n.product.infinite_from.reset();
  n.c.format = own_format(random_own(false));
  const Format& result = format(own_format(random_own(true)));
  n.result = result.id;
  for (std::size_t u = 0; u < d.unit_names.size(); ++u) {
    for (int i = 0; i < n.units[u].result.count; ++i) {
      RoundStep& step = n.units[u].result.step[static_cast<std::size_t>(i)];
      if (!step.from_alignment) step = round_to(result, step.rounding, step.overflow, step.subnormals);
    }
  }
  Unit& root = n.units[static_cast<std::size_t>(d.tree.nodes.back().unit)];
  root.result = {round_to(result, *rc::gen::element(Rounding::nearest_even, Rounding::toward_zero))};
  n.nan = {nan_code(result), false, {NanOperand::a, NanOperand::b, NanOperand::c}};
}

/// The fast ones take operands by their fields, whatever these are; wide enough for the fastest.
RC_GTEST_PROP(OwnFormatProperty, FastEqualsExact, ()) {
  constexpr Datapath (*kDraws[])() = {test::random_patch_datapath,
                                      test::random_datapath,
                                      test::random_scaled_patch_datapath,
                                      test::random_fma_chain,
                                      test::random_operations,
                                      test::random_tree_of_sums,
                                      test::random_chain_of_exact_sums,
                                      test::random_single_precision_datapath};
  Datapath d = kDraws[*rc::gen::inRange<std::size_t>(0, std::size(kDraws))]();  // RapidCheck cannot show functions
  const auto random_factor = [] {
    OwnFormat own = random_own(false);
    if (*rc::gen::inRange(0, 2) == 0) {  // of a byte, or with the exponents of a double
      const bool wide = *rc::gen::arbitrary<bool>();
      own.exponent_bits = wide ? *rc::gen::inRange(9, 12) : *rc::gen::inRange(2, 7);
      own.fraction_bits = wide ? *rc::gen::inRange(1, 40) : 7 - own.exponent_bits;
      own.bias = usual_bias(own.exponent_bits);
      if (own.exponent_bits == 11) own.non_finite = NonFinite::ieee;
    }
    own.name += "-" + std::to_string(own.exponent_bits) + "-" + std::to_string(own.fraction_bits) + "-" +
                std::to_string(static_cast<int>(own.non_finite));
    return own_format(own);
  };
  d.numerics.a.format = random_factor();
  d.numerics.b.format = random_factor();
  d.numerics.nan.propagate = false;
  if (*rc::gen::arbitrary<bool>()) give_own_result(d);
  validate(d);
  Tiles exact = test::random_tiles(d, 1, 8, 70), fast = exact;
  emulate_exact(d, exact);
  Emulator(d).run(fast);
  if (!(exact.d == fast.d)) RC_FAIL(to_json(d).dump());
}

}  // namespace
}  // namespace tcnum::own_format_test
