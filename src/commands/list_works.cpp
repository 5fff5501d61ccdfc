// tcnum list --works: what others have published of instructions, held against the recorded answers.
#include <fmt/ranges.h>

#include "in_order.hpp"
#include "names.hpp"
#include "output.hpp"
#include "records.hpp"
#include "src/report/layout.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

namespace fs = std::filesystem;

/// An instruction of which something is published, and its recorded answers.
struct Published {
  const Instruction* instruction;
  std::vector<CatalogueEntry> accounts;
  std::vector<const Statement*> statements;
  std::string file;
};

struct AllPublished {
  std::vector<Published> recorded;
  std::vector<std::string> missing;  ///< instructions whose answers are not there
};

AllPublished find_published(ArchId id, const std::vector<const Instruction*>& instructions) {
  AllPublished all;
  for (const Instruction* in : instructions) {
    const std::string name = in->name();
    Published one{in, catalogue(id, *in), {}, {}};
    for (const Statement& each : statements()) {
      if (each.arch == id && each.instruction == name) one.statements.push_back(&each);
    }
    if (!is_published(one.accounts, one.statements) || recorded_as(*in) != name) continue;
    if (const auto file = find_record(id, record_name(*in))) {
      one.file = shown_path(*file);
      all.recorded.push_back(std::move(one));
    } else {
      all.missing.push_back(name);
    }
  }
  return all;
}

PublishedFindings judged(const Published& of, ArchId id) {
  Vectors vectors = read_vectors(of.file);
  instruction_of_file(of.file, vectors, std::string(arch(id).name), of.instruction->name());
  return judge_published(*of.instruction, of.accounts, of.statements,
                         dot_problems(std::move(vectors.tiles), vectors.metadata), of.file);
}

}  // namespace

int list_works(const ListOptions& options, ArchId id, const std::vector<const Instruction*>& instructions) {
  require_writable(options.json);
  const std::string_view name = arch(id).name;
  const AllPublished published = find_published(id, instructions);
  if (published.recorded.empty() && !published.missing.empty()) {
    std::vector<std::string> folders;
    for (const fs::path& folder : record_folders()) folders.push_back((folder / name).string());
    throw UnavailableError(
        fmt::format("--works: no recorded answers in {}, which would be held against what is published of {}",
                    fmt::join(folders, " or "), name));
  }
  std::vector<PublishedFindings> findings;
  in_order<PublishedFindings>(
      published.recorded.size(), all_threads(), [&](std::size_t i) { return judged(published.recorded[i], id); },
      [&](std::size_t, PublishedFindings found) { findings.push_back(std::move(found)); });
  if (!options.json.empty()) {
    nlohmann::ordered_json document = works_document(findings, name);
    if (!published.missing.empty()) document["missing"] = published.missing;
    write_json(options.json, document);
  } else if (findings.empty()) {
    say("nothing is published of such an instruction\n");
  } else {
    say(works_text(findings, name));
    if (!published.missing.empty())
      say("\n" + wrapped(fmt::format("No answers are recorded of: {}.", fmt::join(published.missing, ", ")), 0));
  }
  return kAgreed;
}

}  // namespace tcnum
