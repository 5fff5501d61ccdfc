// Who gave the answers of a report, in words and in JSON.
#pragma once

#include <map>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

#include "tcnum/oracle.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum {

/// Where answers come from.
struct Source {
  OracleKind kind;
  std::string device;
  std::string file;                               ///< that holds the answers or the datapath, if any
  std::map<std::string, std::string> provenance;  ///< of driver, cuda, date, kernel and nan, those that are known
  friend bool operator==(const Source&, const Source&) = default;
};

/// One line: "recorded answers of NVIDIA … (driver …, CUDA …, 2026-01-31)".
std::string source_text(const Source& source);
/// Whose answers they are, in a word or two: the device, or the file.
std::string answerer(const Source& source);
nlohmann::ordered_json json_source(const Source& source);

/// Says of vectors that their results are now the emulator's. `datapath`: by which.
void attribute_to_emulator(Vectors& vectors, std::string_view datapath);

}  // namespace tcnum
