// A datapath in a few words, for a line of a list: "1×16 F=25 RZ".
#pragma once

#include <string>
#include <string_view>

#include "tcnum/datapath.hpp"

namespace tcnum {

/// "2×8 F=24 RZ"; "2×16 F=25 RZ, +c RN"; "4×1 FMA RN".
std::string short_text(const Datapath& datapath);

/// "RN".
std::string_view short_text(Rounding mode);

/// What short_text() writes, in words.
inline constexpr std::string_view kShortTextLegend =
    "N×B: N sums of B products, the first with c unless it is added at the end (+c). F: bits that are kept below the "
    "largest exponent (24|32: of the first term 32); exact: all. RZ, RN, RA, RU, RD: rounded toward zero, to nearest "
    "even, to nearest away, up, down; m13: to 13 fraction bits. FMA: fused multiply-adds.";

}  // namespace tcnum
