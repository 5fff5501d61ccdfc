// The name of the evaluator that takes a datapath.
#pragma once

#include <string_view>

#include "tcnum/emulator.hpp"

namespace tcnum {

/// Of several that share it, the first; empty: none does.
inline std::string_view evaluator_of(const Datapath& datapath, Processor processor) {
  for (const EvaluatorAnswer& answer : evaluators_of(datapath)) {
    if (answer.processor == processor && answer.nodes > 0) return answer.name;
  }
  return "";
}

}  // namespace tcnum
