#include "operand_formats.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <tuple>

#include "tcnum/catalogue.hpp"
#include "tcnum/error.hpp"
#include "tcnum/tcnum.hpp"

namespace tcnum {
namespace {

constexpr std::array kFp8Formats = {FormatId::fp8e4m3, FormatId::fp8e5m2, FormatId::fp8e4m3fnuz, FormatId::fp8e5m2fnuz};
constexpr std::array kFp6Formats = {FormatId::fp6e2m3, FormatId::fp6e3m2};
constexpr std::array kFp4Formats = {FormatId::fp4e2m1};
constexpr std::span<const FormatId> kOcpFp8Formats = std::span(kFp8Formats).first(2);

constexpr std::array kMxKinds = {ScaleKind::mxf8f6f4, ScaleKind::amd};
constexpr std::array kMxfp4Kinds = {ScaleKind::mxf4, ScaleKind::mxf8f6f4, ScaleKind::amd};
constexpr std::array kNvfp4Kinds = {ScaleKind::mxf4nvf4};
constexpr ScaleRule kMxScales{FormatId::ue8m0, 32}, kNvScales{FormatId::ue4m3, 16};

// Sources: OCP Microscaling Formats 1.0, "Concrete MX-compliant formats"; PTX ISA, "Block Scaling for mma.sync".
constexpr std::array kFormatNames = std::to_array<FormatName>({
    {"fp8", kFp8Formats},
    {"fp6", kFp6Formats},
    {"fp4", kFp4Formats},
    {"mxfp8", kOcpFp8Formats, kMxScales, kMxKinds},
    {"mxfp6", kFp6Formats, kMxScales, kMxKinds},
    {"mxfp4", kFp4Formats, kMxScales, kMxfp4Kinds},
    {"nvfp4", kFp4Formats, kNvScales, kNvfp4Kinds},
});

bool has_format(std::span<const FormatId> formats, FormatId id) {
  return std::ranges::find(formats, id) != formats.end();
}

bool are_taken(const Operands& operands) {
  return std::ranges::any_of(instructions_of(operands.arch),
                             [&](const Instruction* each) { return operands.are_of(*each); });
}

/// Leaves the formats that instructions take.
void keep_present(Operands& operands) {
  std::erase_if(operands.formats, [&](FormatId id) {
    Operands one = operands;
    one.formats = {id};
    return !are_taken(one);
  });
}

/// Of scaled instructions with both operands of the format, the one that instruction_for() would take; null if none has
/// a datapath.
const Instruction* scaled_for(const Operands& operands, FormatId id) {
  const auto rank = [&](const Instruction& in) {
    return std::tuple(!library_of(operands.arch, in).empty(), format(in.d).storage_bits, in.k);
  };
  const Instruction* best = nullptr;
  for (const Instruction* in : instructions_of(operands)) {
    if (in->a != id || in->b != id || in->sparse() || catalogue(operands.arch, *in).empty()) continue;
    if (best == nullptr || rank(*in) > rank(*best)) best = in;
  }
  return best;
}

}  // namespace

std::span<const FormatName> format_names() { return kFormatNames; }

std::optional<ScaleRule> scales_of(const Instruction& in) {
  return in.scaled() ? std::optional(ScaleRule{in.scales.format, in.products_per_scale()}) : std::nullopt;
}

const FormatName* find_format_name(std::string_view text) {
  const auto found = std::ranges::find(kFormatNames, text, &FormatName::name);
  return found == kFormatNames.end() ? nullptr : &*found;
}

std::string meaning_of(const FormatName& name) {
  std::string text;
  for (std::size_t i = 0; i < name.formats.size(); ++i) {
    text += i == 0 ? "" : i + 1 == name.formats.size() ? " or " : ", ";
    text += format(name.formats[i]).name;
  }
  if (name.scales) {
    text +=
        fmt::format(" with a {} scale for each {} elements", format(name.scales->format).name, name.scales->block_k);
  }
  return text;
}

bool Operands::are_of(const Instruction& in) const {
  const bool a = has_format(formats, in.a), b = has_format(formats, in.b);
  return kind == ScaleKind::none ? a || b : a && b && in.scales.kind == kind && scales_of(in) == scales;
}

std::optional<Operands> find_operands(std::string_view text, ArchId arch) {
  Operands operands{arch, std::string(text), {}};
  if (const FormatName* const name = find_format_name(text)) {
    operands.formats.assign(name->formats.begin(), name->formats.end());
    operands.scales = name->scales.value_or(ScaleRule());
    for (const ScaleKind kind : name->kinds) {
      operands.kind = kind;
      if (are_taken(operands)) break;
    }
  } else if (const auto id = find_format(text)) {
    operands.formats = {*id};
    operands.name = format(*id).name;
  }
  keep_present(operands);
  return operands.formats.empty() ? std::nullopt : std::optional(std::move(operands));
}

std::vector<const Instruction*> instructions_of(const Operands& operands) {
  std::vector<const Instruction*> found = instructions_of(operands.arch);
  std::erase_if(found, [&](const Instruction* each) { return !operands.are_of(*each); });
  return found;
}

std::vector<const Instruction*> instructions_for(const Operands& operands) {
  const std::string_view name = arch(operands.arch).name;
  std::vector<const Instruction*> found;
  std::optional<InputError> none;
  for (const FormatId id : operands.formats) {
    if (operands.kind != ScaleKind::none) {
      if (const Instruction* const in = scaled_for(operands, id)) found.push_back(in);
      continue;
    }
    try {
      found.push_back(&instruction_for(name, id, id));
    } catch (const InputError& error) {
      none = error;
    }
  }
  if (!found.empty()) return found;
  if (none) throw *none;
  throw InputError(fmt::format(
      "{}: no datapath is known of its instructions for {}; expected an architecture of which one is (`tcnum "
      "list --known`), or a datapath of your own",
      name, operands.name));
}

}  // namespace tcnum
