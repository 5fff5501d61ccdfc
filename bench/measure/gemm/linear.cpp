#include "linear.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "gemm.hpp"
#include "tcnum/error.hpp"

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

/// A measurement with a record for each format and size.
class LinearRows : public Measurement {
 public:
  std::vector<std::string> subjects(ArchId arch) const override {
    std::vector<std::string> names;
    if (arch != ArchId::sm_90) return names;
    for (const LinearFormat& f : kLinearFormats) names.push_back(subject_of(f));
    return names;
  }

  void measure(TimingDevice& device, ArchId, const std::vector<std::string>& subjects, const Selection& selection,
               const Settings& settings, const std::function<void(Record)>& add) const override {
    const std::string& size_name = axes().front().name;
    LinearDevice* const layers = device.linear_layers();
    for (const std::string& subject : subjects) {
      const LinearFormat& f =
          *std::ranges::find(kLinearFormats, subject, [&](const LinearFormat& each) { return subject_of(each); });
      Preparation done;
      for (const std::string& size : selection.at(size_name)) {
        const std::int64_t number = std::stoll(size);
        Record record{name(), subject, {{size_name, number}}, {}, {}, "", ""};
        if (settings.has(record)) continue;
        if (!settings.go_on(fmt::format("{} {}={}", subject, size_name, size))) return;
        if (layers == nullptr) {
          record.waived = "this device or build does not time linear layers";
        } else {
          measure_into(record, [&] {
            try {
              prepare(*layers, f, settings, done);
              measure_size(*layers, f, static_cast<std::size_t>(number), settings, record);
            } catch (const UnavailableError& error) {
              record.values.clear();
              record.waived = error.what();
            }
          });
        }
        add(std::move(record));
      }
    }
  }

 protected:
  virtual void measure_size(LinearDevice& device, const LinearFormat& f, std::size_t size, const Settings& settings,
                            Record& record) const = 0;

 private:
  /// What a format's rows have in common: done with the first of them; a wrong cast is an error of all.
  struct Preparation {
    bool loaded = false;
    std::string wrong;
  };
  static void prepare(LinearDevice& device, const LinearFormat& f, const Settings& settings, Preparation& done) {
    if (!done.loaded) {
      if (f.cast()) {
        device.load(f.loaded, every_bf16());
        try {
          check_every_cast(device, settings);
        } catch (const WrongResult& wrong) {
          done.wrong = wrong.what();
        }
      }
      device.load(f.loaded, gemm_codes(f.loaded, settings.seed));
      done.loaded = true;
    }
    if (!done.wrong.empty()) throw WrongResult(done.wrong);
  }

  std::string subject_of(const LinearFormat& f) const { return fmt::format("{}.{}", name(), format(f.product).name); }
};

class LinearMeasurement final : public LinearRows {
 public:
  std::string name() const override { return "linear"; }
  std::string meaning() const override {
    return "a linear layer by cuBLASLt, N tokens and N features in and out; of fp8 with the casts of Transformer "
           "Engine";
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> sizes = {"1024", "2048", "4096", "8192", "16384"};
    static const std::vector<Axis> axes = {{"N", "tokens, and features in and out", sizes, sizes}};
    return axes;
  }

 private:
  void measure_size(LinearDevice& device, const LinearFormat& f, std::size_t size, const Settings& settings,
                    Record& record) const override {
    const LinearShape shape{size, size, size};
    const LinearTiming timing = time_linear(device, f, shape, true, settings);
    const double steps = sum_of(timing.step_microseconds);
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
};

/// Batch 4 of sequences of 512.
constexpr std::size_t kTokens = 4 * 512;

class TransformerMeasurement final : public LinearRows {
 public:
  std::string name() const override { return "transformer"; }
  std::string meaning() const override {
    return fmt::format(
        "the linear layers of a transformer's layer of Llama's shape, {} tokens: time and shares; of fp8 with casts",
        kTokens);
  }
  const std::vector<Axis>& axes() const override {
    static const std::vector<std::string> sizes = {"1024", "2048", "4096", "5120", "8192"};
    static const std::vector<Axis> axes = {{"hidden", "hidden size", sizes, sizes}};
    return axes;
  }

 private:
  void measure_size(LinearDevice& device, const LinearFormat& f, std::size_t size, const Settings& settings,
                    Record& record) const override {
    std::map<std::string_view, double> times;
    double all = 0, products = 0, steps = 0, spread = 0, operations = 0;
    std::size_t checked = 0, equal = 0;
    const std::vector<TransformerPart> parts = transformer_parts(size);
    for (const TransformerPart& part : parts) {
      if (!settings.go_on(fmt::format("{} hidden={} {}", record.subject, size, part.text))) {
        record.waived = "interrupted";
        record.values.clear();
        return;
      }
      // What follows takes bf16: attention, sums and activation functions.
      const LinearTiming timing = time_linear(device, f, part.shape, false, settings);
      times[part.key] = timing.microseconds;
      all += timing.microseconds;
      steps += sum_of(timing.step_microseconds);
      products += product_of(timing);
      operations += tera_ops(part.shape, 1);
      spread = std::max(spread, timing.spread_percent);
      checked += timing.checked;
      equal += timing.equal;
    }
    record.set("inner", static_cast<std::int64_t>(inner_size(size)));
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
};

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

const Measurement& linear_measurement() {
  static const LinearMeasurement measurement;
  return measurement;
}
const Measurement& transformer_measurement() {
  static const TransformerMeasurement measurement;
  return measurement;
}

}  // namespace tcnum::bench
