#include "harnesses.hpp"

#include <array>

namespace tcnum::fuzz {

std::span<const Harness> harnesses() {
  static constexpr auto kHarnesses = std::to_array<Harness>({
      {"vectors", read_a_vector_file, vector_files, false},
      {"batches", read_a_batch, batches, false},
      {"matrices", read_a_matrix_file, matrix_files, false},
      {"arrays", read_an_array, arrays, false},
      {"datapaths", read_a_datapath, datapath_files, true},
      {"campaigns", read_campaign_records, campaign_files, true},
      {"checkpoints", read_a_checkpoint, checkpoints, true},
      {"benchmarks", read_a_benchmark, benchmark_files, true},
      {"problems", read_a_problem, problems, false},
      {"plans", read_a_plan, plan_files, true},
      {"names", read_names, names, false},
      {"texts", read_a_text, texts, false},
  });
  return kHarnesses;
}

}  // namespace tcnum::fuzz
