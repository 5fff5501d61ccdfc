#include "model.hpp"

#include <algorithm>

#include "peaks.hpp"

namespace tcnum::bench {

double Model::cycles() const { return std::max({tensor_cycles, shared_cycles, register_cycles}); }

const char* Model::limit() const {
  if (tensor_cycles >= std::max(shared_cycles, register_cycles)) return "tensor cores";
  return shared_cycles >= register_cycles ? "shared memory" : "registers";
}

std::optional<Model> model_of(const Instruction& in, ArchId arch, bool a_in_registers) {
  const auto peak = peak_operations_per_clock(arch, in.a, in.sparse());
  if (!peak) return std::nullopt;
  Model model{operations(in) / *peak, 0, 0};
  if (in.kind != InstructionKind::wgmma) return model;
  const auto feed = feeds(arch);
  if (!feed) return std::nullopt;
  const double a_bytes = in.m * in.products() * format(in.a).storage_bits / 8.0;
  const double b_bytes = in.n * in.k * format(in.b).storage_bits / 8.0;
  model.shared_cycles = (b_bytes + (a_in_registers ? 0 : a_bytes)) / feed->shared_bytes_per_clock;
  if (a_in_registers) {
    model.register_cycles = in.sparse() ? feed->least_sparse_register_cycles : feed->least_register_cycles;
  }
  return model;
}

}  // namespace tcnum::bench
