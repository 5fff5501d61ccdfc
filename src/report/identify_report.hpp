// What tcnum.identify found, for people and for programs.
#pragma once

#include "tcnum/identify.hpp"

namespace tcnum {

/// A table of suspects, those that agree first, and the input that tells most of these apart. `most_others`: rows of
/// those that do not agree. `scales`: the format of the answers' block scales.
std::string identify_text(const Identification& found, const Tiles& answered, FormatId scales, std::size_t most_others);
/// tcnum.identify/1 (docs/schemas).
nlohmann::ordered_json identify_document(const Identification& found, const Tiles& answered, FormatId scales);
/// Of those that agree alone: a table, and `matches` of the document.
std::string matches_text(const Identification& found, const Tiles& answered);
nlohmann::ordered_json matches_json(const Identification& found);

}  // namespace tcnum
