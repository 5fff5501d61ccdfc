// Ranks: the processes of one job, on one host or many. Rank 0 tells the others what to do, once, and they send it what
// they find. The ranks of MPI are made by a library of its own (mpi/), so that a program that works alone needs no MPI.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tcnum {

struct Message {
  int from = 0;
  std::string text;
};

/// This process among those of its job. A rank that fails ends all of them.
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// The number of this rank among those of its host.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;

  /// Returns the text of rank 0 in every rank. All of them must call it.
  virtual std::string broadcast(std::string text) = 0;
  /// Sends a text to rank 0. Another rank calls it, from one thread at a time.
  virtual void send(const std::string& text) = 0;
  /// The next message that has arrived; rank 0 alone calls it. Does not wait.
  virtual std::optional<Message> receive() = 0;

  /// Returns when all ranks have called it. No other rank can be reached afterwards.
  virtual void finish() = 0;
  /// Ends all ranks at once with this exit status, unless they have finished.
  virtual void abort_unfinished(int status) = 0;
};

/// The part of a host's GPUs that this rank uses: they are dealt out to the ranks of the host in turn. Ranks share GPUs
/// if there are more ranks than GPUs.
std::vector<int> share_of(const std::vector<int>& all, const Ranks& ranks);

}  // namespace tcnum
