// The types behind the handles of tcnum.h.
#pragma once

#include "emu/lazy.hpp"
#include "tcnum/catalogue.hpp"
#include "tcnum/datapath.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/gemm.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/matrix.hpp"
#include "tcnum/tiles.hpp"

struct tcnum_datapath {
  explicit tcnum_datapath(tcnum::Datapath of) : datapath(std::move(of)) {}
  explicit tcnum_datapath(tcnum::CatalogueEntry entry)
      : datapath(std::move(entry.datapath)),
        account(std::move(entry.account)),
        origin(std::move(entry.origin)),
        refuted_by(std::move(entry.refuted_by)),
        standing(tcnum::name(entry.standing)),
        standing_text(entry.standing_text()),
        lowered_to(entry.lowered_to),
        answers(entry.answers),
        is_fitted(entry.fitted) {}

  /// Like tcnum::CatalogueEntry::origin_and_standing().
  std::string origin_and_standing() const { return standing_text.empty() ? origin : origin + "; " + standing_text; }

  /// The emulator is made on the first call, which may be any thread's.
  const tcnum::Emulator& emulator() const {
    return emulator_.get([this] { return std::make_unique<tcnum::Emulator>(datapath); });
  }

  const tcnum::Datapath datapath;
  const std::string account, origin, refuted_by, standing, standing_text, lowered_to;
  const std::size_t answers = 0;  ///< published answers that the datapath was compared with
  const bool is_fitted = false;

 private:
  tcnum::Lazy<tcnum::Emulator> emulator_;
};

struct tcnum_matrix {
  tcnum::Matrix matrix;
};

struct tcnum_plan {
  const tcnum::GemmPlan plan;
};

struct tcnum_tiles {
  /// Null where the tiles belong to a datapath alone.
  const tcnum::Instruction* instruction = nullptr;
  tcnum::Vectors vectors;
  /// Used only where there are block scales.
  tcnum::FormatId scale_format = tcnum::FormatId::ue8m0;
};

namespace tcnum {

/// Throws InputError if the caller has written codes that the formats do not have, or places of stored elements that
/// the instruction cannot have.
void check_written(const tcnum_tiles& tiles);

}  // namespace tcnum
