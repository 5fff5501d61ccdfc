// Programs as oracles: what well-behaved ones answer, and what becomes of the others.
// Labels: sanitized
#include "tcnum/program_oracle.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "files.hpp"
#include "io/child.hpp"
#include "io/words.hpp"
#include "src/oracles/program.hpp"
#include "tcnum/sparse_tiles.hpp"
#include "tcnum/tiles.hpp"

namespace tcnum::program_oracle_test {
namespace {

const std::string kMisbehaving = TCNUM_MISBEHAVING_ORACLE;

// --- Words of a command.

TEST(Words, AreThoseOfAShell) {
  using Words = std::vector<std::string>;
  EXPECT_EQ(split_words("./sim --vectors", "f"), (Words{"./sim", "--vectors"}));
  EXPECT_EQ(split_words("  a\t b\n", "f"), (Words{"a", "b"}));
  EXPECT_EQ(split_words("'a b' \"c d\" e\\ f", "f"), (Words{"a b", "c d", "e f"}));
  EXPECT_EQ(split_words("a'b'\"c\"", "f"), (Words{"abc"}));
  EXPECT_EQ(split_words("a '' \"\"", "f"), (Words{"a", "", ""}));
  EXPECT_EQ(split_words(R"('\' "\"\\\n")", "f"), (Words{"\\", "\"\\\\n"}));
  EXPECT_EQ(split_words("a $HOME `b` *|;>&", "f"), (Words{"a", "$HOME", "`b`", "*|;>&"})) << "no shell sees them";
}

TEST(Words, ThatAreNoneAreRefused) {
  for (const std::string& command :
       std::vector<std::string>{"", "  ", "''", "a 'b", "a \"b", "a\\", std::string("a\0b", 3)}) {
    const std::string message = refusal([&] { static_cast<void>(split_words(command, "f")); });
    EXPECT_TRUE(message.starts_with("f: ")) << command << ": " << message;
    EXPECT_NE(message.find("expected"), std::string::npos) << message;
  }
}

// --- Programs. None leaves a process or a file behind.

class ProgramOracles : public Files {
 protected:
  ProgramOracles() {
    if (const char* const before = std::getenv("TMPDIR")) temporary_ = before;
    setenv("TMPDIR", folder_.c_str(), 1);
  }
  ~ProgramOracles() override {
    if (temporary_.empty())
      unsetenv("TMPDIR");
    else
      setenv("TMPDIR", temporary_.c_str(), 1);
    EXPECT_TRUE(fs::is_empty(folder_)) << "a file is left";
    EXPECT_EQ(waitpid(-1, nullptr, WNOHANG), -1) << "a process is left";
    EXPECT_EQ(errno, ECHILD);
  }

  static Tiles some_tiles(std::size_t count = 2) {
    Tiles tiles = make_tiles(FormatId::fp16, FormatId::fp16, FormatId::fp32, FormatId::fp32, count, 3, 4, 16);
    for (std::size_t i = 0; i < tiles.d.size(); ++i) tiles.d.set(i, 0xdeadbeef);
    return tiles;
  }

  /// What asking so many batches of a program is refused with.
  static std::string asked(const std::string& command, const ProgramOptions& options = {}, int batches = 20) {
    const Instruction dot = make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp16, FormatId::fp32, 16);
    return refusal([&] {
      const auto program = start_program(command, options);
      const auto oracle = make_program_oracle(dot, std::nullopt, program);
      for (int i = 0; i < batches; ++i) {
        Tiles tiles = some_tiles();
        oracle->answer(tiles);
        EXPECT_EQ(tiles.d, Codes(4, 24));
      }
      finish_program(*program);
    });
  }
  static std::string asked_in_mode(const std::string& mode, const ProgramOptions& options = {}) {
    return asked(kMisbehaving + " " + mode, options);
  }

  std::string temporary_;
};

TEST_F(ProgramOracles, Answer) {
  EXPECT_EQ(asked_in_mode("well"), "");
  EXPECT_EQ(asked_in_mode("well {in} {out}"), "");
  EXPECT_EQ(asked("'" + kMisbehaving + "' \"well\" {in} '{out}'", {}, 2), "");
  EXPECT_EQ(asked_in_mode("floods"), "") << "standard error is nobody's business while all is well";
}

