#include "sections.hpp"

#include <algorithm>
#include <array>

#include "bench/measure/section_parts.hpp"
#include "gemm.hpp"
#include "gemm_section.hpp"
#include "linear.hpp"
#include "linear_section.hpp"
#include "model_section.hpp"
#include "skinny.hpp"
#include "skinny_section.hpp"

namespace tcnum::bench {

bool is_of_products(const Record& record) {
  return std::ranges::any_of(std::array{&gemm_measurement(), &gemm_measurement(Calls::single), &skinny_measurement(),
                                        &linear_measurement(), &transformer_measurement()},
                             [&](const Measurement* m) { return is(record, m->name()); });
}

std::vector<Section> product_sections(const Document& document) {
  std::vector<Section> all;
  for (const auto& sections : {gemm_sections(document), model_sections(document),
                               std::vector<Section>{skinny_section(document)}, linear_sections(document)}) {
    all.insert(all.end(), sections.begin(), sections.end());
  }
  return all;
}

}  // namespace tcnum::bench
