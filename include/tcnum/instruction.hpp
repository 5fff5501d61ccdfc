// Instructions: the ISA level only. What is legal, how it is spelled, where each element lives. No numerics.
//
// Source of shapes, types and layouts: PTX ISA, "Matrix multiply-accumulate operation using mma instruction", "… using
// mma.sp instruction with sparse matrix A", "… using wmma instructions" and "Asynchronous warpgroup level matrix
// multiply-accumulate instructions".
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/format.hpp"

namespace tcnum {

enum class ArchId : std::uint8_t { sm_70, sm_75, sm_80, sm_86, sm_89, sm_90, sm_100, sm_120, gfx908, gfx90a, gfx942 };

struct Arch {
  ArchId id;
  std::string_view name;
  std::string_view family;  ///< the vendor's name of the generation
};

inline constexpr std::array<Arch, 11> kArchs = {{
    {ArchId::sm_70, "sm_70", "NVIDIA Volta"},
    {ArchId::sm_75, "sm_75", "NVIDIA Turing"},
    {ArchId::sm_80, "sm_80", "NVIDIA Ampere (A100)"},
    {ArchId::sm_86, "sm_86", "NVIDIA Ampere (GA10x)"},
    {ArchId::sm_89, "sm_89", "NVIDIA Ada"},
    {ArchId::sm_90, "sm_90", "NVIDIA Hopper"},
    {ArchId::sm_100, "sm_100", "NVIDIA Blackwell (B200)"},
    {ArchId::sm_120, "sm_120", "NVIDIA Blackwell (GB20x)"},
    {ArchId::gfx908, "gfx908", "AMD CDNA1"},
    {ArchId::gfx90a, "gfx90a", "AMD CDNA2"},
    {ArchId::gfx942, "gfx942", "AMD CDNA3"},
}};

constexpr const Arch& arch(ArchId id) { return kArchs[static_cast<std::size_t>(id)]; }
/// Finds an architecture by name; a suffix of PTX's ("sm_90a") is accepted.
std::optional<ArchId> find_arch(std::string_view text);
/// "sm_70, sm_75, …" for messages.
std::string arch_names();

/// A set of architectures.
struct ArchSet {
  std::uint32_t bits = 0;
  constexpr bool contains(ArchId id) const { return (bits >> static_cast<unsigned>(id)) & 1u; }
};
constexpr ArchSet archs(std::initializer_list<ArchId> ids) {
  ArchSet set;
  for (ArchId id : ids) set.bits |= 1u << static_cast<unsigned>(id);
  return set;
}

enum class InstructionKind : std::uint8_t {
  mma,
  wmma,
  wgmma,
  dot,  ///< no instruction of an ISA: the dot product that some program computes
};

/// What an instruction's name says beside its shape and types.
enum class Modifier : std::uint8_t {
  none,
  satfinite,  ///< integers beyond the range of D are clamped
  and_popc,   ///< products of bits are their conjunction; PTX counts them ("population count")
  xor_popc,   ///< or where they differ
  // Of fp64: how each fused multiply-add rounds, if not to nearest. PTX's .rz, .rm and .rp.
  toward_zero,
  down,
  up,
};

/// Whether half of the elements of each row of A are left out, and in which order the metadata may name the others.
enum class Sparsity : std::uint8_t {
  none,
  any_order,  ///< mma.sp
  ascending,  ///< mma.sp::ordered_metadata, and wgmma.sp
};

struct Instruction {
  InstructionKind kind;
  int m, n, k;
  FormatId d, a, b, c;
  ArchSet archs;
  Modifier modifier = Modifier::none;
  Sparsity sparsity = Sparsity::none;

  constexpr bool sparse() const { return sparsity != Sparsity::none; }
  /// Length of a dot problem: products of stored elements of A. What B has beside them takes no part.
  constexpr int products() const { return sparse() ? k / 2 : k; }

  /// Whether it is the mma of Volta's shape, fp16 m8n8k4, whose warp computes four tiles.
  constexpr bool is_volta() const { return kind == InstructionKind::mma && m == 8 && a == FormatId::fp16; }

  /// PTX's name with the constant parts left out and the modifier at the end: `mma.m16n8k16.f32.f16.f16.f32`,
  /// `mma.sp.m16n8k32.f32.f16.f16.f32`, `wmma.m16n16k16.f16.f16.f16.f32`, `wgmma.m64n8k32.f32.e4m3.e4m3`,
  /// `mma.m16n8k32.s32.s8.u8.s32.satfinite`.
  std::string name() const;
  /// The full PTX spelling: `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`,
  /// `mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32`, `wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32`.
  /// Where PTX has a choice of layouts, A's is row and B's col.
  std::string ptx() const;
};

/// The dot product d = c + Σ a[k]·b[k] of k products, which no ISA need have; its name is `dot.k16.f32.f16.f16.f32`. What
/// takes an instruction takes it, and find_instruction() does not find it. Throws InputError if there is no such thing:
/// formats that are not all of integers or all of numbers in floating point, or k beyond 1 … 256.
Instruction make_dot(FormatId d, FormatId a, FormatId b, FormatId c, int k);

/// All rows: every mma, wmma and wgmma, dense and sparse. wgmma has one row for each N that it can have, from 8 to 256.
std::span<const Instruction> instructions();

/// Finds an instruction by its name or its full PTX spelling.
const Instruction* find_instruction(std::string_view text);

/// The instructions of an architecture whose A or B operand has that format. The wgmma rows are represented by N = 8.
std::vector<const Instruction*> instructions_of(ArchId arch, std::optional<FormatId> input = std::nullopt);

}  // namespace tcnum
