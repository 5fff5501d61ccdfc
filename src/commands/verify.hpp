// What the parts of tcnum verify share.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "commands.hpp"
#include "failure.hpp"
#include "names.hpp"
#include "src/questions/stream.hpp"

namespace tcnum {

/// Against recorded answers.
int verify_files(const VerifyOptions& options);
/// Against the GPU, or another datapath, by the trillion.
int verify_streams(const VerifyOptions& options);
/// The emulator against the digests of a campaign.
int verify_campaign(const VerifyOptions& options);

/// Those that the user names; all random ones, if none. Throws InputError.
std::vector<Distribution> parse_distributions(const std::vector<std::string>& names);

nlohmann::ordered_json new_verify_document();
/// Writes the document, if that is asked for.
void write_document(const VerifyOptions& options, nlohmann::ordered_json& document, std::uint64_t mismatches,
                    Attempts& attempts);
/// The status that so many mismatches earn.
inline ExitStatus earned_by(std::uint64_t mismatches) { return mismatches == 0 ? kAgreed : kDisagreed; }
std::string datapath_text(const NamedDatapath& datapath);
nlohmann::ordered_json datapath_json(const NamedDatapath& datapath);
/// "1 chunk", "12,345 chunks".
std::string plural_text(std::uint64_t count, const char* what);

}  // namespace tcnum
