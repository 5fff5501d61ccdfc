// Instructions: the ISA level only. What is legal, how it is spelled, where each element lives. No numerics.
//
// Source of shapes, types and layouts: PTX ISA, "Matrix multiply-accumulate operation using mma instruction", "… using
// mma.sp instruction with sparse matrix A", "… using wmma instructions", "Asynchronous warpgroup level matrix
// multiply-accumulate instructions" and "TensorCore 5th Generation Family Instructions". AMD's are LLVM's: its
// VOP3PInstructions.td.
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

/// NVIDIA's from the oldest on, then AMD's.
enum class ArchId : std::uint8_t {
  sm_70,
  sm_75,
  sm_80,
  sm_86,
  sm_87,
  sm_89,
  sm_90,
  sm_100,
  sm_103,
  sm_120,
  sm_121,
  gfx908,
  gfx90a,
  gfx942,
  gfx950,
  gfx1100,
  gfx1151,
  gfx1200
};

struct Arch {
  ArchId id;
  std::string_view name;
  std::string_view family;  ///< the vendor's name of the generation
};

inline constexpr std::array<Arch, 18> kArchs = {{
    {ArchId::sm_70, "sm_70", "NVIDIA Volta"},
    {ArchId::sm_75, "sm_75", "NVIDIA Turing"},
    {ArchId::sm_80, "sm_80", "NVIDIA Ampere (A100)"},
    {ArchId::sm_86, "sm_86", "NVIDIA Ampere (GA10x)"},
    {ArchId::sm_87, "sm_87", "NVIDIA Ampere (Orin)"},
    {ArchId::sm_89, "sm_89", "NVIDIA Ada"},
    {ArchId::sm_90, "sm_90", "NVIDIA Hopper"},
    {ArchId::sm_100, "sm_100", "NVIDIA Blackwell (B200)"},
    {ArchId::sm_103, "sm_103", "NVIDIA Blackwell (B300)"},
    {ArchId::sm_120, "sm_120", "NVIDIA Blackwell (GB20x)"},
    {ArchId::sm_121, "sm_121", "NVIDIA Blackwell (GB10)"},
    {ArchId::gfx908, "gfx908", "AMD CDNA1"},
    {ArchId::gfx90a, "gfx90a", "AMD CDNA2"},
    {ArchId::gfx942, "gfx942", "AMD CDNA3"},
    {ArchId::gfx950, "gfx950", "AMD CDNA4"},
    {ArchId::gfx1100, "gfx1100", "AMD RDNA3"},
    {ArchId::gfx1151, "gfx1151", "AMD RDNA3.5 (Strix Halo)"},
    {ArchId::gfx1200, "gfx1200", "AMD RDNA4"},
}};

constexpr const Arch& arch(ArchId id) { return kArchs[static_cast<std::size_t>(id)]; }
/// Finds an architecture by its name, PTX's too ("sm_90a"), by its number ("90"), or by a device that has it ("h100").
std::optional<ArchId> find_arch(std::string_view text);
/// "sm_70, sm_75, …" for messages.
std::string arch_names();
/// What was expected in place of a text that find_arch() does not know, for messages: "one of sm_70, sm_75, …", and the
/// architectures and devices whose names are like it: "; nearest are RTX 4090 (sm_89), RTX 4080 (sm_89) or …".
std::string expected_archs(std::string_view text);

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
  tcgen05,   ///< tcgen05.mma
  mfma,      ///< AMD's v_mfma, and v_smfmac if it is sparse
  amd_wmma,  ///< v_wmma, and v_swmmac if it is sparse
  dot,       ///< no instruction of an ISA: the dot product that some program computes
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

/// PTX's .kind of an instruction with block scales, AMD's "scale", and what a dot product has that is no instruction.
enum class ScaleKind : std::uint8_t { none, mxf8f6f4, mxf4, mxf4nvf4, amd, dot };

/// A's row and B's column have a scale for every `block_k` elements along k.
struct Scaling {
  ScaleKind kind = ScaleKind::none;
  FormatId format = FormatId::ue8m0;
  int block_k = 0;
  friend constexpr bool operator==(const Scaling&, const Scaling&) = default;
};

