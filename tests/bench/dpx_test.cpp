// DPX functions: what they compute, and their measurement on a device that makes its cycles up.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <string>
#include <utility>

#include "bench/device/timing.hpp"
#include "bench/measure/dpx.hpp"
#include "bench/measure/lane_sweep.hpp"
#include "fake_device.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench::dpx_test {
namespace {

/// The same by C++'s own integers, from the name alone.
template <class Part>
Part part_by_name(const std::string& name, Part a, Part b, Part c, bool& predicate) {
  const bool is_max = name.find("max") != std::string::npos;
  const auto pick = [&](Part x, Part y) { return is_max ? (x > y ? x : y) : (x < y ? x : y); };
  predicate = name.starts_with("__vib") && (is_max ? a >= b : a <= b);
  Part result = name.find("add") != std::string::npos
                    ? static_cast<Part>(static_cast<std::uint32_t>(a) + static_cast<std::uint32_t>(b))
                    : pick(a, b);
  if (name.find("add") != std::string::npos || name.starts_with(is_max ? "__vimax3" : "__vimin3"))
    result = pick(result, c);
  return name.ends_with("relu") && static_cast<std::int64_t>(result) < 0 ? Part{0} : result;
}

template <class Part>
DpxResult word_by_name(const std::string& name, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  DpxResult result;
  constexpr int kBits = 8 * sizeof(Part);
  for (int at = 0; at < 32; at += kBits) {
    bool predicate = false;
    const Part part = part_by_name(name, static_cast<Part>(a >> at), static_cast<Part>(b >> at),
                                   static_cast<Part>(c >> at), predicate);
    result.value |= static_cast<std::uint32_t>(static_cast<std::make_unsigned_t<Part>>(part)) << at;
    if (predicate) result.predicates |= 1u << at / kBits;
  }
  return result;
}

DpxResult by_name(const std::string& name, std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if (name.find("s32") != std::string::npos) return word_by_name<std::int32_t>(name, a, b, c);
  if (name.find("u32") != std::string::npos) return word_by_name<std::uint32_t>(name, a, b, c);
  if (name.find("s16x2") != std::string::npos) return word_by_name<std::int16_t>(name, a, b, c);
  return word_by_name<std::uint16_t>(name, a, b, c);
}

DpxResult result_of(const char* name, std::uint32_t a, std::uint32_t b, std::uint32_t c = 0) {
  return evaluate(named(kDpxFunctions, name), a, b, c);
}

TEST(Dpx, AtTheEdges) {
  EXPECT_EQ(result_of("__viaddmax_s32", 0x7fffffff, 1, 0x80000001).value, 0x80000001u) << "the sum wraps around";
  EXPECT_EQ(result_of("__viaddmax_s16x2", 0x7fff'ffff, 0x0001'0001, 0x8001'ffff).value, 0x8001'0000u)
      << "no carry between halves";
  EXPECT_EQ(result_of("__vimin3_s32_relu", 5, 3, 0x80000000).value, 0u);
  EXPECT_EQ(result_of("__vibmax_s16x2", 0x8000'0005, 0x7fff'0005), (DpxResult{0x7fff'0005, 0b01}));
  EXPECT_EQ(result_of("__vibmin_s32", 4, 4), (DpxResult{4, 1})) << "equal ones count";
}

TEST(Dpx, IsAsItsNameSays) {
  const DpxOperands operands = dpx_check_operands(1);
  ASSERT_EQ(kDpxFunctions.size(), 36u);
  for (const DpxFunction& f : kDpxFunctions) {
    for (std::size_t i = 0; i < operands.a.size(); ++i) {
      ASSERT_EQ(evaluate(f, operands.a[i], operands.b[i], operands.c[i]),
                by_name(std::string(f.name), operands.a[i], operands.b[i], operands.c[i]))
          << f.name << " " << i;
    }
  }
}

/// Four SMs; each takes so many blocks in turn.
class FakeDevice final : public BareDevice {
 public:
  unsigned most_warps(const std::string& kernel, unsigned) const override {
    return kernel == "dpx.__vimax3_u32" ? 0 : 32;
  }
  void load(const TimedOperands& operands) override { operands_ = operands; }
  TimedBatch run(const TimedWork& work, unsigned launches) override {
    work_ = work;
    // Each scheduler issues a call every second cycle, and a chain waits five for its number.
    const double cycles = work.steps * work.rounds * std::max(5.0, 0.5 * work.warps * work.chains);
    const unsigned turns = work.blocks == 0 ? 1 : (work.blocks + 3) / 4;
    return {std::vector<double>(launches, cycles), 1000, std::vector<double>(launches, cycles * turns * 1e-9)};
  }
  std::vector<std::byte> result() override {
    std::vector<std::uint32_t> words;
    const std::string values = "dpx.values.", chains = "dpx.";
    if (work_.kernel.starts_with(values)) {
      for (std::size_t i = 0; i < operands_.a.size() / 4; ++i) {
        const DpxResult r = by_name(work_.kernel.substr(values.size()), word(operands_.a, i), word(operands_.b, i),
                                    word(operands_.c, i));
        words.push_back(r.value ^ (spoil_values && i == 7 ? 1u : 0u));
        words.push_back(r.predicates);
      }
    } else {
      const std::string name = work_.kernel.substr(chains.size());
      std::vector<std::uint32_t>& ends = ends_[{name, work_.steps}];
      for (std::size_t i = ends.size(); i < work_.chains * 32; ++i) ends.push_back(end(name, i));
      for (unsigned warp = 0; warp < work_.warps; ++warp) {
        words.insert(words.end(), ends.begin(), ends.begin() + work_.chains * 32);
      }
      if (spoil_chains) words.front() ^= 1;
    }
    std::vector<std::byte> bytes(words.size() * 4);
    std::memcpy(bytes.data(), words.data(), bytes.size());
    EXPECT_EQ(bytes.size(), work_.result_bytes) << work_.kernel;
    return bytes;
  }
  bool spoil_values = false, spoil_chains = false;

 private:
  static std::uint32_t word(const std::vector<std::byte>& from, std::size_t i) {
    std::uint32_t w = 0;
    std::memcpy(&w, from.data() + 4 * i, 4);
    return w;
  }
  /// __vimin_… of __vimax_…, and the other way round.
  static std::string opposite(std::string name) { return name.replace(5, 2, name.substr(5, 2) == "ax" ? "in" : "ax"); }
  std::uint32_t end(const std::string& name, std::size_t chain_and_lane) const {
    std::uint32_t x = word(operands_.c, chain_and_lane);
    bool odd = false;
    for (unsigned s = 0; s < work_.steps; ++s) {
      const std::size_t lane = chain_and_lane % 32;
      const bool turn = s % 2 != 0 && name.starts_with("__vim") && name.find('3') != 7;
      const DpxResult r = turn ? by_name(opposite(name), x, word(operands_.b, lane), 0)
                               : by_name(name, x, word(operands_.a, lane), word(operands_.b, lane));
      x = r.value;
      odd ^= r.predicates == 1 || r.predicates == 2;
    }
    return odd ? ~x : x;
  }

  TimedOperands operands_;
  TimedWork work_;
  std::map<std::pair<std::string, unsigned>, std::vector<std::uint32_t>> ends_;  ///< by function and steps
};

std::vector<Record> measure(FakeDevice& device, const std::vector<std::string>& functions) {
  return bench::measure("dpx", device, functions, {"ilp=1,8", "warps=1,32"});
}

TEST(DpxMeasurement, FindsLatencyAndThroughput) {
  FakeDevice device;
  const auto records = measure(device, {"__viaddmax_s16x2_relu", "__vimin_s32_relu", "__vimax3_u32", "__vibmin_u16x2"});
  ASSERT_EQ(records.size(), 4u);
  for (std::size_t i : {0, 1, 3}) {
    const Record& r = records[i];
    EXPECT_EQ(r.error + r.waived, "");
    EXPECT_EQ(r.number("latency_cycles"), 5);
    EXPECT_EQ(r.number("interval_cycles"), 0.5);
    const int parts = i == 1 ? 1 : 2;
    EXPECT_EQ(r.number("results_per_clock"), 64 * parts);
    EXPECT_EQ(r.number("giga_results"), 4 * 64 * parts) << "four SMs at 1 GHz";
    EXPECT_EQ(r.numbers("grid_blocks")->back(), 16);
  }
  EXPECT_NE(records[2].waived, "");
}

TEST(DpxMeasurement, WrongResultsAreErrors) {
  FakeDevice device;
  device.spoil_values = true;
  EXPECT_NE(measure(device, {"__vimax3_s32"})[0].error.find("on the CPU"), std::string::npos);
  device.spoil_values = false;
  device.spoil_chains = true;
  const Record r = measure(device, {"__vimax3_s32"})[0];
  EXPECT_NE(r.error.find("chain 0, lane 0"), std::string::npos) << r.error;
  EXPECT_TRUE(r.values.empty() && r.series.empty());
}

TEST(Sass, OfFunctionsIsCountedByTheCall) {
  ProbeSass sass(2);
  sass.read("Function : _ZN5tcnum18time_chains_kernelINS_10ChainedDpxINS_3dpx12viaddmax_s32EEEEEvNS_11TimedLaunchE");
  for (const char* opcode : {"VIMNMX", "VIMNMX", "VIMNMX", "VIMNMX", "PRMT", "PRMT", "BRA"}) {
    sass.read("        /*07e0*/                   " + std::string(opcode) + " R20, R8, R12, R20 ;  /* 0x0 */");
    sass.read("                                                                      /* 0x000fe20003800100 */");
  }
  sass.read("        .L_x_1:");
  sass.read("Function : _ZN5tcnum17dpx_values_kernelINS_3dpx12viaddmax_s32EEEvNS_11TimedLaunchE");
  sass.read("        /*07e0*/                   VIMNMX R20, R8, R12, R20 ;  /* 0x0 */");
  const SassTable table = sass.table(ArchId::sm_90, "13.0");
  EXPECT_EQ(table.function_opcodes("__viaddmax_s32"), "BRA, PRMT, 2 VIMNMX") << "one BRA in two is rounded up";
  EXPECT_EQ(table.function_opcodes("__vimax3_s32"), "");
}

}  // namespace
}  // namespace tcnum::bench::dpx_test
