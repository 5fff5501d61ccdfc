// The catalogue as rows: a row says what the instructions of one kind have in common; the space turns it into
// datapaths.
#include "tcnum/catalogue.hpp"

#include <algorithm>
#include <array>
#include <stdexcept>

#include <fmt/format.h>

#include "src/fit/space.hpp"

namespace tcnum {
namespace {

using enum ArchId;
using enum FormatId;

constexpr std::string_view kFittedOrigin = "fitted";
constexpr std::string_view kKhattak =
    "Khattak & Mikaitis, Accurate Models of NVIDIA Tensor Cores (doi 10.1145/3830409)";
constexpr std::string_view kHickmann =
    "Hickmann & Bradford, Experimental Analysis of Matrix Multiplication Functional Units (ARITH 2019)";
constexpr std::string_view kMmaSim = "Xie et al., MMA-Sim (arXiv 2511.10909)";

struct Formats {
  std::uint32_t bits = 0;
  constexpr Formats(std::initializer_list<FormatId> ids) {
    for (FormatId id : ids) bits |= 1u << static_cast<unsigned>(id);
  }
  constexpr bool contains(FormatId id) const { return (bits >> static_cast<unsigned>(id)) & 1u; }
};

/// All, if none is named.
struct Kinds {
  std::uint32_t bits = ~0u;
  constexpr Kinds() = default;
  constexpr Kinds(InstructionKind only) : Kinds{std::initializer_list{only}} {}
  constexpr Kinds(std::initializer_list<InstructionKind> kinds) : bits(0) {
    for (InstructionKind kind : kinds) bits |= 1u << static_cast<unsigned>(kind);
  }
  constexpr bool contains(InstructionKind kind) const { return (bits >> static_cast<unsigned>(kind)) & 1u; }
};
constexpr Kinds kMmaOrWgmma{InstructionKind::mma, InstructionKind::wgmma};

/// Whether a row speaks of mma of Volta's shape, of all others, or of both.
enum class VoltaShape : std::uint8_t { no, only, too };

/// Which instructions a row speaks of.
struct Match {
  ArchSet archs;
  Kinds kinds;
  Formats inputs;  ///< of a
  FormatId result;
  Modifier modifier = Modifier::none;
  VoltaShape volta = VoltaShape::no;
  std::optional<FormatId> c = {};  ///< if it is not the result's
};

/// A property and the text of its value; no text: nothing to set.
struct Setting {
  Property property{};
  std::string_view text;
};

struct Row {
  Match match;
  std::string_view account;
  std::string_view origin;
  Combination combination;
  int block_k;  ///< at most; 0: all of k in two interleaved halves
  std::string_view fraction_bits, output_rounding;
  /// Values of other properties where they are not the first of the space, by name and text.
  std::array<Setting, 3> others{};
};

constexpr int kOneBlock = 1024;  // block_k: more than any k
constexpr Combination kChain = Combination::chain;
constexpr Combination kChainThenC = Combination::chain_then_c;
using P = Property;

constexpr auto kRows = std::to_array<Row>({
    // --- sm_90, fitted to vectors/sm_90
    {{archs({sm_90}), {}, {bf16}, fp32},
     "fitted",
     kFittedOrigin,
     kChain,
     16,
     "25",
     "toward_zero",
     {{{P::zero_exponent, "-133"}, {P::underflow_sign, "positive"}, {P::overflow, "infinity"}}}},
    {{archs({sm_90}), kMmaOrWgmma, {tf32}, fp32},
     "fitted",
     kFittedOrigin,
     kChain,
     8,
     "25",
     "toward_zero",
     {{{P::zero_exponent, "-133"}, {P::underflow_sign, "positive"}, {P::overflow, "infinity"}}}},
    {{archs({sm_90}), InstructionKind::wmma, {tf32}, fp32},
     "fitted",
     kFittedOrigin,
     kChain,
     4,
     "25",
     "toward_zero",
     {{{P::zero_exponent, "-133"}, {P::underflow_sign, "positive"}, {P::overflow, "infinity"}}}},
    {{archs({sm_90}), {}, {fp16}, fp32}, "fitted", kFittedOrigin, kChain, 16, "25", "toward_zero", {}},
    {{archs({sm_90}), {}, {fp16}, fp16},
     "fitted",
     kFittedOrigin,
     kChain,
     16,
     "25",
     "nearest_even",
     {{{P::zero_exponent, "-21"}, {P::underflow_sign, "positive"}}}},
    {{archs({sm_90}), InstructionKind::wmma, {fp16}, fp32, Modifier::none, VoltaShape::no, fp16},
     "fitted",
     kFittedOrigin,
     kChain,
     16,
     "25",
     "toward_zero",
     {{{P::subnormal_exponent, "minimum, c's normalised"}}}},
    {{archs({sm_90}), InstructionKind::wmma, {fp16}, fp16, Modifier::none, VoltaShape::no, fp32},
     "fitted",
     kFittedOrigin,
     kChain,
     16,
     "25",
     "toward_zero to fp32, then nearest_even",
     {}},
    // What ptxas makes of Volta's shape: fp32 arithmetic, without a tensor core.
    {{archs({sm_90}), {}, {fp16}, fp32, Modifier::none, VoltaShape::only},
     "fitted",
     kFittedOrigin,
     kChainThenC,
     1,
     "exact",
     "nearest_even",
     {}},
    {{archs({sm_90}), {}, {fp16}, fp32, Modifier::none, VoltaShape::only, fp16},
     "fitted",
     kFittedOrigin,
     kChainThenC,
     1,
     "exact",
     "nearest_even",
     {}},
    {{archs({sm_90}), {}, {fp16}, fp16, Modifier::none, VoltaShape::only},
     "fitted",
     kFittedOrigin,
     Combination::adds,
     2,
     "exact",
     "toward_zero",
     {{{P::inner_result, "fp32, nearest_even"},
       {P::add_rounding, "nearest_even, through fp32"},
       {P::zero_sign, "ieee"}}}},
    {{archs({sm_90}), InstructionKind::wgmma, {fp8e4m3, fp8e5m2}, fp32},
     "fitted",
     kFittedOrigin,
     kChain,
     32,
     "13",
     "toward_zero",
     {{{P::output_fraction_bits, "fraction_bits"}}}},
    {{archs({sm_90}), InstructionKind::wgmma, {fp8e4m3, fp8e5m2}, fp16},
     "fitted",
     kFittedOrigin,
     kChain,
     32,
     "13",
     "nearest_even",
     {{{P::underflow_sign, "positive"}}}},
    {{archs({sm_90}), InstructionKind::mma, {fp8e4m3, fp8e5m2}, fp32},
     "fitted",
     kFittedOrigin,
     kChainThenC,
     0,
     "25",
     "toward_zero",
     {{{P::add_rounding, "nearest_even"}}}},
    {{archs({sm_90}), InstructionKind::mma, {fp8e4m3, fp8e5m2}, fp16},
     "fitted",
     kFittedOrigin,
     kChainThenC,
     0,
     "25",
     "nearest_even",
     {{{P::add_rounding, "nearest_even"}}}},
    {{archs({sm_90}), {}, {fp64}, fp64},
     "fitted",
     kFittedOrigin,
     kChain,
     1,
     "exact",
     "nearest_even",
     {{{P::zero_sign, "ieee"}, {P::nan, "0xfff8000000000000; a NaN operand's payload comes back, first of b c a"}}}},
    {{archs({sm_90}), {}, {fp64}, fp64, Modifier::toward_zero},
     "fitted",
     kFittedOrigin,
     kChain,
     1,
     "exact",
     "toward_zero",
     {{{P::zero_sign, "ieee"},
       {P::overflow, "max_finite"},
       {P::nan, "0xfff8000000000000; a NaN operand's payload comes back, first of b c a"}}}},
    {{archs({sm_90}), {}, {fp64}, fp64, Modifier::down},
     "fitted",
     kFittedOrigin,
     kChain,
     1,
     "exact",
     "down",
     {{{P::zero_sign, "ieee"},
       {P::overflow, "ieee"},
       {P::nan, "0xfff8000000000000; a NaN operand's payload comes back, first of b c a"}}}},
    {{archs({sm_90}), {}, {fp64}, fp64, Modifier::up},
     "fitted",
     kFittedOrigin,
     kChain,
     1,
     "exact",
     "up",
     {{{P::zero_sign, "ieee"},
       {P::overflow, "ieee"},
       {P::nan, "0xfff8000000000000; a NaN operand's payload comes back, first of b c a"}}}},
    {{archs({sm_90}), {}, {s8, u8, s4, u4}, s32},
     "fitted",
     kFittedOrigin,
     kChain,
     kOneBlock,
     "exact",
     "toward_zero",
     {{{P::overflow, "wrap"}}}},
    {{archs({sm_90}), {}, {s8, u8, s4, u4}, s32, Modifier::satfinite},
     "fitted",
     kFittedOrigin,
     kChain,
     kOneBlock,
     "exact",
     "toward_zero",
     {{{P::overflow, "max_finite"}}}},
    {{archs({sm_90}), {}, {b1}, s32, Modifier::and_popc},
     "fitted",
     kFittedOrigin,
     kChain,
     kOneBlock,
     "exact",
     "toward_zero",
     {{{P::product_operation, "and"}, {P::overflow, "wrap"}}}},
    {{archs({sm_90}), {}, {b1}, s32, Modifier::xor_popc},
     "fitted",
     kFittedOrigin,
     kChain,
     kOneBlock,
     "exact",
     "toward_zero",
     {{{P::product_operation, "xor"}, {P::overflow, "wrap"}}}},

    // --- published
    {{archs({sm_70}), {}, {fp16}, fp32, Modifier::none, VoltaShape::too},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     4,
     "23",
     "toward_zero",
     {}},
    {{archs({sm_70}), {}, {fp16}, fp16, Modifier::none, VoltaShape::too},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     4,
     "23",
     "nearest_even",
     {{{P::zero_exponent, "-19"}}}},
    {{archs({sm_70}), {}, {fp16}, fp32, Modifier::none, VoltaShape::too},
     "Hickmann & Bradford",
     kHickmann,
     kChainThenC,
     4,
     "23",
     "toward_zero",
     {{{P::add_rounding, "nearest_even"}}}},
    {{archs({sm_70}), {}, {fp16}, fp16, Modifier::none, VoltaShape::too},
     "Hickmann & Bradford",
     kHickmann,
     kChainThenC,
     4,
     "23",
     "nearest_even",
     {{{P::add_rounding, "nearest_even"}}}},
    {{archs({sm_75, sm_80, sm_86, sm_89}), {}, {fp16}, fp16},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     8,
     "24",
     "nearest_even",
     {{{P::zero_exponent, "-20"}}}},
    {{archs({sm_75, sm_80, sm_86, sm_89}), {}, {fp16, bf16}, fp32},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     8,
     "24",
     "toward_zero",
     {{{P::zero_exponent, "-132"}, {P::overflow, "infinity"}}}},
    {{archs({sm_80, sm_86, sm_89}), {}, {tf32}, fp32},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     4,
     "24",
     "toward_zero",
     {{{P::zero_exponent, "-132"}, {P::overflow, "infinity"}}}},
    {{archs({sm_89}), {}, {fp8e4m3, fp8e5m2}, fp32},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     16,
     "13",
     "toward_zero",
     {{{P::output_fraction_bits, "fraction_bits"}}}},
    {{archs({sm_89}), {}, {fp8e4m3, fp8e5m2}, fp16},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     16,
     "13",
     "nearest_even",
     {}},
    {{archs({sm_100, sm_120}), {}, {fp16, bf16}, fp32},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     16,
     "25",
     "toward_zero",
     {{{P::zero_exponent, "-133"}, {P::overflow, "infinity"}}}},
    {{archs({sm_100, sm_120}), {}, {tf32}, fp32},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     8,
     "25",
     "toward_zero",
     {{{P::zero_exponent, "-133"}, {P::overflow, "infinity"}}}},
    {{archs({sm_100, sm_120}), {}, {fp16}, fp16},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     16,
     "25",
     "nearest_even",
     {{{P::zero_exponent, "-21"}}}},
    {{archs({sm_100, sm_120}), {}, {fp8e4m3, fp8e5m2}, fp32},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     32,
     "25",
     "toward_zero",
     {}},
    {{archs({sm_100, sm_120}), {}, {fp8e4m3, fp8e5m2}, fp16},
     "Khattak & Mikaitis",
     kKhattak,
     kChain,
     32,
     "25",
     "nearest_even",
     {}},
    {{archs({sm_80, sm_86, sm_89, sm_100, sm_120}), {}, {fp64}, fp64},
     "MMA-Sim",
     kMmaSim,
     kChain,
     1,
     "exact",
     "nearest_even",
     {{{P::zero_sign, "ieee"}}}},
});

bool applies(const Row& row, ArchId arch, const Instruction& in) {
  const Match& match = row.match;
  const bool has_shape = match.volta == VoltaShape::too || (match.volta == VoltaShape::only) == in.is_volta();
  return match.archs.contains(arch) && in.archs.contains(arch) && match.kinds.contains(in.kind) &&
         match.inputs.contains(in.a) && match.result == in.d && match.c.value_or(match.result) == in.c &&
         match.modifier == in.modifier && has_shape &&
         // Published accounts are of dense mma.
         (row.origin == kFittedOrigin || !(in.sparse() || in.kind == InstructionKind::wmma));
}

int find_value(const Space& space, Property property, std::string_view text) {
  for (int v = 0; v < space.count(property); ++v) {
    if (space.value_text(property, v) == text) return v;
  }
  throw std::logic_error(
      fmt::format("catalogue: {} has no value {} for {}", space.instruction().name(), text, name(property)));
}

/// The exponent that subnormal fp8 operands have once they are converted to fp16, as the lowered instructions do:
/// e4m3's all become normal numbers.
bool lowered_to_normal(const Row& row, const Instruction& in) {
  return row.block_k == 0 && (in.a == fp8e4m3 || in.b == fp8e4m3);
}

Datapath build(const Row& row, const Instruction& in) {
  const Space space(in);
  Choice c{};
  const bool halves = row.block_k == 0;
  const int block_k = halves ? in.products() / 2 : std::min(row.block_k, in.products());
  const ProductOrder order = halves ? ProductOrder{ProductOrder::Kind::interleaved, 2} : ProductOrder{};
  Space::set(c, P::structure, space.find_structure(row.combination, block_k, order).value());
  Space::set(c, P::fraction_bits, find_value(space, P::fraction_bits, row.fraction_bits));
  Space::set(c, P::output_rounding, find_value(space, P::output_rounding, row.output_rounding));
  for (const auto& [property, text] : row.others) {
    if (!text.empty()) Space::set(c, property, find_value(space, property, text));
  }
  if (lowered_to_normal(row, in)) space.put<P::subnormal_exponent>(c, NormalisedSubnormals::all);
  return space.datapath(c);
}

}  // namespace

std::string recorded_as(Instruction in) {
  const bool is_wgmma = in.kind == InstructionKind::wgmma, is_wmma = in.kind == InstructionKind::wmma;
  if (is_wgmma) in.n = 8;
  if (is_wmma && in.m != in.n) in.m = in.n = 16;
  if (in.a == fp64 && in.modifier != Modifier::none) {
    in.kind = InstructionKind::mma;
    in.m = in.k == 4 ? 8 : 16;
  }
  if (in.a == b1) {
    if (is_wgmma) {
      in.kind = InstructionKind::mma;
      in.m = 16;
    }
  } else if ((is_wgmma || is_wmma || in.sparse()) && !format(in.a).floating) {
    if (in.sparse() && !is_wgmma) in.sparsity = Sparsity::any_order;
    in.a = in.b = format(in.a).storage_bits == 8 ? s8 : s4;
  } else if (is_wgmma && in.sparse() && format(in.a).storage_bits == 8) {
    in.a = in.b = in.d == fp32 ? fp8e4m3 : fp8e5m2;
  }
  return in.name();
}

std::vector<CatalogueEntry> catalogue(ArchId arch, const Instruction& instruction) {
  std::vector<CatalogueEntry> entries;
  for (const Row& row : kRows) {
    if (!applies(row, arch, instruction)) continue;
    CatalogueEntry entry{
        arch, &instruction, build(row, instruction), row.origin == kFittedOrigin, std::string(row.account), ""};
    entry.origin = entry.fitted ? fmt::format("fitted to vectors/{}/{}.safetensors", tcnum::arch(arch).name,
                                              recorded_as(instruction))
                                : std::string(row.origin);
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<CatalogueEntry> catalogue(ArchId arch) {
  std::vector<CatalogueEntry> entries;
  for (const Instruction* instruction : instructions_of(arch)) {
    for (CatalogueEntry& entry : catalogue(arch, *instruction)) entries.push_back(std::move(entry));
  }
  return entries;
}

}  // namespace tcnum
