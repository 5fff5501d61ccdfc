// What the measurements of tensor-core instructions share.
#pragma once

#include <string>

#include "measurement.hpp"
#include "operands.hpp"
#include "steady.hpp"

namespace tcnum::bench {

/// The datapath to check an instruction's results with; none: the catalogue has none.
std::optional<Datapath> datapath_of(ArchId arch, const Instruction& instruction);

/// Whether there are timing kernels for it: for all mma but those of Volta's shape, which no tensor core computes on
/// later architectures, and for dense floating-point wgmma.
bool is_timed(const Instruction& instruction);

Data parse_data(const std::string& text);

/// Takes the results of the last launch and compares them. Throws WrongResult with how many are wrong.
void check_results(TimingDevice& device, const Instruction& instruction, const TimedWork& work, const Codes& expected);

/// Rates and their share of the peaks, from interval_cycles and clock_mhz; TFLOP/s per watt; the model and its
/// residual.
void put_rates(Record& record, const Instruction& instruction, ArchId arch, const TimingFacts& facts,
               bool a_in_registers);

/// The model and its residual, of every row of a tensor-core instruction: records may be older than the model.
void put_models(Document& document);

/// mma and mma.sp.
const Measurement& mma_measurement();
/// wgmma.
const Measurement& wgmma_measurement();
/// Plain arithmetic.
const Measurement& incore_measurement();

}  // namespace tcnum::bench