TEST_F(ProgramOracles, LargeBatchesPassThroughPipes) {
  const Instruction dot = make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp16, FormatId::fp32, 16);
  const auto program = start_program(kMisbehaving + " well");
  Tiles tiles = some_tiles(20'000);  // far more than a pipe holds
  make_program_oracle(dot, std::nullopt, program)->answer(tiles);
  EXPECT_EQ(tiles.d, Codes(4, 240'000));
  finish_program(*program);
}

struct Misbehaviour {
  std::string mode;
  std::vector<std::string> said;
};

TEST_F(ProgramOracles, MisbehaviourIsSaidInOneLine) {
  for (const auto& [mode, said] : std::vector<Misbehaviour>{
           {"dies", {"ended with status 3 before answer 1", "its standard error ends: a warning\\nno licence"}},
           {"dies-midway", {"was ended by signal 6", "after 20 bytes of answer 3"}},
           {"leaves-a-child", {"ended with status 5 before answer 1"}},
           {"closes-input", {"closed its standard input before answer 1"}},
           {"closes-output", {"closed its standard output before answer 1"}},
           {"shape", {"answer to batch 1: tensor D: shape: [3, 2, 4]; expected [2, 3, 4]"}},
           {"dtype", {"answer to batch 1: tensor D: dtype: \"I32\"; expected \"F32\", as it holds fp32"}},
           {"name", {"answer to batch 1: tensor D: missing"}},
           {"length", {"begins answer 1 with a length of 1152921504606846976 bytes", "expected 8 bytes"}},
           {"banner", {"begins answer 1 with a length of", "nothing else on standard output"}},
           {"status", {"ended with status 4 after its last answer"}},
           {"dies {in} {out}", {"ended with status 3; expected status 0", "no licence"}},
           {"silent {in} {out}", {"wrote no file {out}"}},
           {"garbage {in} {out}", {"answer to batch 1: header length: the file has 7 bytes"}},
           {"shape {in} {out}", {"answer to batch 1: tensor D: shape: [3, 2, 4]"}},
           {"well {in}", {"has {in} and no {out}; expected both"}},
       }) {
    const std::string message = asked_in_mode(mode);
    SCOPED_TRACE(mode + ": " + message);
    EXPECT_TRUE(message.starts_with(kMisbehaving + " " + mode + ": "));
    for (const std::string& part : said) EXPECT_NE(message.find(part), std::string::npos) << part;
    EXPECT_NE(message.find("expected"), std::string::npos);
    EXPECT_EQ(message.find('\n'), std::string::npos);
    EXPECT_LT(message.size(), 1000u);
  }
}

TEST_F(ProgramOracles, ExtraBytesAreNoAnswer) {
  // They come with the answer or after it, and are then taken for the length of the next.
  const std::string message = asked_in_mode("extra");
  EXPECT_TRUE(message.find("wrote 5 bytes that are no part of an answer") != std::string::npos ||
              message.find("begins answer 2 with a length of") != std::string::npos)
      << message;
}

TEST_F(ProgramOracles, ThatHangAreEnded) {
  for (const std::string mode : {"hangs", "hangs {in} {out}"}) {
    const std::string message = asked_in_mode(mode, {.time_limit = 0.1, .stop = nullptr});
    EXPECT_NE(message.find("gave no answer in 0.1 s; expected"), std::string::npos) << message;
  }
}

TEST_F(ProgramOracles, ThatAreStoppedAreEnded) {
  for (const std::string mode : {"hangs", "hangs {in} {out}"}) {
    std::atomic<bool> stop = false;
    std::thread stopper([&] { stop = true; });
    EXPECT_THROW(static_cast<void>(asked_in_mode(mode, {.time_limit = 600, .stop = &stop})), UnavailableError);
    stopper.join();
  }
}

TEST_F(ProgramOracles, ThatCannotBeStartedAreTheUsersMistake) {
  EXPECT_NE(asked("./there-is-no-such-program").find("cannot be started: No such file"), std::string::npos);
  EXPECT_NE(asked("there-is-no-such-program x").find("cannot be started: No such file"), std::string::npos);
  EXPECT_NE(asked("/dev/null").find("cannot be started: Permission denied"), std::string::npos);
  EXPECT_NE(asked("/ {in} {out}").find("cannot be started: Permission denied"), std::string::npos);
  EXPECT_NE(asked("'a").find("a ' does not end"), std::string::npos);
}

TEST_F(ProgramOracles, ThatContradictThemselvesAreAFinding) {
  try {
    static_cast<void>(asked_in_mode("differs"));
    FAIL();
  } catch (const ContradictionError& error) {
    EXPECT_NE(std::string(error.what())
                  .find("answers differently the second time: batch 1, tile 0, element (0, 1) is "
                        "0x00000000 at first and 0x00000001 then"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(ProgramOracles, ThatHaveFailedAreNotAskedAgain) {
  const Instruction dot = make_dot(FormatId::fp32, FormatId::fp16, FormatId::fp16, FormatId::fp32, 16);
  const auto program = start_program(kMisbehaving + " dies");
  const auto oracle = make_program_oracle(dot, std::nullopt, program);
  Tiles tiles = some_tiles();
  const std::string first = refusal([&] { oracle->answer(tiles); });
  EXPECT_NE(first, "");
  EXPECT_EQ(refusal([&] { oracle->answer(tiles); }), first);
  EXPECT_EQ(refusal([&] { finish_program(*program); }), first);
}

// --- What is asked.

/// The program keeps the question, which is a vector file but for its D.
TEST_F(ProgramOracles, AreToldWhatIsAsked) {
  const std::string copy = path("question");
  const auto asked_of = [&](const Instruction& in, ArchId of, Tiles& tiles) {
    const auto keeper = start_program("sh -c 'cp \"$1\" \"" + copy + "\"; exit 1' sh {in} {out}");
    EXPECT_NE(refusal([&] { make_program_oracle(in, of, keeper)->answer(tiles); }), "");
    Vectors vectors = read_vectors(copy, false);
    fs::remove(copy);
    EXPECT_EQ(vectors.instruction, in.name());
    return vectors;
  };
  const Instruction& sparse = *find_instruction("mma.sp.m16n8k32.f32.f16.f16.f32");
  Tiles tiles = make_tiles(sparse.a, sparse.b, sparse.c, sparse.d, 1, 2, 2, 16);
  Vectors question = asked_of(sparse, ArchId::sm_90, tiles);
  EXPECT_EQ(question.arch, "sm_90");
  EXPECT_EQ(question.metadata.at("format_a"), "fp16");
  EXPECT_EQ(question.metadata.at("format_d"), "fp32");
  EXPECT_EQ(question.tiles.k, 32u);
  EXPECT_EQ(question.tiles.sparse_group, 4);

  const Instruction& scaled = *find_instruction("mma.m16n8k64.mxf4nvf4.4x.f32.e2m1.e2m1.f32.ue4m3");
  tiles = make_dot_tiles(scaled, 1, 2, 3);
  for (std::size_t i = 0; i < tiles.sa.size(); ++i) tiles.sa.set(i, i);
  for (std::size_t i = 0; i < tiles.sb.size(); ++i) tiles.sb.set(i, 0x7f - i);
  question = asked_of(scaled, ArchId::sm_120, tiles);
  EXPECT_EQ(question.metadata.at("format_scale"), "ue4m3");
  EXPECT_EQ(question.metadata.at("scale_block"), "16");
  EXPECT_EQ(question.tiles.sa, tiles.sa);
  EXPECT_EQ(question.tiles.sb, tiles.sb);
}

// --- Dot products that are no instruction's.

TEST(Dots, HaveNames) {
  EXPECT_EQ(make_dot(FormatId::fp32, FormatId::fp16, FormatId::bf16, FormatId::fp64, 12).name(),
            "dot.k12.f32.f16.bf16.f64");
  EXPECT_EQ(make_dot(FormatId::s32, FormatId::s8, FormatId::u4, FormatId::s32, 1).products(), 1);
  EXPECT_EQ(find_instruction("dot.k16.f32.f16.f16.f32"), nullptr);
  const Instruction scaled = make_dot(FormatId::fp32, FormatId::fp4e2m1, FormatId::fp4e2m1, FormatId::fp32, 64,
                                      {ScaleKind::dot, FormatId::ue4m3, 16});
  EXPECT_EQ(scaled.name(), "dot.k64.block16.f32.e2m1.e2m1.f32.ue4m3");
  EXPECT_EQ(scaled.scale_blocks(), 4);
}

TEST(Dots, ThatAreNoneAreRefused) {
  using enum FormatId;
  const auto refused = [](FormatId d, FormatId a, FormatId b, FormatId c, int k) {
    return refusal([&] { static_cast<void>(make_dot(d, a, b, c, k)); });
  };
  EXPECT_TRUE(refused(fp32, fp16, fp16, fp32, 0).starts_with("k: 0; expected 1 to 256"));
  EXPECT_TRUE(refused(fp32, fp16, fp16, fp32, 257).starts_with("k: 257; expected 1 to 256"));
  EXPECT_TRUE(refused(fp32, s8, fp16, fp32, 16).starts_with("a: s8, and d is fp32; expected"));
  EXPECT_TRUE(refused(fp32, fp16, ue8m0, fp32, 16).starts_with("b: ue8m0; expected"));
  const auto refused_scales = [](FormatId d, FormatId a, const Scaling& scales) {
    return refusal([&] { static_cast<void>(make_dot(d, a, a, d, 48, scales)); });
  };
  EXPECT_EQ(refused_scales(fp32, fp8e4m3, {ScaleKind::dot, ue8m0, 32}),
            "scale-block: 32; expected a number of products that divides k, 48");
  EXPECT_EQ(refused_scales(fp32, fp8e4m3, {ScaleKind::dot, fp8e4m3, 16}),
            "scale-format: fp8e4m3; expected ue8m0 or ue4m3");
  EXPECT_TRUE(refused_scales(s32, s8, {ScaleKind::dot, ue8m0, 16}).starts_with("scale-block: expected none"));
}

}  // namespace
}  // namespace tcnum::program_oracle_test
