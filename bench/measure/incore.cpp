// Plain arithmetic: latency and reciprocal throughput over instruction-level parallelism and warps.
#include <fmt/format.h>

#include <bit>
#include <cmath>

#include "lane_sweep.hpp"
#include "measurements.hpp"
#include "peaks.hpp"
#include "tcnum/format.hpp"

namespace tcnum::bench {
namespace {

float as_float(std::uint64_t code) { return std::bit_cast<float>(static_cast<std::uint32_t>(code)); }
double as_double(std::uint64_t code) { return std::bit_cast<double>(code); }
std::uint64_t code_of(float x) { return std::bit_cast<std::uint32_t>(x); }
std::uint64_t code_of(double x) { return std::bit_cast<std::uint64_t>(x); }

/// A small positive number of a lane, as a code.
std::uint64_t number(FormatId id, double value) {
  constexpr int kBits = 40;
  return encode(format(id), false, static_cast<uint128>(std::ldexp(value, kBits)), -kBits, false,
                Rounding::nearest_even);
}
std::uint64_t pair(FormatId id, double value) { return number(id, value) | number(id, value * 1.25) << 16; }

/// The number that a code stands for.
double real(const Format& f, std::uint64_t code) {
  const Decoded d = decode(f, code);
  return std::ldexp(static_cast<double>(d.significand), d.exponent - f.fraction_bits);
}
/// x·a + b, rounded once, of both halves of a register. A double holds the sum, as all are positive and near 1.
std::uint64_t fma_pair(FormatId id, std::uint64_t x, std::uint64_t a, std::uint64_t b) {
  const Format& f = format(id);
  const auto half = [&](int at) {
    const auto of = [&](std::uint64_t word) { return real(f, word >> at & 0xffff); };
    return number(id, of(x) * of(a) + of(b));
  };
  return half(0) | half(16) << 16;
}

/// One row an operation. Operands are functions of the lane and the chain such that all numbers stay within a few
/// powers of two: multiplications by less than one, plus something; quotients that go back and forth.
struct Operation {
  const char* name;  ///< its PTX
  int bits;          ///< of a register
  int results;       ///< of a register
  double flops;      ///< of a result
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
constexpr Operation fma_of_pairs(const char* name) {
  return {name,
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
/// kStep(x, a, b) is the operation.
template <class Real, auto kStep>
constexpr Operation of_reals(const char* name, double flops, std::uint64_t (*a)(int lane), double error = 0) {
  return {name,
          8 * sizeof(Real),
          1,
          flops,
          start_code<Real>,
          a,
          near_one_code<Real>,
          [](std::uint64_t x, std::uint64_t y, std::uint64_t z) {
            return code_of(kStep(real_of<Real>(x), real_of<Real>(y), real_of<Real>(z)));
          },
          error};
}
constexpr auto kFma = [](auto x, auto a, auto b) { return std::fma(x, a, b); };
constexpr auto kDivide = [](auto x, auto a, auto) { return a / x; };
constexpr auto kRoot = [](auto x, auto, auto) { return std::sqrt(x); };

constexpr double kTwoUlp = 0x1p-22, kRootError = 0x1p-23;
constexpr Operation kOperations[] = {
    fma_of_pairs<FormatId::fp16>("fma.rn.f16x2"),
    fma_of_pairs<FormatId::bf16>("fma.rn.bf16x2"),
    of_reals<float, kFma>("fma.rn.f32", 2, fraction_code<float>),
    of_reals<double, kFma>("fma.rn.f64", 2, fraction_code<double>),
    {"mad.lo.s32", 32, 1, 2, [](int lane, int chain) { return static_cast<std::uint64_t>(lane + 1000 * chain + 1); },
     [](int lane) { return static_cast<std::uint64_t>(2 * lane + 3); },
     [](int lane) { return static_cast<std::uint64_t>(lane + 7); },
     [](std::uint64_t x, std::uint64_t a, std::uint64_t b) { return (x * a + b) & 0xffffffff; }},
    of_reals<float, kDivide>("div.rn.f32", 1, near_one_code<float>),
    of_reals<float, kDivide>("div.approx.f32", 1, near_one_code<float>, kTwoUlp),
    of_reals<float, kRoot>("sqrt.rn.f32", 1, near_one_code<float>),
    of_reals<float, kRoot>("sqrt.approx.f32", 1, near_one_code<float>, kRootError),
    of_reals<double, kDivide>("div.rn.f64", 1, near_one_code<double>),
    of_reals<double, kRoot>("sqrt.rn.f64", 1, near_one_code<double>),
};

std::uint64_t end_of(const Operation& op, int lane, int chain) {
  std::uint64_t x = op.start(lane, chain);
  for (unsigned s = 0; s < kLaneSteps; ++s) x = op.step(x, op.a(lane), op.b(lane));
  return x;
}

void measure_operation(const Row& row) {
  const Operation& op = named(kOperations, row.record.subject);
  LaneTimer timer(row.device, {op.name, std::string("incore.") + op.name, op.bits, op.start, op.a, op.b,
                               [&](int lane, int chain) { return end_of(op, lane, chain); }, op.error});
  const LanePoint best = sweep_lanes(timer, row);
  Record& record = row.record;
  const double results_per_clock = kLanes * op.results / best.interval_cycles;
  record.set("interval_cycles", best.interval_cycles);
  record.set("results_per_clock", results_per_clock);
  record.set("flops_per_clock", results_per_clock * op.flops);
  if (const auto peak = arithmetic_per_clock(row.arch, op.name)) {
    record.set("percent_of_peak", results_per_clock / *peak * 100);
  }
  const TimingFacts& facts = row.device.facts();
  if (facts.max_sm_clock_mhz) {
    record.set("tera_ops_at_max_clock", results_per_clock * op.flops * facts.sms * *facts.max_sm_clock_mhz * 1e-6);
  }
  record.set("checked", op.error == 0 ? std::string("every number against the CPU's arithmetic")
                                      : fmt::format("every number within {:.2g} a step", op.error));
}

}  // namespace

std::vector<Measurement> arithmetic_measurements() {
  return {{.name = "incore",
           .meaning = "plain arithmetic: latency and reciprocal throughput over parallelism and warps",
           .axes = lane_axes(),
           .subjects = of_nvidia(names_in(kOperations)),
           .measure_row = measure_operation}};
}

}  // namespace tcnum::bench
