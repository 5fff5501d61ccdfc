#include "linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <utility>

#include "gemm.hpp"

namespace tcnum::bench {
namespace {

constexpr double kPercent = 100;

/// 10^12 operations a second, of so many microseconds.
double tera_ops(const LinearShape& s, double microseconds) {
  return 2e-6 * static_cast<double>(s.tokens) * static_cast<double>(s.inputs) * static_cast<double>(s.outputs) /
         microseconds;
}

double sum_of(const std::array<double, kLinearSteps>& steps) {
  double sum = 0;
  for (const double step : steps) sum += step;
  return sum;
}
double product_of(const LinearTiming& timing) {
  return timing.step_microseconds[static_cast<std::size_t>(LinearStep::multiply)];
}

void put_checked(Record& record, std::size_t checked, std::size_t equal) {
  record.set("checked_elements", static_cast<std::int64_t>(checked));
  record.set("equal_percent", static_cast<double>(equal) / static_cast<double>(checked) * kPercent);
}

/// What rows of a format have in common, done with the first of them: the codes are loaded, and every code was cast. A
/// wrong cast is an error of all.
struct Prepared {
  std::string subject, wrong;
};

const LinearFormat& prepared_format(const Row& row) {
  const std::string_view name = std::string_view(row.record.subject).substr(row.record.measurement.size() + 1);
  const LinearFormat& f =
      *std::ranges::find(kLinearFormats, name, [](const LinearFormat& each) { return format(each.product).name; });
  auto& prepared = row.shared<Prepared>();
  if (prepared.subject != row.record.subject) {
    prepared = {row.record.subject, ""};
    if (f.cast()) {
      row.device.load_codes(f.loaded, every_bf16());
      try {
        check_every_cast(row.device, row.settings);
      } catch (const WrongResult& wrong) {
        prepared.wrong = wrong.what();
      }
    }
    row.device.load_codes(f.loaded, gemm_codes(f.loaded, row.settings.seed));
  }
  if (!prepared.wrong.empty()) throw WrongResult(prepared.wrong);
  return f;
}

void measure_square(const Row& row) {
  const LinearFormat& f = prepared_format(row);
  const std::size_t size = row.number("N");
  const LinearShape shape{size, size, size};
  const LinearTiming timing = time_linear(row.device, f, shape, true, row.settings);
  const double steps = sum_of(timing.step_microseconds);
  Record& record = row.record;
  record.set("layer_us", timing.microseconds);
  record.set("spread_percent", timing.spread_percent);
  record.set("steps_us", steps);
  for (const StepName& each : kStepNames) {
    const double us = timing.step_microseconds[static_cast<std::size_t>(each.step)];
    if (us == 0) continue;
    record.set(fmt::format("{}_us", each.key), us);
    record.set(fmt::format("{}_percent", each.key), us / steps * kPercent);
  }
  record.set("tera_ops", tera_ops(shape, timing.microseconds));
  record.set("product_tera_ops", tera_ops(shape, product_of(timing)));
  if (f.cast()) {
    constexpr double kCastBytes = 3;  // of an element: bf16 is read and fp8 written
    const double elements = static_cast<double>(size) * static_cast<double>(size);
    record.set("cast_giga_bytes_per_second", kCastBytes * 1e-3 * elements / timing.step_microseconds[0]);
    for (const auto& [key, number] :
         {std::pair("input", &CastNumbers::input), std::pair("weight", &CastNumbers::weight),
          std::pair("output", &CastNumbers::output)}) {
      record.set(fmt::format("{}_amax", key), double{timing.amax.*number});
      record.set(fmt::format("{}_scale", key), double{timing.scales.*number});
    }
  }
  put_checked(record, timing.checked, timing.equal);
  record.set("algorithm", timing.algorithm);
}

/// Batch 4 of sequences of 512.
constexpr std::size_t kTokens = 4 * 512;

void measure_transformer(const Row& row) {
  const LinearFormat& f = prepared_format(row);
  const std::size_t hidden = row.number("hidden");
  std::map<std::string_view, double> times;
  double all = 0, products = 0, steps = 0, spread = 0, operations = 0;
  std::size_t checked = 0, equal = 0;
  const std::vector<TransformerPart> parts = transformer_parts(hidden);
  for (const TransformerPart& part : parts) {
    if (!row.go_on(fmt::format("hidden={} {}", hidden, part.text))) throw UnavailableError("interrupted");
    // What follows takes bf16: attention, sums and activation functions.
    const LinearTiming timing = time_linear(row.device, f, part.shape, false, row.settings);
    times[part.key] = timing.microseconds;
    all += timing.microseconds;
    steps += sum_of(timing.step_microseconds);
    products += product_of(timing);
    operations += tera_ops(part.shape, 1);
    spread = std::max(spread, timing.spread_percent);
    checked += timing.checked;
    equal += timing.equal;
  }
  Record& record = row.record;
  record.set("inner", static_cast<std::int64_t>(inner_size(hidden)));
  record.set("tokens", static_cast<std::int64_t>(kTokens));
  record.set("layer_us", all);
  for (const TransformerPart& part : parts) {
    record.set(fmt::format("{}_us", part.key), times[part.key]);
    record.set(fmt::format("{}_percent", part.key), times[part.key] / all * kPercent);
  }
  record.set("product_us", products);
  if (f.cast()) record.set("casts_percent", (steps - products) / steps * kPercent);
  record.set("tera_ops", operations / all);
  record.set("product_tera_ops", operations / products);
  record.set("spread_percent", spread);
  put_checked(record, checked, equal);
}

Measurement measurement_of_layers(const std::string& name, std::string meaning, Axis size,
                                  void (*measure)(const Row& row)) {
  return {.name = name,
          .meaning = std::move(meaning),
          .axes = {std::move(size)},
          .subjects =
              [name](ArchId arch) {
                std::vector<std::string> subjects;
                if (arch != ArchId::sm_90) return subjects;
                for (const LinearFormat& f : kLinearFormats) {
                  subjects.push_back(fmt::format("{}.{}", name, format(f.product).name));
                }
                return subjects;
              },
          .measure_row = measure};
}

}  // namespace

std::size_t inner_size(std::size_t hidden) {
  // Touvron et al., LLaMA: two thirds of 4 · hidden; its code rounds up to a multiple of 256.
  constexpr std::size_t kMultiple = 256;
  return (hidden * 4 * 2 / 3 + kMultiple - 1) / kMultiple * kMultiple;
}

std::vector<TransformerPart> transformer_parts(std::size_t hidden) {
  const std::size_t inner = inner_size(hidden);
  return {{"qkv", "queries, keys and values", {kTokens, hidden, 3 * hidden}},
          {"projection", "projection", {kTokens, hidden, hidden}},
          {"up", "gate and up", {kTokens, hidden, 2 * inner}},
          {"down", "down", {kTokens, inner, hidden}}};
}

Measurement linear_measurement() {
  return measurement_of_layers(
      "linear",
      "a linear layer by cuBLASLt, N tokens and N features in and out; of fp8 with the casts of Transformer Engine",
      {"N", "tokens, and features in and out", doubled(1024, 16384)}, measure_square);
}

Measurement transformer_measurement() {
  return measurement_of_layers(
      "transformer",
      fmt::format("the linear layers of a transformer's layer of Llama's shape, {} tokens: time and shares; of fp8 "
                  "with casts",
                  kTokens),
      {"hidden", "hidden size", numbers({1024, 2048, 4096, 5120, 8192})}, measure_transformer);
}

}  // namespace tcnum::bench
