// Ranks by MPI; no other file calls it. An error of MPI ends the job.
#include <mpi.h>

#include <chrono>
#include <memory>
#include <optional>
#include <string>
#include <thread>

#include "src/ranks/joining.hpp"

namespace tcnum {
namespace {

/// Waits without keeping a core busy, as MPI_Wait() would: other ranks of the host may need it.
void wait_for(MPI_Request request) {
  constexpr std::chrono::milliseconds kInterval{1};
  for (int done = 0;;) {
    MPI_Test(&request, &done, MPI_STATUS_IGNORE);
    if (done != 0) return;
    std::this_thread::sleep_for(kInterval);
  }
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks() {
    MPI_Comm host = MPI_COMM_NULL;
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &local_rank_);
    MPI_Comm_size(host, &local_size_);
    MPI_Comm_free(&host);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
  }

  int rank() const override { return rank_; }
  int size() const override { return size_; }
  int local_rank() const override { return local_rank_; }
  int local_size() const override { return local_size_; }

  std::string broadcast(std::string text) override {
    auto bytes = static_cast<int>(text.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibcast(&bytes, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
    wait_for(request);
    text.resize(static_cast<std::size_t>(bytes));
    MPI_Ibcast(text.data(), bytes, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
    wait_for(request);
    return text;
  }

  void send(const std::string& text) override {
    MPI_Send(text.data(), static_cast<int>(text.size()), MPI_BYTE, 0, 0, MPI_COMM_WORLD);
  }

  std::optional<Message> receive() override {
    int there = 0, bytes = 0;
    MPI_Status status;
    MPI_Iprobe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &there, &status);
    if (there == 0) return std::nullopt;
    MPI_Get_count(&status, MPI_BYTE, &bytes);
    Message message{status.MPI_SOURCE, std::string(static_cast<std::size_t>(bytes), '\0')};
    MPI_Recv(message.text.data(), bytes, MPI_BYTE, message.from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    return message;
  }

  void finish() override {
    MPI_Request barrier = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &barrier);
    wait_for(barrier);
    MPI_Finalize();
    is_finished_ = true;
  }

  void abort_unfinished(int status) override {
    if (!is_finished_) MPI_Abort(MPI_COMM_WORLD, status);
  }

 private:
  int rank_ = 0, size_ = 1, local_rank_ = 0, local_size_ = 1;
  bool is_finished_ = false;
};

}  // namespace
}  // namespace tcnum

extern "C" __attribute__((visibility("default"))) tcnum::Ranks* tcnum_join_ranks() {
  int threads = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &threads);
  if (threads < MPI_THREAD_SERIALIZED) return nullptr;
  return std::make_unique<tcnum::MpiRanks>().release();
}
