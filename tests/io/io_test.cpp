// What comes in and goes out, whatever a stranger put there: JSON, files, and text as people are shown it.
// Labels: sanitized
#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <set>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "files.hpp"
#include "io/input_file.hpp"
#include "io/json.hpp"
#include "io/printable.hpp"
#include "io/replacement_file.hpp"

namespace tcnum::io_test {
namespace {

std::string json_refusal(const std::string& text, const JsonLimits& limits = {}) {
  return refusal([&] { static_cast<void>(parse_json(text, "f", limits)); });
}

std::string repeated(const std::string& text, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += text;
  return all;
}

// --- JSON

TEST(ReadingJson, GivesWhatTheLibraryGives) {
  for (const std::string text :
       {"null", "true", "-7", "18446744073709551615", "2.5e-3", R"("a\u00e9\n")", "[]", "{}", "[[], {}, [1, [2]]]",
        R"({"b": 1, "a": {"c": [null, {"": ""}]}, "B": "x"})", "  [1 , 2]\n"}) {
    EXPECT_EQ(parse_json(text, "f"), nlohmann::ordered_json::parse(text)) << text;
    EXPECT_EQ(parse_json(text, "f").dump(), nlohmann::ordered_json::parse(text).dump()) << text;
  }
  EXPECT_TRUE(parse_json("7", "f").is_number_unsigned());
  EXPECT_TRUE(parse_json("-7", "f").is_number_integer());
  EXPECT_TRUE(parse_json("18446744073709551616", "f").is_number_float()) << "no integer holds it";
}

TEST(ReadingJson, RefusesWhatIsNoJson) {
  for (const std::string text : {"", "{", "[1,]", "NaN", "01", "[1] [2]", "// a comment\n1", "\"\xff\"", "1e400"}) {
    const std::string message = json_refusal(text);
    EXPECT_TRUE(message.starts_with("f: byte ")) << text << ": " << message;
  }
  EXPECT_EQ(json_refusal("\xef\xbb\xbf{}"), "f: byte 1: is a byte order mark; expected JSON without it");
  EXPECT_EQ(json_refusal(std::string("{}\0{}", 5)), "f: byte 3: is zero; expected JSON in UTF-8");
}

TEST(ReadingJson, HasLimits) {
  const JsonLimits limits = {.bytes = 1 << 20, .levels = 3, .members = 4, .values = 8};
  EXPECT_EQ(json_refusal("[[[]]]", limits), "");
  EXPECT_EQ(json_refusal("[[[[]]]]", limits), "f: is nested deeper than 3 levels");
  EXPECT_EQ(json_refusal("{\"a\":{\"b\":{\"c\":{}}}}", limits), "f: is nested deeper than 3 levels");
  EXPECT_EQ(json_refusal(repeated("[", 80'000)), "f: is nested deeper than 4180 levels");
  EXPECT_EQ(json_refusal(R"({"a":1,"b":2,"c":3,"d":4})", limits), "");
  EXPECT_EQ(json_refusal(R"({"x":{"a":1,"b":2,"c":3,"d":4,"e":5}})", limits),
            "f: \"x\": an object has more than 4 members");
  EXPECT_EQ(json_refusal("[[],[],[],[],[],[],[]]", limits), "");
  EXPECT_EQ(json_refusal("[[],[],[],[],[],[],[],[]]", limits), "f: holds more than 8 values");
  EXPECT_EQ(json_refusal(std::string((1 << 20) + 1, ' '), limits), "f: is larger than 1 MiB");
}

TEST(ReadingJson, RefusesKeysThatStandTwice) {
  EXPECT_EQ(json_refusal(R"({"a":1,"b":2,"a":3})"), "f: \"a\": this key appears twice in one object");
  EXPECT_EQ(json_refusal(R"({"o":[{"a":1},{"a":1,"\u0061":3}]})"),
            "f: \"o\".\"a\": this key appears twice in one object");
  EXPECT_EQ(json_refusal(R"({"a":{"a":1},"b":{"a":1},"a\u0000":1})"), "");
}

/// The library's own reader looks at each member for each that it adds: this text took it minutes.
TEST(ReadingJson, TakesTimeInProportionToTheText) {
  std::string members;
  for (int i = 0; i < 10'000; ++i) members += (i == 0 ? "\"k" : ",\"k") + std::to_string(i) + "\":0";
  std::string text = "[";
  for (int i = 0; i < 20; ++i) text += (i == 0 ? "{" : ",{") + members + "}";
  const auto json = parse_json(text + "]", "f");
  EXPECT_EQ(json.size(), 20u);
  EXPECT_EQ(json.back().size(), 10'000u);
}

/// Nor does it copy what lies in an object whenever another member is added: with 20,000 numbers under 1000 objects of
/// five members each, that were 60 million copies.
TEST(ReadingJson, CopiesNothing) {
  const std::string text = repeated("{\"a\":", 1000) + "[0" + repeated(",0", 20'000) + "]" +
                           repeated(",\"b\":0,\"c\":0,\"d\":0,\"e\":0}", 1000);
  EXPECT_EQ(parse_json(text, "f").size(), 5u);
}

TEST(ReadingJson, QuotesLittle) {
  const std::string large(1 << 20, 'x');
  for (const std::string& text : {"\"" + large, "{\"" + large + "\":1,\"" + large + "\":2}", "1" + large,
                                  repeated("9", 1 << 20), "{\"" + large + "\": 1e999}"}) {
    const std::string message = json_refusal(text);
    EXPECT_FALSE(message.empty());
    EXPECT_LT(message.size(), 400u) << message;
  }
  EXPECT_EQ(json_refusal("{\"\\u001b[2J\":1,\"\\u001b[2J\":2}"),
            "f: \"\\u001b[2J\": this key appears twice in one object");
}

// --- Files

TEST_F(Files, OnlyRegularOnesAreRead) {
  file_of("file", "[1]");
  fs::create_symlink("file", path("link"));
  fs::create_symlink("loop", path("loop"));
  fs::create_directory_symlink(".", path("folder"));
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  const auto refusal_of = [](const std::string& file) {
    return refusal([&] { static_cast<void>(read_json(file, "a list")); });
  };
  EXPECT_EQ(refusal_of(path("link")), "");
  EXPECT_EQ(refusal_of(path("none")), path("none") + ": cannot be read: No such file or directory");
  EXPECT_EQ(refusal_of(path("folder")), path("folder") + ": cannot be read: Is a directory");
  EXPECT_NE(refusal_of(path("loop")).find("loop: cannot be read: Too many levels"), std::string::npos);
  for (const std::string& file : {path("pipe"), std::string("/dev/zero"), std::string("/dev/null")}) {
    EXPECT_EQ(refusal_of(file), file + ": cannot be read: not a regular file; expected a list");
  }
  EXPECT_TRUE(refusal_of(path("file\n")).starts_with(path("file\\n: ")));
}

TEST_F(Files, AreReadUpToALimit) {
  file_of("file", std::string((1 << 20) + 1, 'x'));
  EXPECT_EQ(read_text(path("file"), "text", 2 << 20).size(), (1u << 20) + 1);
  EXPECT_EQ(refusal([&] { static_cast<void>(read_text(path("file"), "text", 1 << 20)); }),
            path("file") + ": is larger than 1 MiB; expected text");
}

TEST_F(Files, AreReplacedAsAWholeOrNotAtAll) {
  file_of("file", "old");
  {
    ReplacementFile file(path("file"));
    file.write("new");
    EXPECT_EQ(contents(path("file")), "old");
    EXPECT_EQ(files().size(), 2u);
  }
  EXPECT_EQ(contents(path("file")), "old");
  EXPECT_EQ(files(), std::vector<std::string>{"file"});
  ReplacementFile file(path("file"));
  file.write("n");
  file.write("ew");
  file.commit();
  EXPECT_EQ(contents(path("file")), "new");
  EXPECT_EQ(files(), std::vector<std::string>{"file"});
}

TEST_F(Files, AreReplacedWhereALinkLeads) {
  file_of("file", "old");
  fs::create_symlink("file", path("link"));
  ReplacementFile file(path("link"));
  file.write("new");
  file.commit();
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(contents(path("file")), "new");
}

TEST(Descriptors, ThatHaveNoRoomAreWaitedFor) {
  std::array<int, 2> ends;
  ASSERT_EQ(pipe2(ends.data(), O_NONBLOCK), 0);
  const std::string text(1 << 20, 'x');  // more than a pipe holds
  std::size_t read_bytes = 0;
  std::thread reader([&] {
    std::vector<char> buffer(1 << 16);
    for (;;) {
      const ssize_t n = ::read(ends[0], buffer.data(), buffer.size());
      if (n == 0) break;
      if (n > 0) read_bytes += static_cast<std::size_t>(n);
      if (n < 0) std::this_thread::yield();
    }
  });
  EXPECT_EQ(write_all(ends[1], std::as_bytes(std::span(text))), 0);
  close(ends[1]);
  reader.join();
  close(ends[0]);
  EXPECT_EQ(read_bytes, text.size());
}

/// Else somebody who may write to the folder too could have a link wait there.
TEST_F(Files, HaveTemporaryNamesThatNobodyForesees) {
  std::set<std::string> seen;
  for (int i = 0; i < 3; ++i) {
    const ReplacementFile file(path("file"));
    for (const std::string& name : files()) seen.insert(name);
  }
  EXPECT_EQ(seen.size(), 3u);
  for (const std::string& name : seen) EXPECT_EQ(name.find(std::to_string(getpid())), std::string::npos) << name;
}

TEST_F(Files, HaveThePermissionsThatTheUserIsUsedTo) {
  const mode_t before = umask(027);
  ReplacementFile file(path("file"));
  file.commit();
  umask(before);
  struct stat info = {};
  ASSERT_EQ(stat(path("file").c_str(), &info), 0);
  EXPECT_EQ(info.st_mode & 0777u, 0640u);
}

TEST_F(Files, KeepThePermissionsOfWhatTheyReplace) {
  for (const mode_t mode : {0600u, 0644u, 0755u}) {
    std::ofstream(path("file")) << "old";
    ASSERT_EQ(chmod(path("file").c_str(), mode), 0);
    ReplacementFile file(path("file"));
    file.write("new");
    file.commit();
    struct stat info = {};
    ASSERT_EQ(stat(path("file").c_str(), &info), 0);
    EXPECT_EQ(info.st_mode & 0777u, mode);
  }
}

// --- Text

TEST(Printable, LeavesTextAndEscapesTheRest) {
  struct Row {
    std::string text, shown;
  };
  const std::vector<Row> rows = {
      {"", ""},
      {"NVIDIA H200 (µ, …, 数, 🙂) \\n", "NVIDIA H200 (µ, …, 数, 🙂) \\n"},
      {"\x1b[2J\x1b[H", "\\u001b[2J\\u001b[H"},
      {"a\nb\r\tc", "a\\nb\\r\\tc"},
      {std::string("a\0b\x7f", 4), "a\\u0000b\\u007f"},
      {"\u009b2J", "\\u009b2J"},
      {"\u202egnp.exe", "\\u202egnp.exe"},
      {"\u2028\ufeff\u200b", "\\u2028\\ufeff\\u200b"},
      {"\U000e0041", "\\udb40\\udc41"},
      {"\xff\xc0\x80", "\\xff\\xc0\\x80"},
      {"\xed\xa0\x80\xe2\x82", "\\xed\\xa0\\x80\\xe2\\x82"},
      {"\xf4\x90\x80\x80", "\\xf4\\x90\\x80\\x80"},
  };
  for (const Row& row : rows) {
    EXPECT_EQ(printable(row.text), row.shown);
    EXPECT_EQ(printable(row.shown), row.shown) << "once is enough";
  }
  EXPECT_EQ(printable_lines("a\x1b\nb\n"), "a\\u001b\nb\n");
  const nlohmann::json json = {{"a\x7f", "\u009b\x1b\U000e0041"}};
  EXPECT_EQ(nlohmann::json::parse(printable_lines(json.dump(2))), json) << "JSON says the same";
}

TEST(Printable, CutsWhatIsLong) {
  EXPECT_EQ(shown(repeated("µ", 60)), repeated("µ", 60));
  EXPECT_EQ(shown(repeated("µ", 61)), repeated("µ", 60) + "…");
  EXPECT_EQ(in_quotes("a\"b\n"), "\"a\\\"b\\n\"");
  EXPECT_EQ(in_quotes(std::string(1 << 20, 'x')), "\"" + std::string(60, 'x') + "…\"");
  EXPECT_EQ(shortened("abcdefghijklmnop", 16), "abcdefghijklmnop");
  EXPECT_EQ(shortened("abcdefghijklmnopq", 13), "abcde…mnopq");
  EXPECT_EQ(shortened("µµµµµµµµµ", 10), "µ…µ") << "no half characters";
}

TEST(Printable, ErrorsAreOneShortLine) {
  const std::string long_line = std::string(1 << 20, 'x') + "\n\x1b[2J; expected y";
  for (const std::string& what :
       {std::string(InputError(long_line).what()), std::string(UnavailableError(long_line).what())}) {
    EXPECT_LE(what.size(), 2000u);
    EXPECT_TRUE(what.ends_with("\\n\\u001b[2J; expected y"));
  }
}

}  // namespace
}  // namespace tcnum::io_test
