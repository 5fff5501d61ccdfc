// The catalogue: which datapath an instruction of an architecture has, and how that is known.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tcnum/datapath.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// How well an account is known to be right.
enum class Standing : std::uint8_t {
  measured,   ///< fitted here to answers of the hardware
  checked,    ///< published, and explains the answers of the hardware that others published, or that are recorded here
  published,  ///< published, and no more
};
/// "measured_here", "published_and_checked", "published_only".
std::string_view name(Standing standing);

struct CatalogueEntry {
  ArchId arch;
  const Instruction* instruction;
  Datapath datapath;
  bool fitted = false;  ///< fitted here to recorded hardware answers; else published by others
  std::string
      account;  ///< short name that tells entries of the same instruction apart: "fitted", "Khattak & Mikaitis", …
  std::string origin;      ///< fitted: which vectors; published: which source
  std::string refuted_by;  ///< the hardware answers that a published account does not explain; empty if none are known
  Standing standing = Standing::published;
  /// Of a checked account: the published answers to this instruction on this architecture, which it explains all; 0 if
  /// these are the recorded ones.
  std::size_t answers = 0;
  std::string_view answered_by = {};  ///< the device that gave them
  /// What a compiler makes of the instruction where the architecture's tensor cores have none of its kind; empty if they
  /// have one. Libraries do not use such instructions.
  std::string_view lowered_to = {};

  /// "published, and explains 5000 published answers of an A100", or which answers refute it; empty of a measured
  /// account, whose origin says it.
  std::string standing_text() const;
  /// The origin, with that.
  std::string origin_and_standing() const;
};

/// Answers of hardware to one instruction that others have published: Khattak and Mikaitis, in MATLAB-tensor-core.
struct PublishedAnswers {
  ArchId arch;
  std::string_view instruction, device;
  std::size_t count;
};
std::span<const PublishedAnswers> published_answers();

/// All entries of an architecture, in the order of instructions(); an instruction may have several accounts, the one
/// to believe first, which no known answer refutes. wgmma entries are listed at N = 8.
std::vector<CatalogueEntry> catalogue(ArchId arch);
/// The accounts for one instruction (any N of wgmma); empty if nothing is known.
std::vector<CatalogueEntry> catalogue(ArchId arch, const Instruction& instruction);

/// The vendor's library that makes large products of operands of these formats of this kind of instruction, and where
/// that is from; empty if it takes another kind, or nobody has said.
std::string_view library_of(ArchId arch, const Instruction& instruction);

/// The datapath of an instruction that multiplies and adds two numbers, none of matrices, as a dot product of one
/// product: what products are made of on which no tensor core works. PTX's fma.rn.f32, of all NVIDIA architectures:
/// IEEE 754's, whose NaNs have the code 0x7fffffff (PTX ISA, fma). fma.rn.f32.f16 and fma.rn.f32.bf16: the same of
/// operands that become fp32 before, as they do on architectures without such an instruction. fma.rn.f64 of sm_90: as
/// its tensor cores' FMAs; which of two operands' NaNs comes back has not been measured of it. Nothing if no such
/// instruction has that name there.
std::optional<Datapath> scalar_instruction(ArchId arch, std::string_view name);

/// The name of the instruction whose recorded answers stand for this one's too, mostly its own. Answers of a wgmma are
/// recorded at N = 8, of a wmma of several shapes at m16n16; those of integers by wgmma, wmma or sparse mma of any
/// signs, and in any order of metadata, as those of signed ones; of bits by wgmma as those of the mma; of fp8 by
/// wgmma.sp as those of one format for each kind of result; of fp64 with a rounding of its own as those of the mma with
/// that K. That the others have the same datapath is in vectors/ARCH/campaigns.json.
std::string recorded_as(Instruction instruction);

}  // namespace tcnum
