// What the parts of tcnum verify share.
#pragma once

#include "output.hpp"
#include "src/campaign/campaign.hpp"
#include "src/fit/minimise.hpp"
#include "src/questions/stream.hpp"
#include "src/report/problem_text.hpp"
#include "tcnum/oracle.hpp"
#include "vectors.hpp"

namespace tcnum {

// --- Disagreements that a campaign has found: asked again, made small, shown and kept.

struct Found {
  Disagreement at;
  Counterexample small;

  /// Whether the oracle disagreed when it was asked again. A device that does not repeat itself is a finding too.
  bool repeated() const { return small.expected != small.observed; }
};

/// Asks again, and makes the problem small.
Found shrink(const Disagreement& at, const Datapath& datapath, Oracle& oracle);

/// Those that a checkpoint tells of, asked again: throws InputError, naming the file, unless each is one.
void check_again(const std::string& checkpoint, const std::vector<Disagreement>& disagreements,
                 const Instruction& instruction, const Datapath& datapath, Oracle& oracle);

/// `datapath` and `answerer`: what the two sides are called.
std::string found_text(const Found& found, const Datapath& of, const std::string& datapath,
                       const std::string& answerer);

/// A vector file in the folder, with what the hardware answered. All are of one instruction.
void keep_disagreements(const std::string& folder, const std::vector<Found>& all, ArchId id, const Source& source);

/// The same of recorded answers: some dot problems of a file, as they are there. Returns the name of the file that was
/// written: that of the recorded one, with a number where `taken` has it already.
std::string keep_recorded(const std::string& folder, const std::string& recorded_in, const VectorsInFile& recorded,
                          const std::vector<Counterexample>& all, std::set<std::string>& taken);

// --- The parts, and what they write

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

}  // namespace tcnum
