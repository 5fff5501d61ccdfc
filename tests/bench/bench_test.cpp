// The host's half of benchmarks: axes, statistics, records, printers, operands, the model, reports; and measurements on
// a device that makes its answers up.
// Labels: speed
#include <gtest/gtest.h>

#include <fmt/format.h>

#include <cmath>
#include <cstring>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>

#include "bench/device/timing.hpp"
#include "bench/measure/gemm/gemm.hpp"
#include "bench/measure/measurement.hpp"
#include "bench/measure/operands.hpp"
#include "bench/measure/peaks.hpp"
#include "bench/measure/report/sections.hpp"
#include "bench/measure/statistics.hpp"
#include "bench/measure/steady.hpp"
#include "bench/measure/tensor.hpp"
#include "fake_device.hpp"
#include "isa/sparsity.hpp"
#include "src/catalogue/sass.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"
#include "tcnum/exact.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum::bench {
namespace {

const std::vector<Axis> kAxes = {{"N", "", {"8", "16", "24", "32"}, {"8"}}, {"source", "", {"ss", "rs"}, {"ss", "rs"}}};

TEST(Axes, ListsAndDefaults) {
  const Selection s = parse_axes({"N=24,8", "N=8,16"}, kAxes);
  EXPECT_EQ(s.at("N"), (std::vector<std::string>{"24", "8", "16"}));
  EXPECT_EQ(s.at("source"), (std::vector<std::string>{"ss", "rs"}));
  EXPECT_EQ(parse_axes({"source=rs"}, kAxes).at("N"), (std::vector<std::string>{"8"}));
}

TEST(Axes, WrongOnesAreNamed) {
  for (const std::string text : {"M=8", "N", "N=", "N=12", "N=8,,16", "N=8,…,32", "source=sr"}) {
    try {
      parse_axes({text}, kAxes);
      ADD_FAILURE() << text << " was accepted";
    } catch (const InputError& error) {
      EXPECT_NE(std::string(error.what()).find(text), std::string::npos) << error.what();
    }
  }
}

TEST(Axes, Globs) {
  EXPECT_TRUE(matches({}, "mma"));
  EXPECT_TRUE(matches({"x", "wg*"}, "wgmma"));
  EXPECT_FALSE(matches({"mma"}, "wgmma"));
}

TEST(Statistics, OfKnownSamples) {
  std::vector<double> samples;
  for (int i = 100; i >= 0; --i) samples.push_back(i);
  const Summary s = summarise(samples);
  EXPECT_EQ(s.count, 101u);
  EXPECT_EQ(s.min, 0);
  EXPECT_DOUBLE_EQ(s.p5, 5);
  EXPECT_DOUBLE_EQ(s.median, 50);
  EXPECT_DOUBLE_EQ(s.p95, 95);
  EXPECT_EQ(s.max, 100);
  EXPECT_DOUBLE_EQ(s.mean, 50);
  EXPECT_NEAR(s.relative_deviation, std::sqrt(101.0 * 102 / 12) / 50, 1e-12);
  EXPECT_DOUBLE_EQ(s.spread_percent(), 200);
  EXPECT_THROW(summarise({}), std::logic_error);
}

TEST(Statistics, StopsOnlyWithEnoughThatAgree) {
  const StopRule rule{.least_samples = 4, .least_seconds = 1, .most_seconds = 5, .relative_deviation = 0.01};
  EXPECT_FALSE(rule.enough({1, 1, 1}, 2));
  EXPECT_FALSE(rule.enough({1, 1, 1, 1}, 0.5));
  EXPECT_TRUE(rule.enough({1, 1, 1, 1}, 2));
  EXPECT_FALSE(rule.enough({1, 2, 1.5, 1.5}, 2)) << "agrees better than the first half";
  EXPECT_TRUE(rule.enough({1, 1.1, 1, 2}, 2)) << "agrees no better than the first half";
  EXPECT_TRUE(rule.enough({1, 2, 1.5, 1.5}, 5)) << "has had its time";
}

TEST(Power, BetweenStepsOfTheCounter) {
  EXPECT_DOUBLE_EQ(*power_of({{0, 10}, {1, 10}, {2, 110}, {3, 110}, {4, 310}, {5, 310}}), 100);
  EXPECT_FALSE(power_of({{0, 10}, {1, 110}, {2, 110}}));
  EXPECT_FALSE(power_of({}));
}

Record example() {
  Record r{"wgmma",
           "wgmma.m64nNk16.f32.f16.f16",
           {{"N", std::int64_t{64}},
            {"source", std::string("ss")},
            {"data", std::string("zeros")},
            {"warpgroups", std::int64_t{1}}},
           {},
           {},
           "",
           ""};
  r.set("latency_cycles", 90.5);
  r.set("interval_cycles", 32.123456789);
  r.set("clock_mhz", 1600.0);
  r.set("clock_moved", true);
  r.set("power_watts", 300.0);
  return r;
}

TEST(Records, RoundToSixDigitsAndLeaveOutWhatIsNoNumber) {
  Record r = example();
  EXPECT_EQ(r.number("interval_cycles"), 32.1235);
  EXPECT_EQ(r.number("N"), 64);
  EXPECT_EQ(r.text("source"), "ss");
  EXPECT_EQ(r.text("nothing"), "");
  r.set("power_watts", NAN);
  EXPECT_EQ(r.number("power_watts"), 300);
}

Document example_document() {
  Document document;
  document.version = "1";
  document.facts = {"sm_90", "NVIDIA H200", "580", "13.0", "2026-01-02", 132, 700.0, std::nullopt};
  document.settings = {{"seconds", 0.25}, {"seed", std::int64_t{1}}};
  Record measured = example();
  put_rates(measured, *find_instruction("wgmma.m64n64k16.f32.f16.f16"), ArchId::sm_90, document.facts, false);
  measured.series.push_back({"sample_interval_cycles", {32.1, 32.2}});
  Record waived = example();
  waived.values.clear();
  waived.waived = "no \"kernel\", for it";
  Record wrong = waived;
  wrong.waived.clear();
  wrong.error = "3 results are wrong";
  document.records = {measured, waived, wrong};
  return document;
}

TEST(Records, WrongJsonIsNamed) {
  const auto json = nlohmann::ordered_json::parse(json_text(example_document()));
  const std::map<std::string, nlohmann::ordered_json> changes = {
      {"/records/0/values/clock_mhz", nlohmann::ordered_json::array()},
      {"/device/sms", -1},
      {"/records/0/series", 3},
      {"/records/0/series/sample_interval_cycles", {"x"}},
      {"/records", 1},
      {"/device/power_limit_watts", "x"}};
  for (const auto& [where, value] : changes) {
    auto changed = json;
    changed[nlohmann::ordered_json::json_pointer(where)] = value;
    EXPECT_THROW(document_from_json(changed, "x.json"), InputError) << where;
  }
}

TEST(Printers, NotesNameWhatIsWaivedWrongAndOffTheModel) {
  Document document = example_document();
  EXPECT_FALSE(is_off_model(document.records[0]));
  document.records[0].set("model_residual_percent", -6.0);
  const std::string text = run_text(document, {});
  for (const char* part : {"clock moved", "waived: ", "ERROR: ", "3 results are wrong", "-6.0 %"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
}

TEST(Rates, OfKnownCycles) {
  Record r = example();
  r.set("interval_cycles", 32.0);
  const TimingFacts facts = example_document().facts;
  put_rates(r, *find_instruction("wgmma.m64n64k16.f32.f16.f16"), ArchId::sm_90, facts, false);
  EXPECT_DOUBLE_EQ(*r.number("percent_of_peak"), 100);
  EXPECT_NEAR(*r.number("tera_ops"), 4096 * 132 * 1600e6 / 1e12, 0.01);
  EXPECT_NEAR(*r.number("percent_of_datasheet"), 4096 * 132 * 1600e6 / 1e12 / 989.5 * 100, 0.01);
  EXPECT_NEAR(*r.number("tera_ops_per_watt"), 4096 * 132 * 1600e6 / 1e12 / 300, 0.001);
  EXPECT_DOUBLE_EQ(*r.number("model_residual_percent"), 0);
}

TEST(Rates, ModelsAreRenewed) {
  Document document = example_document();
  document.records[0].set("model_cycles", 1.0);
  put_models(document, "r.json");
  EXPECT_EQ(document.records[0].number("model_cycles"), 32);
  EXPECT_NEAR(*document.records[0].number("model_residual_percent"), 0.386, 0.001);
  document.records[0].subject = "wgmma.m64nNk15.f32.f16.f16";
  EXPECT_THROW(put_models(document, "r.json"), InputError);
}

TEST(Peaks, AbsentOnesAreBlank) {
  EXPECT_EQ(peak_operations_per_clock(ArchId::sm_90, FormatId::fp16, false), 4096);
  EXPECT_EQ(peak_operations_per_clock(ArchId::sm_90, FormatId::fp8e5m2, true), 16384);
  EXPECT_EQ(peak_operations_per_clock(ArchId::sm_90, FormatId::s4, false), std::nullopt);
  EXPECT_EQ(peak_operations_per_clock(ArchId::sm_75, FormatId::fp16, false), std::nullopt);
  EXPECT_EQ(datasheet_peak("NVIDIA H200", FormatId::tf32, false), 494.5);
  EXPECT_EQ(datasheet_peak("NVIDIA H200 NVL", FormatId::tf32, false), 417.5);
  EXPECT_FALSE(datasheet_peak("Another", FormatId::tf32, false));
}

/// max(N/2, 16 + N/4) with both operands from shared memory, 16 + N/2 if A is sparse, for every format.
TEST(Model, IsTheClosedFormForEveryWgmma) {
  for (const Instruction& in : instructions()) {
    if (in.kind != InstructionKind::wgmma) continue;
    const auto ss = model_of(in, ArchId::sm_90, false), rs = model_of(in, ArchId::sm_90, true);
    if (!ss) continue;
    EXPECT_DOUBLE_EQ(ss->cycles(), in.sparse() ? 16 + in.n / 2.0 : std::max(in.n / 2.0, 16 + in.n / 4.0)) << in.name();
    EXPECT_DOUBLE_EQ(rs->cycles(), std::max(in.n / 2.0, in.sparse() ? 16.0 : 13.0)) << in.name();
  }
  EXPECT_FALSE(model_of(*find_instruction("mma.m16n8k16.f32.f16.f16.f32"), ArchId::sm_86, true));
}

TEST(Operands, UniformCodesAreInRange) {
  EXPECT_EQ(uniform_code(format(FormatId::fp16), 0), 0u);
  EXPECT_EQ(uniform_code(format(FormatId::fp32), std::uint64_t{1} << 52), 0x3f000000u);
  EXPECT_EQ(uniform_code(format(FormatId::fp32), (std::uint64_t{1} << 63) | (std::uint64_t{1} << 52)), 0xbf000000u);
  EXPECT_EQ(uniform_code(format(FormatId::s4), ~std::uint64_t{0}), 0xfu);
}

TEST(Operands, OfANarrowerWgmmaAreTheFirstColumns) {
  const ChainOperands narrow = make_chain_operands(*find_instruction("wgmma.m64n16k16.f32.f16.f16"), Data::random, 3);
  const ChainOperands wide = make_chain_operands(*find_instruction("wgmma.m64n32k16.f32.f16.f16"), Data::random, 3);
  ASSERT_EQ(narrow.slices.size(), static_cast<std::size_t>(timed_wgmma_slices(false)));
  for (std::size_t s = 0; s < narrow.slices.size(); ++s) {
    EXPECT_EQ(narrow.slices[s].a, wide.slices[s].a);
    for (std::size_t k = 0; k < 16; ++k) {
      for (std::size_t j = 0; j < 16; ++j) {
        EXPECT_EQ(narrow.slices[s].b[k * 16 + j], wide.slices[s].b[k * 32 + j]);
      }
    }
  }
  EXPECT_FALSE(narrow.slices[0].a == narrow.slices[1].a);
}

/// A device that does what the timing kernels do, and takes as many cycles as it is told.
class FakeDevice final : public BareDevice {
 public:
  FakeDevice() { facts_ = example_document().facts; }

  unsigned most_warps(const std::string& kernel, unsigned chains) const override {
    return kernel.find("n24k") != std::string::npos ? 0 : chains < 4 ? 8 : 4;
  }
  void load(const TimedOperands& operands) override { operands_ = operands; }
  TimedBatch run(const TimedWork& work, unsigned launches) override {
    work_ = work;
    return {std::vector<double>(launches, cycles(work) * work.rounds), 1500};
  }
  std::vector<std::byte> result() override {
    const Instruction& in = *find_instruction(work_.kernel);
    const std::vector<Datapath> datapaths = datapaths_of(ArchId::sm_90, in);
    const auto m = static_cast<std::size_t>(in.m), n = static_cast<std::size_t>(in.n),
               k = static_cast<std::size_t>(in.k), products = static_cast<std::size_t>(in.products()),
               stored = in.sparse() ? static_cast<std::size_t>(group_of(in).stored()) : 1;
    const bool group = in.kind == InstructionKind::wgmma, packed = in.kind == InstructionKind::wmma;
    const auto bits_of = [&](FormatId id) {
      return static_cast<std::size_t>(packed ? format(id).storage_bits : 8 * format(id).storage_bytes());
    };
    const std::size_t bits = bits_of(in.a), c_bits = bits_of(in.c), tiles = group ? 1 : kTimedTiles,
                      units = group ? work_.warps / 4 : work_.warps;
    const auto slices =
        static_cast<std::size_t>(!group                                 ? kTimedMmaSlices
                                 : work_.loop == TimingLoop::completion ? 1
                                                                        : timed_wgmma_slices(in.sparse()));
    std::vector<std::byte> all(2 * units * work_.chains * m * n * c_bits / 8);
    for (std::size_t at = 0; at < units * work_.chains * m * n; ++at) {
      const std::size_t i = at % (m * n), chain = at / (m * n) % work_.chains, unit = at / (m * n) / work_.chains,
                        tile = unit % tiles;
      std::uint64_t d = code_at(operands_.c, ((chain * tiles + tile) * m * n + i) * c_bits, c_bits);
      for (std::size_t s = 0; s < work_.steps; ++s) {
        const std::size_t block = s % slices * tiles + tile;
        std::vector<std::uint64_t> a, b;
        for (std::size_t p = 0; p < products; ++p) {
          const std::size_t from = (block * m + i / n) * products + p;
          const std::size_t kk = in.sparse() ? p / stored * 2 * stored + code_at(operands_.e, from * 8, 8) : p;
          a.push_back(code_at(operands_.a, from * bits, bits));
          b.push_back(code_at(operands_.b,
                              (packed ? (block * n + i % n) * k + kk : (block * k + kk) * n + i % n) * bits, bits));
        }
        d = step(datapaths, a, b, d);
      }
      std::memcpy(all.data() + (((2 * unit + 1) * work_.chains + chain) * m * n + i) * c_bits / 8, &d, c_bits / 8);
    }
    if (spoil) all.back() ^= std::byte{1};
    return all;
  }

  std::function<double(const TimedWork&)> cycles = [](const TimedWork& w) {
    return 8.0 * w.steps * w.chains * w.warps;
  };
  bool spoil = false;

 private:
  /// The code that begins at that bit.
  static std::uint64_t code_at(const std::vector<std::byte>& from, std::size_t bit, std::size_t bits) {
    std::uint64_t code = 0;
    std::memcpy(&code, from.data() + bit / 8, (bits + 7) / 8);
    return bits < 8 ? code >> bit % 8 & ((std::uint64_t{1} << bits) - 1) : code;
  }

  /// Long chains are of zeros.
  static std::uint64_t step(const std::vector<Datapath>& datapaths, const std::vector<std::uint64_t>& a,
                            const std::vector<std::uint64_t>& b, std::uint64_t d) {
    if (std::ranges::all_of(a, [](auto x) { return x == 0; }) && d == 0) return 0;
    for (const Datapath& datapath : datapaths) d = emulate_exact(datapath, a, b, d);
    return d;
  }
  TimedOperands operands_;
  TimedWork work_;
};

/// Random operands of a few steps, given to a device that takes them one by one through the exact emulator.
TEST(TimedOperands, AreThoseOfTheInstructions) {
  struct Case {
    const char* name;
    unsigned warps, chains;
  };
  for (const Case& c :
       {Case{"mma.m16n8k16.f32.f16.f16.f32", 3, 2}, Case{"mma.sp.m16n8k32.f16.f16.f16.f16", 2, 1},
        Case{"mma.m16n8k32.s32.s8.u8.s32", 1, 1}, Case{"mma.m8n8k4.f64.f64.f64.f64", 1, 2},
        Case{"wgmma.m64n16k16.f32.f16.f16", 8, 1}, Case{"wgmma.m64n24k32.f32.e4m3.e5m2", 4, 1},
        Case{"wgmma.sp.m64n24k16.f32.tf32.tf32", 4, 1}, Case{"wgmma.m64n8k256.s32.b1.b1.and.popc", 4, 1},
        Case{"wmma.m16n16k16.f32.f16.f16.f32", 3, 2}, Case{"wmma.m8n32k16.f32.f16.f16.f16", 3, 2},
        Case{"wmma.m32n8k16.f16.f16.f16.f32", 2, 1}, Case{"wmma.m8n8k32.s32.s4.s4.s32", 3, 2}}) {
    SCOPED_TRACE(c.name);
    const Instruction& in = *find_instruction(c.name);
    const ChainOperands operands = make_chain_operands(in, Data::random, 9);
    for (const Tiles& tiles : operands.slices) {
      EXPECT_TRUE(!in.sparse() || first_illegal_group(in, tiles.e) == tiles.e.size());
    }
    constexpr unsigned kFewSteps = 5;
    const Codes expected = replay(operands, datapaths_of(ArchId::sm_90, in), kFewSteps, operands.slices.size(), 2);
    FakeDevice device;
    device.load(timed_operands(operands));
    device.run({c.name, TimingLoop::back_to_back, true, c.warps, c.chains, kFewSteps, 1, 0}, 1);
    const std::vector<std::byte> results = device.result();
    EXPECT_EQ(results.size(), result_bytes(in, c.warps, c.chains));
    EXPECT_EQ(count_wrong(in, results, c.warps, c.chains, expected), 0u);
    device.spoil = true;
    EXPECT_EQ(count_wrong(in, device.result(), c.warps, c.chains, expected), 1u);
  }
}

TEST(Measurements, OfMma) {
  FakeDevice device;
  // A warp's accumulators wait for each other up to four; warps share the tensor cores from eight tiles on.
  device.cycles = [](const TimedWork& w) { return 1.0 * w.steps * std::max(32u, 4 * w.warps * w.chains); };
  const auto records =
      measure("mma", device, {"mma.m16n8k16.f32.f16.f16.f32"}, {"data=zeros", "warps=1,2,4,8,16", "chains=1,2,4"});
  ASSERT_EQ(records.size(), 1u);
  const Record& r = records.front();
  EXPECT_EQ(r.error + r.waived, "");
  EXPECT_EQ(r.number("latency_cycles"), 32);
  EXPECT_EQ(r.number("issue_interval_cycles"), 8);
  EXPECT_EQ(r.number("interval_cycles"), 4);
  EXPECT_EQ(r.number("percent_of_peak"), 25);
  EXPECT_EQ(r.number("saturated_warps"), 8) << "with the fewest chains of those with eight tiles";
  EXPECT_EQ(r.number("saturated_chains"), 1);
  EXPECT_EQ(r.numbers("sweep_warps")->size(), 11u) << "16 warps do not fit, nor 8 with four accumulators";
  EXPECT_EQ(r.number("clock_mhz"), 1500);
  EXPECT_EQ(r.text("clock_moved"), "false");
}

TEST(Measurements, OfWgmma) {
  FakeDevice device;
  device.cycles = [](const TimedWork& w) { return (w.loop == TimingLoop::completion ? 60.0 : 18.0) * w.steps; };
  const auto records =
      measure("wgmma", device, {"wgmma.m64nNk16.f32.f16.f16"}, {"N=8,24", "data=zeros", "source=ss", "warpgroups=1,3"});
  ASSERT_EQ(records.size(), 4u);
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(records[0].number("latency_cycles"), 60);
  EXPECT_EQ(records[0].number("interval_cycles"), 18);
  EXPECT_EQ(records[0].number("model_residual_percent"), 0);
  EXPECT_NE(records[1].waived.find("3 warpgroups"), std::string::npos);
  EXPECT_NE(records[2].waived.find("no timing kernel"), std::string::npos);
}

TEST(Measurements, OfWmmaCountBothInstructionsOfAStep) {
  FakeDevice device;
  const auto records = measure("wmma", device, {"wmma.m16n16k16.f32.f16.f16.f16"}, {"data=zeros", "warps=1"});
  ASSERT_EQ(records.size(), 1u);
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_EQ(records[0].number("latency_cycles"), 4) << "half of the 8 that the device takes for a step";
}

TEST(Measurements, OfIntegerWgmmaWaiveWidthsThatThereAreNot) {
  FakeDevice device;
  const auto records =
      measure("integer wgmma", device, {"wgmma.sp.m64nNk64.s32.s8.s8"}, {"N=8,40", "data=zeros", "source=rs"});
  ASSERT_EQ(records.size(), 2u);
  EXPECT_EQ(records[0].error + records[0].waived, "");
  EXPECT_NE(records[1].waived.find("no such N"), std::string::npos);
}

TEST(Measurements, WrongResultsAreErrorsWithoutNumbers) {
  FakeDevice device;
  device.spoil = true;
  for (const Record& r : measure("mma", device, {"mma.m16n8k16.f32.f16.f16.f32"}, {"data=zeros"})) {
    EXPECT_NE(r.error.find("1 results"), std::string::npos) << r.error;
    EXPECT_TRUE(r.values.empty() && r.series.empty());
  }
}

TEST(Sass, OfProbesIsWhatDoesTheirWork) {
  ProbeSass sass(8);
  for (const char* line :
       {"\t\tFunction : _ZN5tcnum15time_mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEvNS_11TimedLaunchE",
        "        /*07e0*/                   HMMA.1688.F32 R20, R8, R12, R20 ;  /* 0x0 */",
        "\t\tFunction : _ZN5tcnum10mma_kernelINS_28mma_m16n8k16_f32_f16_f16_f32EEEvNS_11DeviceTilesE",
        "        /*0000*/                   HFMA2.MMA R1, -RZ, RZ, 0, 0 ;  /* 0x0 */",
        "        /*07e0*/              @!P0 HMMA.16816.F32 R20, R8, R12, R20 ;  /* 0x0 */",
        "        /*07f0*/                   IADD3 R20, R8, R12, R20 ;  /* 0x0 */",
        "\t\tFunction : _ZN5tcnum10mma_kernelINS_30mma_m16n8k32_f32_e5m2_e5m2_f32EEEvNS_11DeviceTilesE",
        " F2FP.F16.E5M2.UNPACK_B R3, R2 ;", " HMMA.16816.F32 R20, R8, R12, R20 ;",
        " F2FP.F16.E5M2.UNPACK_B R4, R2 ;"}) {
    sass.read(line);
  }
  const SassTable table = sass.table(ArchId::sm_90, "13.0");
  ASSERT_EQ(table.instructions.size(), 2u);
  EXPECT_EQ(table.text(*find_instruction("mma.m16n8k16.f32.f16.f16.f32")), "HMMA.16816.F32 (nvcc 13.0)");
  EXPECT_EQ(table.text(*find_instruction("mma.m16n8k32.f32.e5m2.e5m2.f32")),
            "HMMA.16816.F32, F2FP.F16.E5M2.UNPACK_B (nvcc 13.0)");
  EXPECT_EQ(table.text(*find_instruction("mma.m16n8k8.f32.f16.f16.f32")), "");
  EXPECT_EQ(probe_type_of(*find_instruction("mma.sp::ordered_metadata.m16n8k64.s32.s8.s8.s32.satfinite")),
            "mma_sp_ordered_m16n8k64_s32_s8_s8_s32_satfinite");
  EXPECT_EQ(probe_type_of(*find_instruction("mma.m8n8k128.s32.b1.b1.s32.xor.popc")), "mma_m8n8k128_b1_xor");
}

/// Every instruction of Hopper that is probed has its machine code in the record; a wgmma at N = 8 stands for its kind.
TEST(Sass, IsRecordedOfEveryInstructionOfHopper) {
  const SassTable table = read_sass(TCNUM_SOURCE_DIR "/vectors/sm_90/sass.json");
  EXPECT_FALSE(table.nvcc.empty());
  for (const Instruction* in : instructions_of(ArchId::sm_90)) EXPECT_NE(table.text(*in), "") << in->name();
  EXPECT_NE(table.text(*find_instruction("wgmma.sp.m64n24k32.f32.f16.f16")), "");
}

TEST(Reports, EscapeWhatStrangersWrote) {
  Document document = example_document();
  document.facts.device = "<script>`x`|[a](b)\n\x1b[2J*'&";
  Record mma = example();
  mma.measurement = "mma";
  mma.subject = "mma.m16n8k16.f32.f16.f16.f32";
  document.records.push_back(mma);
  const SassTable sass{"sm_90", "<b>13\n|", {{mma.subject, {"A|B\n| 0 |<&>"}}}};
  const std::string page = markdown_page(document, sass);
  for (const char* part : {"wgmma.m64nNk16.f32.f16.f16", "719.6", "A\\|B\\\\n\\| 0 \\|&lt;&amp;> |\n",
                           "&lt;script>\\`x\\`\\|\\[a\\](b)\\\\n\\\\u001b\\[2J\\*'&amp;"}) {
    EXPECT_NE(page.find(part), std::string::npos) << part << page;
  }
  for (const char* part : {"<script", "<b>", "\x1b", "\n| 0 |", "nan"})
    EXPECT_EQ(page.find(part), std::string::npos) << part;
}

/// Rows that are not what a measurement writes, but whose fields all have their types.
TEST(Reports, OfStrangeRowsAreMadeOrRefused) {
  const Document good = example_document();
  const auto outcome = [&](const std::function<void(Record&)>& change) {
    Document document = good;
    change(document.records[0]);
    Record other = document.records[0];
    other.axes.back().value = std::int64_t{2};
    document.records.push_back(other);
    try {
      put_models(document, "r.json");
      return markdown_page(document, {});
    } catch (const InputError& error) {
      return std::string("refused: ") + error.what();
    }
  };
  const auto refused = [](const std::string& text) { return text.starts_with("refused: "); };
  EXPECT_FALSE(refused(outcome([](Record&) {})));
  for (const Value& n : std::vector<Value>{std::int64_t{0}, std::int64_t{-8}, std::int64_t{12}, std::int64_t{1} << 40,
                                           8.0, 1e300, std::string("8"), true}) {
    EXPECT_TRUE(refused(outcome([&](Record& r) { r.axes[0].value = n; })));
  }
  EXPECT_TRUE(refused(outcome([](Record& r) { r.axes.erase(r.axes.begin()); }))) << "no N";
  for (const char* subject : {"", "nNk", "wgmma.m64n64k16.f32.f16.f16", "mma.m16nNk16.f32.f16.f16.f32", "x.m64nNk16"}) {
    EXPECT_TRUE(refused(outcome([&](Record& r) { r.subject = subject; }))) << subject;
  }
}

}  // namespace
}  // namespace tcnum::bench
