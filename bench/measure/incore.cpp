// Plain arithmetic: latency and reciprocal throughput over instruction-level parallelism and warps.
#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>

#include "lane_sweep.hpp"
#include "peaks.hpp"
#include "tcnum/format.hpp"
#include "tensor.hpp"

namespace tcnum::bench {
namespace {

float as_float(std::uint64_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code)); }
double as_double(std::uint64_t code) { return std::bit_cast<double>(code); }
std::uint64_t code_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t code_of(double x) { return std::bit_cast<std::uint64_t>(x); }

/// x·a + b, rounded once. Exponents lie close enough for an exact sum in 128 bits.
std::uint64_t fma_code(const Format& f, std::uint64_t x, std::uint64_t a, std::uint64_t b) {
  const Decoded dx = decode(f, x), da = decode(f, a), db = decode(f, b);
  const int product_exponent = dx.exponent + da.exponent - 2 * f.fraction_bits;
  const int addend_exponent = db.exponent - f.fraction_bits;
  const int exponent = std::min(product_exponent, addend_exponent);
  const int128 product = static_cast<int128>(dx.significand * da.significand) << (product_exponent - exponent);
  const int128 addend = static_cast<int128>(db.significand) << (addend_exponent - exponent);
  const int128 sum = (dx.negative != da.negative ? -product : product) + (db.negative ? -addend : addend);
  return encode(f, sum < 0, static_cast<uint128>(sum < 0 ? -sum : sum), exponent, false, Rounding::nearest_even);
}

/// The same on both halves of a register.
std::uint64_t fma_pair(FormatId id, std::uint64_t x, std::uint64_t a, std::uint64_t b) {
  const Format& f = format(id);
  return fma_code(f, x & 0xffff, a & 0xffff, b & 0xffff) | fma_code(f, x >> 16, a >> 16, b >> 16) << 16;
}

/// A small positive number of a lane, as a code.
std::uint64_t number(FormatId id, double value) {
  constexpr int kBits = 40;
  return encode(format(id), false, static_cast<uint128>(std::ldexp(value, kBits)), -kBits, false,
                Rounding::nearest_even);
}
std::uint64_t pair(FormatId id, double value) { return number(id, value) | number(id, value * 1.25) << 16; }

/// One row an operation. Operands are functions of the lane and the chain such that all numbers stay within a few
/// powers of two: multiplications by less than one, plus something; quotients that go back and forth.
struct Operation {
  const char* ptx;
  int bits;      ///< of a register
  int results;   ///< of a register
  double flops;  ///< of a result
  std::uint64_t (*start)(int lane, int chain);
  std::uint64_t (*a)(int lane);
  std::uint64_t (*b)(int lane);
  std::uint64_t (*step)(std::uint64_t x, std::uint64_t a, std::uint64_t b);
  /// What each step may be off by, relatively; 0: not at all. Source: PTX ISA, the instruction's own page.
  double error = 0;
};

double near_one(int lane) { return 1 + lane / 64.0; }
double fraction(int lane) { return 0.5 + lane / 128.0; }
double start_value(int lane, int chain) { return 1.5 + lane / 32.0 + chain; }

template <FormatId kFormat>
constexpr Operation fma_of_pairs(const char* ptx) {
  return {ptx,
          32,
          2,
          2,
          [](int lane, int chain) { return pair(kFormat, start_value(lane, chain)); },
          [](int lane) { return pair(kFormat, fraction(lane) * 0.75); },
          [](int lane) { return pair(kFormat, near_one(lane)); },
          [](std::uint64_t x, std::uint64_t a, std::uint64_t b) { return fma_pair(kFormat, x, a, b); }};
}

template <class Real>
constexpr Real real_of(std::uint64_t code) {
  if constexpr (sizeof(Real) == 4) {
    return as_float(code);
  } else {
    return as_double(code);
  }
}
template <class Real>
std::uint64_t start_code(int lane, int chain) {
  return code_of(static_cast<Real>(start_value(lane, chain)));
}
template <class Real>
std::uint64_t fraction_code(int lane) {
  return code_of(static_cast<Real>(fraction(lane)));
}
template <class Real>
std::uint64_t near_one_code(int lane) {
  return code_of(static_cast<Real>(near_one(lane)));
}
template <class Real>
constexpr Operation fma_of(const char* ptx) {
  return {ptx,
          8 * sizeof(Real),
          1,
          2,
          start_code<Real>,
          fraction_code<Real>,
          near_one_code<Real>,
          [](std::uint64_t x, std::uint64_t a, std::uint64_t b) {
            return code_of(std::fma(real_of<Real>(x), real_of<Real>(a), real_of<Real>(b)));
          }};
}
template <class Real>
constexpr Operation division_of(const char* ptx, double error = 0) {
  return {ptx,
          8 * sizeof(Real),
          1,
          1,
          start_code<Real>,
          near_one_code<Real>,
          near_one_code<Real>,
          [](std::uint64_t x, std::uint64_t a, std::uint64_t) { return code_of(real_of<Real>(a) / real_of<Real>(x)); },
          error};
}
template <class Real>
constexpr Operation root_of(const char* ptx, double error = 0) {
  return {ptx,
          8 * sizeof(Real),
          1,
          1,
          start_code<Real>,
          near_one_code<Real>,
          near_one_code<Real>,
          [](std::uint64_t x, std::uint64_t, std::uint64_t) { return code_of(std::sqrt(real_of<Real>(x))); },
          error};
}

