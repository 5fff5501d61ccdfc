#include "choice.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <vector>

#include "layout.hpp"
#include "short_datapath.hpp"

namespace tcnum {

std::string marked_name(std::string_view instruction, std::string_view lowered_to) {
  return lowered_to.empty() ? std::string(instruction) : fmt::format("{} (lowered to {})", instruction, lowered_to);
}

std::string choice_text(ArchId id, const Instruction& chosen) {
  const auto name = [](const CatalogueEntry& entry) {
    return marked_name(entry.instruction->name(), entry.lowered_to);
  };
  const std::vector<DatapathClass> classes = classes_like(id, chosen);
  const std::string_view library = library_of(id, chosen);
  std::string text = fmt::format("{} on {}: {}", format(chosen.a).name, arch(id).name,
                                 classes.empty() ? chosen.name() : name(classes.front().front()));
  if (!library.empty()) text += fmt::format(", of which {} makes large products", library);
  std::vector<std::string> others;
  for (std::size_t i = 1; i < classes.size(); ++i) {
    const CatalogueEntry& entry = classes[i].front();
    others.push_back(fmt::format("{} [{}]", name(entry), short_text(entry.datapath)));
  }
  if (!others.empty()) text += fmt::format(". Others whose datapath differs: {}", fmt::join(others, ", "));
  return wrapped(text, 0) + "\n";
}

}  // namespace tcnum
