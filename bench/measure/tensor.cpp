#include "tensor.hpp"

#include <fmt/format.h>

#include "io/printable.hpp"
#include "peaks.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"

namespace tcnum::bench {

namespace {

/// In the name of a family, where N stands.
constexpr std::string_view kAnyN = "nNk";

void put_model(Record& record, const Instruction& instruction, ArchId arch, bool a_in_registers) {
  const auto cycles = record.number("interval_cycles");
  const auto model = model_of(instruction, arch, a_in_registers);
  if (!cycles || !model) return;
  record.set("model_cycles", model->cycles());
  record.set("model_residual_percent", (*cycles / model->cycles() - 1) * 100);
}

}  // namespace

std::vector<Datapath> datapaths_of(ArchId arch, const Instruction& instruction) {
  std::vector<Datapath> datapaths;
  for (const Instruction* each : step_of(instruction)) {
    std::vector<CatalogueEntry> entries = catalogue(arch, *each);
    if (entries.empty()) throw UnavailableError("the catalogue has no datapath to check its results with");
    datapaths.push_back(std::move(entries.front().datapath));
  }
  return datapaths;
}

bool is_timed(const Instruction& instruction) { return !instruction.is_volta(); }

std::string family_of(const Instruction& instruction) {
  std::string name = instruction.name();
  const std::string n = fmt::format("n{}k", instruction.n);
  return name.replace(name.find(n), n.size(), kAnyN);
}

const Instruction* find_in_family(std::string_view family, int n) {
  std::string name(family);
  return find_instruction(name.replace(name.find(kAnyN), kAnyN.size(), fmt::format("n{}k", n)));
}

const Instruction* instruction_of(const Record& record) {
  if (record.subject.find(kAnyN) == std::string::npos) return find_instruction(record.subject);
  const Value* const value = record.find("N");
  const std::int64_t* const n = value == nullptr ? nullptr : std::get_if<std::int64_t>(value);
  return n != nullptr && *n > 0 && *n <= kLargestN ? find_in_family(record.subject, static_cast<int>(*n)) : nullptr;
}

void check_results(TimingDevice& device, const Instruction& instruction, const TimedWork& work, const Codes& expected) {
  const std::size_t wrong = count_wrong(instruction, device.result(), work.warps, work.chains, expected);
  if (wrong == 0) return;
  throw WrongResult(fmt::format(
      "{}: {} results of a timed kernel ({} warps, {} chains, {} steps, A from {}) are not what the emulator says",
      instruction.name(), wrong, work.warps, work.chains, work.steps,
      work.a_in_registers ? "registers" : "shared memory"));
}

void put_rates(Record& record, const Instruction& instruction, ArchId arch, const TimingFacts& facts,
               bool a_in_registers) {
  const auto cycles = record.number("interval_cycles");
  if (!cycles) return;
  if (const auto peak = peak_operations_per_clock(arch, instruction.a, instruction.sparse())) {
    record.set("percent_of_peak", operations(instruction) / *cycles / *peak * 100);
  }
  if (const auto clock = record.number("clock_mhz")) {
    const double tera = operations(instruction) / *cycles * *clock * facts.sms * 1e-6;
    record.set("tera_ops", tera);
    if (const auto sheet = datasheet_peak(facts.device, instruction.a, instruction.sparse())) {
      record.set("percent_of_datasheet", tera / *sheet * 100);
    }
    if (const auto watts = record.number("power_watts")) record.set("tera_ops_per_watt", tera / *watts);
  }
  put_model(record, instruction, arch, a_in_registers);
}

namespace {

/// That of a row which reports may look at: of wgmma a family's, with its N. Throws InputError naming the row, which
/// stands at `where`.
const Instruction& checked_instruction(const Record& record, const std::string& where) {
  const Instruction* const instruction = instruction_of(record);
  const bool of_wgmma = record.measurement.ends_with("wgmma");
  const auto is_family = [&] {
    return instruction->kind == InstructionKind::wgmma && record.subject.find(kAnyN) != std::string::npos &&
           find_in_family(record.subject, kSmallestN) != nullptr;
  };
  if (instruction != nullptr && (!of_wgmma || is_family())) return *instruction;
  throw InputError(fmt::format("{}.subject: {}: expected {} (N {})", where, in_quotes(record.subject),
                               of_wgmma ? "a family, such as wgmma.m64nNk16.f32.f16.f16, with its N in a row of wgmma"
                                        : "an instruction that `tcnum list` shows",
                               in_quotes(record.text("N"))));
}

}  // namespace

void put_models(Document& document, const std::string& file) {
  const auto arch = find_arch(document.facts.arch);
  for (std::size_t i = 0; i < document.records.size(); ++i) {
    Record& record = document.records[i];
    const bool of_tensor_cores = record.measurement.ends_with("mma");  // mma, wmma, wgmma, integer wgmma
    if (record.values.empty() || !of_tensor_cores) continue;
    const Instruction& instruction = checked_instruction(record, fmt::format("{}.records[{}]", file, i));
    if (arch) put_model(record, instruction, *arch, record.text("source") != "ss");
  }
}

}  // namespace tcnum::bench
