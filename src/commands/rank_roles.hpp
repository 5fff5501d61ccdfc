// Who does what where several processes were started together: rank 0 keeps the files and speaks for all.
#pragma once

#include <exception>
#include <memory>

#include "commands.hpp"
#include "failure.hpp"
#include "src/ranks/launch.hpp"

namespace tcnum {

/// Joins the ranks. Rank 0 does what lead(ranks) says, and when it is done, or has said why it could not, end(ranks,
/// status) tells the others, who do what help(ranks) says until then. The exit status of this process.
template <class Help, class Lead, class End>
int in_roles(const Launch& launched, const Help& help, const Lead& lead, const End& end) {
  std::unique_ptr<Ranks> ranks;
  try {
    ranks = join_ranks(launched);
  } catch (...) {  // the same in all of them
    if (launched.is_first()) throw;
    return kLeftToFirst;
  }
  if (ranks->rank() > 0) return help(*ranks);
  int status = kAgreed;
  try {
    status = lead(*ranks);
  } catch (...) {
    status = report_failure(std::current_exception());
  }
  end(*ranks, status);
  return status;
}

}  // namespace tcnum