struct Instruction {
  InstructionKind kind;
  int m, n, k;
  FormatId d, a, b, c;
  ArchSet archs;
  Modifier modifier = Modifier::none;
  Sparsity sparsity = Sparsity::none;
  Scaling scales = {};
  int blocks = 1;                  ///< of AMD's: independent products of that shape, done at once
  bool weight_stationary = false;  ///< tcgen05.mma.ws

  constexpr bool sparse() const { return sparsity != Sparsity::none; }
  constexpr bool scaled() const { return scales.kind != ScaleKind::none; }
  /// Block scales of a row of A.
  constexpr int scale_blocks() const { return scaled() ? k / scales.block_k : 0; }
  /// Elements of A that share a scale: of a sparse one, those that are stored.
  constexpr int products_per_scale() const { return sparse() ? scales.block_k / 2 : scales.block_k; }
  /// Length of a dot problem: products of stored elements of A. What B has beside them takes no part.
  constexpr int products() const { return sparse() ? k / 2 : k; }

  /// Whether it is the mma of Volta's shape, fp16 m8n8k4, whose warp computes four tiles.
  constexpr bool is_volta() const { return kind == InstructionKind::mma && m == 8 && a == FormatId::fp16; }

  /// PTX's name with the constant parts left out and the modifier at the end: `mma.m16n8k16.f32.f16.f16.f32`,
  /// `mma.sp.m16n8k32.f32.f16.f16.f32`, `wmma.m16n16k16.f16.f16.f16.f32`, `wgmma.m64n8k32.f32.e4m3.e4m3`,
  /// `mma.m16n8k32.s32.s8.u8.s32.satfinite`. Block scales are named by their kind and number after the shape, and their
  /// format at the end: `mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3`. AMD's names are LLVM's of gfx942:
  /// `v_mfma_f32_32x32x4_2b_f16`.
  std::string name() const;
  /// The full PTX spelling: `mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32`,
  /// `mma.sync.aligned.m16n8k32.row.col.satfinite.s32.s8.u8.s32`, `wmma.mma.sync.aligned.row.col.m16n16k16.f16.f32`.
  /// Where PTX has a choice of layouts, A's is row and B's col. A tcgen05.mma's shape and formats are not in its PTX,
  /// but in a descriptor: its spelling names its kind alone. AMD's is the one that LLVM writes.
  std::string ptx() const;
};

/// The dot product d = c + Σ a[k]·b[k] of k products, which no ISA need have; its name is `dot.k16.f32.f16.f16.f32`,
/// or, with a scale for every 32 elements of a and of b, `dot.k64.block32.f32.e4m3.e4m3.f32.ue8m0`. What takes an
/// instruction takes it, and find_instruction() does not find it. Throws InputError if there is no such thing: formats
/// that are not all of integers or all of numbers in floating point, k beyond 1 … kMostDotProducts, scales of integers,
/// or of parts of a block.
inline constexpr int kMostDotProducts = 256;
Instruction make_dot(FormatId d, FormatId a, FormatId b, FormatId c, int k, const Scaling& scales = {});

/// All rows: every mma, wmma, wgmma and v_mfma, dense and sparse. wgmma has one row for each N that it can have, from 8
/// to 256; a tcgen05.mma has one row, at its smallest M and N.
std::span<const Instruction> instructions();

/// Finds an instruction by its name or its full spelling; a tcgen05.mma of any M and N that it can have, by its name.
/// What it points to is there for as long as the program.
const Instruction* find_instruction(std::string_view text);

/// The row that an instruction is one of: itself, but for a tcgen05.mma, of whatever M and N.
const Instruction& row_of(const Instruction& instruction);

/// The instructions of an architecture whose A or B operand has that format. The wgmma rows are represented by N = 8.
std::vector<const Instruction*> instructions_of(ArchId arch, std::optional<FormatId> input = std::nullopt);

}  // namespace tcnum
