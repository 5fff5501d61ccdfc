// What the measurements of tensor-core instructions share.
#pragma once

#include <string>

#include "measurement.hpp"
#include "operands.hpp"
#include "steady.hpp"

namespace tcnum::bench {

/// The datapaths to check a step of an instruction's chains with (step_of()). Throws UnavailableError if the catalogue
/// lacks one.
std::vector<Datapath> datapaths_of(ArchId arch, const Instruction& instruction);

/// Whether there are timing kernels for it: for all but the mma of Volta's shape, which no tensor core computes on
/// later architectures.
bool is_timed(const Instruction& instruction);

/// N of a wgmma. Every family has the smallest.
inline constexpr int kSmallestN = 8, kLargestN = 256;

/// wgmma of every N have one name, a family's: "wgmma.m64nNk16.f32.f16.f16".
std::string family_of(const Instruction& instruction);
/// That of a family with that N; null: there is none.
const Instruction* find_in_family(std::string_view family, int n);
/// What a row is of; null: no instruction of the tensor cores.
const Instruction* instruction_of(const Record& record);

/// Takes the results of the last launch and compares them. Throws WrongResult with how many are wrong.
void check_results(TimingDevice& device, const Instruction& instruction, const TimedWork& work, const Codes& expected);

/// Rates and their share of the peaks, from interval_cycles and clock_mhz; TFLOP/s per watt; the model and its
/// residual.
void put_rates(Record& record, const Instruction& instruction, ArchId arch, const TimingFacts& facts,
               bool a_in_registers);

/// The model and its residual, of every row of a tensor-core instruction: records may be older than the model. Throws
/// InputError naming the file, and a row that is of none.
void put_models(Document& document, const std::string& file);

}  // namespace tcnum::bench
