// tcnum identify: which datapaths and plans give these few answers.
#include "tcnum/identify.hpp"

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "answers.hpp"
#include "commands.hpp"
#include "names.hpp"
#include "output.hpp"
#include "src/report/identify_report.hpp"

namespace tcnum {

int run_identify(const IdentifyCommandOptions& options) {
  if (!options.json.empty()) require_writable(options.json);
  const GivenAnswers answers = read_answers(options);
  IdentifyOptions how{.sparse = answers.sparse, .scales = answers.scales, .seed = options.seed};
  for (const std::string& name : options.archs) how.archs.push_back(parse_arch(name));
  const ProgressLine progress;
  how.progress = [&](std::size_t done, std::size_t all) {
    progress.show(fmt::format("{} of {} datapaths and plans", done, all));
  };
  const Identification found = identify(answers.tiles, how);
  progress.clear();
  constexpr std::size_t kFewOthers = 5;
  if (options.json != "-") {
    say(identify_text(found, answers.tiles, answers.scales,
                      options.all ? std::numeric_limits<std::size_t>::max() : kFewOthers));
  }
  if (!options.json.empty()) write_json(options.json, identify_document(found, answers.tiles, answers.scales));
  return found.agreeing() > 0 ? kAgreed : kDisagreed;
}

}  // namespace tcnum
