#include "source.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <nlohmann/json.hpp>
#include <vector>

#include "io/printable.hpp"

namespace tcnum {

using nlohmann::ordered_json;

std::string source_text(const Source& source) {
  std::vector<std::string> facts;
  for (const auto& [key, prefix] : {std::pair{"driver", "driver "},
                                    {"cuda", "CUDA "},
                                    {"date", ""},
                                    {"kernel", "a kernel "},
                                    {"nan", "bits of a NaN: "}}) {
    if (const auto found = source.provenance.find(key); found != source.provenance.end() && !found->second.empty()) {
      facts.push_back(prefix + shown(found->second));
    }
  }
  std::string what = "the GPU ";
  if (source.kind == OracleKind::recorded) what = "recorded answers of ";
  if (source.kind == OracleKind::datapath || source.kind == OracleKind::program) what = "";
  const std::string device = source.device.empty() ? "an unnamed device" : shown(source.device, kMostOfName);
  return what + device + (facts.empty() ? "" : fmt::format(" ({})", fmt::join(facts, ", ")));
}

std::string answerer(const Source& source) { return shown(source.device.empty() ? source.file : source.device); }

ordered_json json_source(const Source& source) {
  ordered_json out = {{"kind", name(source.kind)}, {"device", source.device}};
  for (const char* key : {"driver", "cuda", "date", "kernel", "nan"}) {
    if (const auto found = source.provenance.find(key); found != source.provenance.end()) out[key] = found->second;
  }
  if (!source.file.empty()) out["file"] = source.file;
  return out;
}

void attribute_to_emulator(Vectors& vectors, std::string_view datapath) {
  // What the metadata said of the results that were there no longer holds.
  for (const char* key : {"driver", "cuda", "date"}) vectors.metadata.erase(key);
  vectors.device = "tcnum's emulator";
  vectors.metadata["generator"] = "tcnum " TCNUM_VERSION;
  vectors.metadata["datapath"] = printable(datapath);
}

}  // namespace tcnum
