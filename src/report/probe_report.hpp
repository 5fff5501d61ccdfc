// What is found of an instruction's datapath, and what is published of it, held against answers.
#pragma once

#include <nlohmann/json.hpp>

#include "layout.hpp"
#include "problem_text.hpp"
#include "src/catalogue/statements.hpp"
#include "src/fit/evidence.hpp"
#include "src/fit/fit.hpp"
#include "src/fit/space.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum {

// --- What a fit knows about one property, and by which answers.

class Finding {
 public:
  Finding(const Fit& fit, const FitResult& result, Property property);

  /// The values among which the answers do not decide; null if they do.
  const Undetermined* open() const { return open_; }
  /// Whether no input shows the value, be it that none can or that the structure leaves no choice.
  bool unobservable() const { return unobservable_; }
  /// Other values that give the same results for every input.
  std::vector<std::string> equivalent() const;
  /// Whether there is anything to say: some alternative is in the space.
  bool interesting() const { return open_ != nullptr || unobservable_ || !rejected_.empty(); }

  std::string value() const;
  /// Which answer refutes the nearest alternative. `witness` is who gave the answers: "the hardware".
  std::string evidence(std::string_view witness) const;

 private:
  int chosen() const { return Space::value(result_.choice, property_); }
  /// Whether the structure allows any other value.
  bool applies() const;
  /// Whether a sum keeps all fraction bits of the result's format.
  bool has_all_bits() const;
  const Rejection* nearest_rejection() const;
  std::string open_values() const;

  const Space& space_;
  const FitResult& result_;
  const Evidence& evidence_;
  Property property_;
  const Undetermined* open_ = nullptr;
  std::vector<const Rejection*> rejected_;
  bool unobservable_ = false;
};

// --- How the products and c become the result, in one sentence.

/// `unobservable`: properties of which every value gives the same results, of which it says none.
std::string structure_sentence(const Space& space, const Choice& choice, std::span<const Property> unobservable = {});

/// Whether no property that such a sentence speaks of is open, so that it is true of all datapaths that are left.
bool sentence_is_settled(const Space& space, const FitResult& result);

// --- What the catalogue says, held against answers.

/// A datapath against the answers.
struct Judgement {
  struct Refutation {
    std::size_t probe;  ///< number of the answer
    std::string name;   ///< of the problem, if it is a crafted one
    Problem problem;
    std::uint64_t expected, observed;
  };
  std::size_t mismatches = 0;
  /// The smallest answer that refutes it: of the fewest terms, of these that whose codes have the fewest bits set, and
  /// of these the first. None: the datapath explains every answer.
  std::optional<Refutation> refutation;
};
Judgement judge(const Datapath& datapath, const Evidence& evidence);

/// "#393 (width: …): would give 0x40800000, the hardware gave 0x00000000"; of a problem without a name its operands, if
/// they are few. `witness` is who gave the answers.
std::string answer_text(const Instruction& instruction, const Judgement::Refutation& refutation,
                        std::string_view witness);

/// One field of an account that is not as measured: the measured datapath with it, which answers refute.
struct RefutedField {
  std::string field, says, measured;
  Judgement by;
};

/// A published account of an instruction against the answers.
struct AccountFinding {
  std::string account, origin, standing;
  std::string says;  ///< in short
  Judgement by;
  /// Fields that are refuted by themselves, if the account with them as measured explains every answer. None of a
  /// refuted account: it is refuted as a whole.
  std::vector<RefutedField> fields;
};

/// Of the published entries among `accounts`; those fitted here are left out. `measured` may be null: then fields are
/// not looked at.
std::vector<AccountFinding> judge_accounts(const Evidence& evidence, const std::vector<CatalogueEntry>& accounts,
                                           const Datapath* measured);

/// Another instruction of the architecture with the same formats and number of products, as fitted here, against the
/// answers.
struct Relative {
  std::string instruction;
  std::size_t mismatches = 0;
};
std::vector<Relative> check_relatives(const Fit& fit, ArchId arch);

// --- What is reported of one probe: as text for a paper's appendix, and as JSON for programs (schema tcnum.probe/1).

/// What campaigns (src/campaign/record.hpp) have compared with the hardware.
struct Compared {
  std::string file;
  double here = 0;          ///< dot products of this instruction
  double other_widths = 0;  ///< of this wgmma at other N
  std::size_t widths = 0;   ///< how many those are
};

/// Everything that is reported of one instruction.
struct ProbeReport {
  const Fit& fit;
  const FitResult& result;
  std::string arch;  ///< empty: what was probed is no instruction
  Source source;
  std::vector<AccountFinding> accounts;
  std::vector<Relative> relatives;
  std::optional<Compared> compared;
  std::string sass;  ///< the machine instructions that it becomes, if they are known
};

std::string text_report(const ProbeReport& report);
/// Its verdict and properties.
TableRow table_row(const ProbeReport& report);
/// An element of "instructions".
nlohmann::ordered_json json_report(const ProbeReport& report);

/// All of a probe, in JSON.
class ProbeDocument {
 public:
  /// `format`: the operands that are looked at.
  ProbeDocument(std::string_view arch, std::string_view format);

  /// What json_report() says of an instruction, and who answered.
  void add(nlohmann::ordered_json report, const Source& source);

  bool empty() const { return sources_.empty(); }
  /// Its source has what those of all instructions have in common; each that has more has all of its own.
  nlohmann::ordered_json json() const;

 private:
  nlohmann::ordered_json json_;
  std::vector<nlohmann::ordered_json> sources_;  ///< of the instructions
};

// --- What works have published of instructions, held against recorded answers.

enum class StatementVerdict : std::uint8_t {
  holds,    ///< it explains every answer, and no alternative does
  open,     ///< an alternative does, too
  refuted,  ///< it does not
};
/// "holds".
std::string_view name(StatementVerdict verdict);

struct StatementFinding {
  struct Alternative {
    StatedValue value;
    Judgement by;
  };
  const Statement* statement;
  StatementVerdict verdict;
  StatedValue measured;
  Judgement by;                           ///< the measured datapath with the stated value
  std::vector<Alternative> alternatives;  ///< the same with these
};

/// What is published of an instruction.
struct PublishedFindings {
  const Instruction* instruction;
  std::string file;      ///< of the answers
  std::size_t answers;   ///< that it has
  std::string measured;  ///< the measured datapath in short; empty if nothing was fitted here
  std::vector<AccountFinding> accounts;
  std::vector<StatementFinding> statements;
};

/// Whether anything is.
bool is_published(const std::vector<CatalogueEntry>& accounts, const std::vector<const Statement*>& statements);

/// Holds all that is not fitted here against answers. The first account is what was fitted here, if anything was; only
/// then are fields looked at, and there may be statements. Throws std::logic_error if one is of sums that it does not
/// have.
PublishedFindings judge_published(const Instruction& instruction, const std::vector<CatalogueEntry>& accounts,
                                  const std::vector<const Statement*>& statements, Tiles answered, std::string file);

struct Work {
  std::string name, origin;
};
/// In the order in which they are met, those with accounts first.
std::vector<Work> works_of(const std::vector<PublishedFindings>& all);

/// Works by instructions, and what refutes or settles what they say.
std::string works_text(const std::vector<PublishedFindings>& all, std::string_view arch);
nlohmann::ordered_json works_document(const std::vector<PublishedFindings>& all, std::string_view arch);

}  // namespace tcnum