constexpr double kTwoUlp = 0x1p-22, kRootError = 0x1p-23;
constexpr Operation kOperations[] = {
    fma_of_pairs<FormatId::fp16>("fma.rn.f16x2"),
    fma_of_pairs<FormatId::bf16>("fma.rn.bf16x2"),
    fma_of<float>("fma.rn.f32"),
    fma_of<double>("fma.rn.f64"),
    {"mad.lo.s32", 32, 1, 2, [](int lane, int chain) { return static_cast<std::uint64_t>(lane + 1000 * chain + 1); },
     [](int lane) { return static_cast<std::uint64_t>(2 * lane + 3); },
     [](int lane) { return static_cast<std::uint64_t>(lane + 7); },
     [](std::uint64_t x, std::uint64_t a, std::uint64_t b) { return (x * a + b) & 0xffffffff; }},
    division_of<float>("div.rn.f32"),
    division_of<float>("div.approx.f32", kTwoUlp),
    root_of<float>("sqrt.rn.f32"),
    root_of<float>("sqrt.approx.f32", kRootError),
    division_of<double>("div.rn.f64"),
    root_of<double>("sqrt.rn.f64"),
};

std::uint64_t end_of(const Operation& op, int lane, int chain) {
  std::uint64_t x = op.start(lane, chain);
  for (unsigned s = 0; s < kLaneSteps; ++s) x = op.step(x, op.a(lane), op.b(lane));
  return x;
}

class IncoreMeasurement final : public Measurement {
 public:
  std::string name() const override { return "incore"; }
  std::string meaning() const override {
    return "plain arithmetic: latency and reciprocal throughput over parallelism and warps";
  }
  const std::vector<Axis>& axes() const override { return lane_axes(); }
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    for (const Operation& op : kOperations) {
      if (tcnum::arch(arch).name.starts_with("sm_")) names.emplace_back(op.ptx);
    }
    return names;
  }

  void measure(TimingDevice& device, ArchId arch, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    for (const std::string& subject : subjects) {
      const Operation& op = *std::ranges::find_if(kOperations, [&](const Operation& o) { return o.ptx == subject; });
      Record record{name(), subject, {}, {}, {}, "", ""};
      if (settings.has(record)) continue;
      if (!settings.go_on(subject)) return;
      if (device.most_warps("incore." + subject) == 0) {
        record.waived = "this build has no timing kernel for it";
      } else {
        measure_into(record, [&] { measure_one(device, arch, op, selection, record); });
      }
      add(std::move(record));
    }
  }

 private:
  static void measure_one(TimingDevice& device, ArchId arch, const Operation& op, const Selection& selection,
                          Record& record) {
    LaneTimer timer(device, {op.ptx, std::string("incore.") + op.ptx, op.bits, op.start, op.a, op.b,
                             [&](int lane, int chain) { return end_of(op, lane, chain); }, op.error});
    const LanePoint best = sweep_lanes(timer, selection, record);
    const double results_per_clock = kLanes * op.results / best.interval_cycles;
    record.set("interval_cycles", best.interval_cycles);
    record.set("results_per_clock", results_per_clock);
    record.set("flops_per_clock", results_per_clock * op.flops);
    if (const auto peak = arithmetic_per_clock(arch, op.ptx)) {
      record.set("percent_of_peak", results_per_clock / *peak * 100);
    }
    if (const auto clock = device.facts().max_sm_clock_mhz) {
      record.set("tera_ops_at_max_clock", results_per_clock * op.flops * device.facts().sms * *clock * 1e-6);
    }
    record.set("checked", op.error == 0 ? std::string("every number against the CPU's arithmetic")
                                        : fmt::format("every number within {:.2g} a step", op.error));
  }
};

}  // namespace

const Measurement& incore_measurement() {
  static const IncoreMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
