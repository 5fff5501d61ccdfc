// The parts of tcnum verify.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "command.hpp"

namespace tcnum {

struct VerifyOptions {
  std::vector<std::string> vectors;
  std::string campaign;
  std::string datapath, json, arch, instruction, from, devices, checkpoint, record, disagreements;
  std::string count, chunk, shard;
  std::vector<std::string> distributions;
  std::uint64_t seed = 1;
  bool all = false;
};

/// Against recorded answers.
int verify_files(const VerifyOptions& options);
/// Against the GPU, or another datapath, by the trillion.
int verify_streams(const VerifyOptions& options);
/// The emulator against the digests of a campaign.
int verify_campaign(const VerifyOptions& options);

nlohmann::ordered_json new_verify_document();
/// Writes the document, if that is asked for; the exit status.
int finish_verification(const VerifyOptions& options, nlohmann::ordered_json& document, std::uint64_t mismatches);
std::string datapath_text(const NamedDatapath& datapath);
nlohmann::ordered_json datapath_json(const NamedDatapath& datapath);
/// Those whose names match; all, if there is no pattern.
std::vector<const Instruction*> matching_instructions(const std::string& pattern, ArchId id);

}  // namespace tcnum
