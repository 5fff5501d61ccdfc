// A program that is asked dot problems, and misbehaves in the way that its first argument names. Where it answers,
// every result is zero.
#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

namespace {

std::string with_length(const std::string& bytes) {
  std::string framed(8, '\0');
  const std::uint64_t length = bytes.size();
  std::memcpy(framed.data(), &length, sizeof length);
  return framed + bytes;
}

std::uint64_t length_at(const std::string& bytes) {
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  return length;
}

std::optional<std::string> read_bytes(std::size_t count) {
  std::string bytes(count, '\0');
  if (std::fread(bytes.data(), 1, count, stdin) != count) return std::nullopt;
  return bytes;
}

std::optional<std::string> read_question() {
  const auto frame = read_bytes(8);
  return frame ? read_bytes(length_at(*frame)) : std::nullopt;
}

/// A file with D alone.
std::string answer_to(const std::string& question, const std::string& mode, int number) {
  const auto header = nlohmann::json::parse(question.substr(8, length_at(question)));
  auto shape = header.at("C").at("shape").get<std::vector<std::uint64_t>>();
  std::string dtype = header.at("C").at("dtype");
  if (mode == "shape") std::swap(shape[0], shape[1]);
  if (mode == "dtype") dtype = "I32";
  std::string data(4 * shape[0] * shape[1] * shape[2], '\0');
  if (mode == "differs" && number == 2) data[4] = 1;
  const nlohmann::json d = {{"dtype", dtype}, {"shape", shape}, {"data_offsets", {0, data.size()}}};
  return with_length(nlohmann::json{{mode == "name" ? "E" : "D", d}}.dump()) + data;
}

void put(const std::string& bytes) {
  std::fwrite(bytes.data(), 1, bytes.size(), stdout);
  std::fflush(stdout);
}

void complain(const std::string& text) { std::fputs(text.c_str(), stderr); }

[[noreturn]] void wait_forever() {
  for (;;) pause();
}

/// With the names of two files.
int answer_file(const std::string& mode, const char* in, const char* out) {
  if (mode == "hangs") wait_forever();
  if (mode == "dies") {
    complain("no licence\n");
    return 3;
  }
  if (mode == "silent") return 0;
  std::ifstream file(in, std::ios::binary);
  const std::string question{std::istreambuf_iterator<char>(file), {}};
  std::ofstream(out, std::ios::binary) << (mode == "garbage" ? "garbage" : answer_to(question, mode, 1));
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string mode = argc > 1 ? argv[1] : "";
  if (argc == 4) return answer_file(mode, argv[2], argv[3]);
  if (mode == "dies") {
    complain("a warning\nno licence\n");
    return 3;
  }
  if (mode == "leaves-a-child" && fork() == 0) wait_forever();  // with all of its pipes
  if (mode == "leaves-a-child") return 5;
  if (mode == "closes-input") {
    close(STDIN_FILENO);
    wait_forever();
  }
  if (mode == "banner") put("Hello, world! This is simulator 1.0.\n");
  for (int number = 1;; ++number) {
    const auto question = read_question();
    if (!question) return mode == "status" ? 4 : 0;
    const std::string answer = with_length(answer_to(*question, mode, number));
    if (mode == "hangs") wait_forever();
    if (mode == "closes-output") {
      close(STDOUT_FILENO);
      wait_forever();
    }
    if (mode == "dies-midway" && number == 3) {
      put(answer.substr(0, 20));
      std::abort();
    }
    if (mode == "length") put(with_length("").replace(7, 1, "\x10"));  // 2^60
    if (mode == "floods") complain(std::string(std::size_t{1} << 20, 'x') + " the end\n");
    put(mode == "extra" ? answer + "extra" : answer);
  }
}
