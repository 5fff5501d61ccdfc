// Ranks: the processes of one job, on one host or many, and the messages between them. What joins those of MPI is a
// library of its own (mpi/), so that the program needs no MPI where it works alone.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tcnum {

struct Message {
  int from = 0;
  std::string text;
};

/// This process among its job's. Rank 0 and each other rank write to each other, and hear now and then that the other
/// is still there; any thread may call send() and is_silent().
class Ranks {
 public:
  Ranks() = default;
  Ranks(const Ranks&) = delete;
  Ranks& operator=(const Ranks&) = delete;
  virtual ~Ranks() = default;

  virtual int rank() const = 0;
  virtual int size() const = 0;
  /// Among the ranks of this host.
  virtual int local_rank() const = 0;
  virtual int local_size() const = 0;
  /// Whether the others go on when one is gone, and none waits for it in the end.
  virtual bool outlive_each_other() const = 0;

  /// Never waits, and does not fail where the other one is gone. Rank 0 may write to itself.
  virtual void send(int to, std::string text) = 0;
  /// The next message, those of one rank in the order in which it sent them; nothing if none came in that time.
  virtual std::optional<Message> receive(std::chrono::milliseconds patience) = 0;
  /// Whether nothing was heard of a rank for so long that it must be gone. It may turn out that it was not.
  virtual bool is_silent(int rank) const = 0;

  /// The last thing that is called: sends what is still to be sent, and if `together` waits until all ranks are here.
  virtual void leave(bool together) = 0;
};

/// Of what a host has, this rank's part: dealt out to its ranks one after the other. Where there is not enough, ranks
/// share.
std::vector<int> share_of(const std::vector<int>& all, const Ranks& ranks);

}  // namespace tcnum
