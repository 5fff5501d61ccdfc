// How well accounts are known to be right: what hardware was asked, by whom.
#include "standing.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace tcnum {
namespace {

using enum ArchId;

// tests/catalogue/published_test.cpp runs these files, and checks that they have so many answers.
// clang-format off
constexpr auto kPublished = std::to_array<PublishedAnswers>({
    {sm_70,  "mma.m8n8k4.f32.f16.f16.f32",    "V100",          5000},
    {sm_70,  "mma.m8n8k4.f16.f16.f16.f16",    "V100",          5000},
    {sm_80,  "mma.m16n8k8.f32.f16.f16.f32",   "A100",          5000},
    {sm_80,  "mma.m16n8k8.f16.f16.f16.f16",   "A100",          5000},
    {sm_80,  "mma.m16n8k8.f32.bf16.bf16.f32", "A100",          5000},
    {sm_80,  "mma.m16n8k4.f32.tf32.tf32.f32", "A100",          5000},
    {sm_89,  "mma.m16n8k8.f32.f16.f16.f32",   "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k8.f16.f16.f16.f16",   "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k8.f32.bf16.bf16.f32", "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k4.f32.tf32.tf32.f32", "RTX 1000 Ada",  5000},
    {sm_89,  "mma.m16n8k32.f32.e4m3.e4m3.f32", "RTX 1000 Ada", 5000},
    {sm_89,  "mma.m16n8k32.f32.e5m2.e5m2.f32", "RTX 1000 Ada", 5000},
    {sm_89,  "mma.m16n8k32.f16.e4m3.e4m3.f16", "RTX 1000 Ada", 5000},
    {sm_89,  "mma.m16n8k32.f16.e5m2.e5m2.f16", "RTX 1000 Ada", 5000},
    {sm_100, "mma.m16n8k32.f32.e5m2.e5m2.f32", "B200",         5000},
    {sm_100, "mma.m16n8k32.f16.e5m2.e5m2.f16", "B200",         5000},
});
// clang-format on

}  // namespace

std::string_view name(Standing standing) {
  constexpr std::array<std::string_view, 3> kNames = {"measured_here", "published_and_checked", "published_only"};
  return kNames[static_cast<std::size_t>(standing)];
}

std::string CatalogueEntry::standing_text() const {
  if (standing == Standing::measured) return "";
  if (!refuted_by.empty()) return fmt::format("refuted by {}", refuted_by);
  if (standing == Standing::published) return "published only";
  if (answers == 0)
    return fmt::format("published, and explains the answers recorded in vectors/{}", tcnum::arch(arch).name);
  return fmt::format("published, and explains {} published answers of the {}", answers, answered_by);
}

std::string CatalogueEntry::origin_and_standing() const {
  const std::string text = standing_text();
  return text.empty() ? origin : fmt::format("{}; {}", origin, text);
}

std::span<const PublishedAnswers> published_answers() { return kPublished; }

const PublishedAnswers* answers_of(ArchId arch, const Instruction& instruction) {
  const auto found = std::ranges::find_if(kPublished, [&, name = instruction.name()](const PublishedAnswers& each) {
    return each.arch == arch && each.instruction == name;
  });
  return found == kPublished.end() ? nullptr : &*found;
}

}  // namespace tcnum
