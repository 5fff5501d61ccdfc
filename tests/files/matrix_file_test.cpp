// Matrices of files: what others write is read, what is written others can read, and what is neither is refused.
// Labels: sanitized
#include "src/files/matrix_file.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <random>
#include <string>
#include <vector>

#include "files.hpp"
#include "src/files/npy.hpp"
#include "src/files/product_matrices.hpp"
#include "src/files/safetensors.hpp"
#include "tcnum/error.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

class Npy : public Files {};
class MatrixFiles : public Files {};
class Product : public Files {};

StoredTensor tensor_of(FormatId id, std::vector<std::size_t> shape, const std::vector<std::uint64_t>& codes) {
  StoredTensor tensor{id, std::move(shape), Codes(format(id).storage_bytes(), codes.size()), false};
  for (std::size_t i = 0; i < codes.size(); ++i) tensor.codes.set(i, codes[i]);
  return tensor;
}

StoredTensor random_tensor(FormatId id, std::vector<std::size_t> shape, std::uint64_t seed = 1) {
  std::mt19937_64 random(seed);
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  std::vector<std::uint64_t> codes(count);
  for (std::uint64_t& code : codes) code = random() & format(id).code_mask();
  return tensor_of(id, std::move(shape), codes);
}

/// The same matrix with its columns one after the other.
StoredTensor column_major(const StoredTensor& matrix) {
  StoredTensor turned = matrix;
  turned.column_major = true;
  for (std::size_t i = 0; i < matrix.shape[0]; ++i) {
    for (std::size_t j = 0; j < matrix.shape[1]; ++j)
      turned.codes.set(j * matrix.shape[0] + i, matrix.codes[i * matrix.shape[1] + j]);
  }
  return turned;
}

// --- .npy ---------------------------------------------------------------------------------------------------------

/// Version 1.0, as numpy.save writes it where 118 bytes are enough for the header.
std::string npy(const std::string& dict, const std::string& data) {
  return std::string("\x93NUMPY\1\0v\0", 10) + dict + std::string(117 - dict.size(), ' ') + "\n" + data;
}

std::string dict(const std::string& descr, const std::string& shape, bool fortran_order = false) {
  return "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': " + shape +
         ", }";
}

StoredTensor read_array(const std::string& path, std::optional<FormatId> asked = std::nullopt) {
  return read_npy(NpyFile(path), asked);
}

struct Golden {
  const char* name;
  std::string bytes;  ///< what NumPy 1.24 wrote
  StoredTensor tensor;
};

const std::vector<Golden>& golden_arrays() {
  static const std::vector<Golden> rows = {
      {"np.array([[1, 2, 3], [4, 5, 6]], '<f2')",
       npy("{'descr': '<f2', 'fortran_order': False, 'shape': (2, 3), }", {"\0<\0@\0B\0D\0E\0F", 12}),
       tensor_of(FormatId::fp16, {2, 3}, {0x3c00, 0x4000, 0x4200, 0x4400, 0x4500, 0x4600})},
      {"np.array([[1.5]])",
       npy("{'descr': '<f8', 'fortran_order': False, 'shape': (1, 1), }", {"\0\0\0\0\0\0\xf8?", 8}),
       tensor_of(FormatId::fp64, {1, 1}, {0x3ff8000000000000})},
      {"np.array([1, -2, 3], '<i4')",
       npy("{'descr': '<i4', 'fortran_order': False, 'shape': (3,), }", {"\1\0\0\0\xfe\xff\xff\xff\3\0\0\0", 12}),
       tensor_of(FormatId::s32, {3}, {1, 0xfffffffe, 3})},
      {"np.arange(12, dtype='u1').reshape(2, 3, 2)",
       npy("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 3, 2), }", {"\0\1\2\3\4\5\6\7\10\11\12\13", 12}),
       tensor_of(FormatId::u8, {2, 3, 2}, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11})},
  };
  return rows;
}

TEST_F(Npy, IsWhatNumPyWrites) {
  for (const Golden& row : golden_arrays()) {
    SCOPED_TRACE(row.name);
    write_npy(path("d.npy"), row.tensor);
    EXPECT_EQ(contents(path("d.npy")), row.bytes);
    EXPECT_EQ(read_array(path("d.npy")), row.tensor);
  }
  EXPECT_EQ(files(), std::vector<std::string>{"d.npy"});
}

TEST_F(Npy, ReadsFortranOrder) {
  // np.asfortranarray(np.array([[1, 2, 3], [4, 5, 6]], '<f4'))
  const std::string two = npy("{'descr': '<f4', 'fortran_order': True, 'shape': (2, 3), }",
                              {"\0\0\x80?\0\0\x80@\0\0\0@\0\0\xa0@\0\0@@\0\0\xc0@", 24});
  const StoredTensor rows =
      tensor_of(FormatId::fp32, {2, 3}, {0x3f800000, 0x40000000, 0x40400000, 0x40800000, 0x40a00000, 0x40c00000});
  EXPECT_EQ(read_array(file_of("a.npy", two)), column_major(rows));
  expect_line(refusal([&] { read_array(file_of("a.npy", npy(dict("|u1", "(2, 3, 2)", true), "0123456789ab"))); }),
              path("a.npy"), {"fortran_order: True of three axes"});
  const std::string one = npy(dict("<u2", "(2,)", true), "abcd");
  EXPECT_EQ(read_array(file_of("a.npy", one), FormatId::bf16), tensor_of(FormatId::bf16, {2}, {0x6261, 0x6463}));
}

/// More than is read or written at once.
TEST_F(Npy, ReadsAndWritesMatricesOfManyStretches) {
  const std::size_t batches = 3, rows = 701, columns = 607;
  const StoredTensor plain = random_tensor(FormatId::s4, {batches, rows, columns});
  std::string data;
  for (std::size_t i = 0; i < batches * rows * columns; ++i) {
    const std::uint64_t code = plain.codes[i];
    data.push_back(static_cast<char>(code < 8 ? code : code | 0xf0));
  }
  const std::string header = dict("|i1", "(3, 701, 607)");
  EXPECT_EQ(read_array(file_of("a.npy", npy(header, data)), FormatId::s4), plain);
  write_npy(path("d.npy"), plain);
  EXPECT_EQ(read_array(path("d.npy"), FormatId::s4), plain);
  // The last element of all.
  data.back() = 8;
  expect_line(refusal([&] { read_array(file_of("a.npy", npy(header, data)), FormatId::s4); }), path("a.npy"),
              {"data: element 1276520 is 0x08, which is no s4"});

  const StoredTensor matrix = random_tensor(FormatId::s4, {1000, 1500});
  write_npy(path("d.npy"), column_major(matrix));
  EXPECT_EQ(read_array(path("d.npy"), FormatId::s4), matrix);
}

TEST_F(Npy, ReadsEveryVersionAndSpelling) {
  const std::string text = dict("<f2", "(1, 2)") + "\n";
  const StoredTensor tensor = tensor_of(FormatId::fp16, {1, 2}, {0x6261, 0x6463});
  const auto file = [&](const std::string& version_and_length, const std::string& header) {
    return file_of("a.npy", "\x93NUMPY" + version_and_length + header + "abcd");
  };
  const auto length = static_cast<char>(text.size());
  EXPECT_EQ(read_array(file({1, 0, length, 0}, text)), tensor);  // neither NumPy's alignment is required
  EXPECT_EQ(read_array(file({2, 0, length, 0, 0, 0}, text)), tensor);
  EXPECT_EQ(read_array(file({3, 0, length, 0, 0, 0}, text)), tensor);
  for (const std::string spelling : {
           "{'shape': (1, 2), 'fortran_order': False, 'descr': '<f2'}",
           R"({"descr":"<f2","fortran_order":False,"shape":(1,2)})",
           " { 'descr' : '<f2' , 'fortran_order' : False , 'shape' : ( 1 , 2 , ) , } \n",
       }) {
    EXPECT_EQ(read_array(file({1, 0, static_cast<char>(spelling.size()), 0}, spelling)), tensor) << spelling;
  }
}

struct Typed {
  const char* descr;
  std::vector<FormatId> implied, taken, refused;  ///< without and with a format that is asked for
};

TEST_F(Npy, HoldsTheFormatsThatATypeCan) {
  using enum FormatId;
  const std::vector<Typed> rows = {
      {"<f4", {fp32}, {fp32, tf32}, {s32, fp16, fp64}},
      {"<f2", {fp16}, {fp16}, {bf16, fp8e4m3}},
      {"<u2", {}, {fp16, bf16}, {fp32, u8}},
      {"|V2", {}, {bf16}, {tf32}},
      {"<V1", {}, {fp8e4m3, fp8e5m2, ue8m0, ue4m3, fp4e2m1}, {bf16}},
      {"|u1", {u8}, {u8, u4, b1, fp8e4m3, fp6e2m3, s4}, {fp16}},
      {"|i1", {s8}, {s8, s4, fp8e5m2}, {s32}},
      {"<i4", {s32}, {s32, fp32}, {s8}},
      {"<i8", {}, {fp64}, {fp32}},
      {"|b1", {b1}, {b1}, {u8}},
      {"<f1", {fp8e5m2}, {fp8e5m2}, {fp8e4m3}},
      {"bfloat16", {bf16}, {bf16}, {fp16}},
      {"float8_e4m3fn", {fp8e4m3}, {fp8e4m3, ue4m3}, {fp8e4m3fnuz, u8}},
      {"float32", {fp32}, {fp32, tf32}, {s32}},
      {"float4_e2m1fn", {fp4e2m1}, {fp4e2m1}, {u4}},
  };
  for (const Typed& row : rows) {
    SCOPED_TRACE(row.descr);
    const int bytes = find_element_type(npy_types(), row.descr)->bits / 8;
    const std::string file = file_of("a.npy", npy(dict(row.descr, "(3,)"), std::string(3 * bytes, '\1')));
    if (row.implied.empty()) {
      expect_line(refusal([&] { read_array(file); }), file, {"descr: ", "does not tell which format", "expected"});
    } else {
      EXPECT_EQ(read_array(file).format, row.implied.front());
    }
    for (const FormatId id : row.taken) {
      const StoredTensor tensor = read_array(file, id);
      EXPECT_EQ(tensor.format, id);
      EXPECT_EQ(tensor.codes[2], 0x0101010101010101u >> (64 - 8 * bytes)) << format(id).name;
    }
    for (const FormatId id : row.refused) {
      expect_line(refusal([&] { read_array(file, id); }), file,
                  {std::string("descr: \"") + row.descr + "\" holds no " + std::string(format(id).name)});
    }
  }
}

struct BadArray {
  const char* name;
  std::string bytes;
  std::vector<std::string> expected;
};

std::vector<BadArray> bad_arrays() {
  const std::string good = npy(dict("<f2", "(2, 3)"), std::string(12, 'x'));
  const auto with = [](const std::string& text) { return npy(text, std::string(12, 'x')); };
  const auto magic = [&](std::size_t at, char c) {
    std::string bytes = good;
    bytes[at] = c;
    return bytes;
  };
  return {
      {"empty", "", {"magic: the file is empty", "\\x93NUMPY"}},
      {"another magic", magic(0, 'P'), {"magic: \"PNUMPY\"", "\\x93NUMPY"}},
      {"version 4.0", magic(6, 4), {"version: 4.0; expected 1.0, 2.0 or 3.0"}},
      {"no length", good.substr(0, 9), {"header length: missing", "9 bytes"}},
      {"header cut short", good.substr(0, 60), {"header length: 118 bytes; expected at most 50"}},
      {"long header",
       "\x93NUMPY" + std::string({2, 0, '\x11', '\x27', 0, 0}) + std::string(20'000, ' '),
       {"header length: 10001 bytes; expected at most 10000"}},
      {"no header", std::string("\x93NUMPY\1\0\0\0", 10), {"header: ", "JSON"}},
      {"a list", with("['descr', '<f2']"), {"header: "}},
      {"no descr", with("{'fortran_order': False, 'shape': (2, 3)}"), {"descr: missing"}},
      {"another key", with("{'descr': '<f2', 'order': 1}"), {"header: \"order\": unknown"}},
      {"descr twice", with("{'descr': '<f2', 'descr': '<f2'}"), {"header: ", "this key appears twice"}},
      {"big-endian", with(dict(">f2", "(2, 3)")), {"descr: '>f2' is big-endian; expected '<f2'"}},
      {"complex", with(dict("<c8", "(2, 3)")), {"descr: \"<c8\" is unknown; expected one of <f8, <f4, <f2"}},
      {"fields", with("{'descr': [('x', '<f2')], }"), {"descr: ", "one simple type"}},
      {"order is no bool", with("{'descr': '<f2', 'fortran_order': 0}"), {"fortran_order: ", "True or False"}},
      {"no axes", with(dict("<f2", "()")), {"shape: ", "tuple of 1 to 3"}},
      {"four axes", with(dict("<f2", "(1, 1, 2, 3)")), {"shape: ", "tuple of 1 to 3"}},
      {"negative", with(dict("<f2", "(-2, 3)")), {"shape: ", "whole numbers"}},
      {"beyond 64 bits", with(dict("<f2", "(18446744073709551616,)")), {"shape: ", "whole numbers"}},
      {"product beyond 64 bits",
       with(dict("<f2", "(4294967296, 4294967296)")),
       {"data: 12 bytes; expected more than 2^64, the size of (4294967296, 4294967296) '<f2'"}},
      {"cut short", good.substr(0, good.size() - 1), {"data: 11 bytes; expected 12, the size of (2, 3) '<f2'"}},
      {"more data", good + "x", {"data: 13 bytes; expected 12"}},
      {"no elements", npy(dict("<f2", "(0, 3)"), ""), {"shape: [0, 3]; expected", "1 or more"}},
  };
}

TEST_F(Npy, RefusesBadArrays) {
  for (const BadArray& row : bad_arrays()) {
    SCOPED_TRACE(row.name);
    const std::string file = file_of("a.npy", row.bytes);
    expect_line(refusal([&] { read_array(file); }), file, row.expected);
  }
}

// --- safetensors --------------------------------------------------------------------------------------------------

std::string codes_of(std::size_t bytes) {
  std::string text;
  for (std::size_t i = 0; i < bytes; ++i) text.push_back(static_cast<char>(i * 37 + 1));
  return text;
}

/// A product of 3 × 4 by 4 × 2.
Parts good_parts() {
  Parts parts;
  parts.header["__metadata__"] = {{"format_b", "fp4e2m1"}, {"note", "mine"}};
  parts.add("A", "F16", {3, 4}, codes_of(24));
  parts.add("B", "U8", {4, 2}, "\1\2\3\4\5\6\7\10");
  parts.add("bias", "F32", {2}, codes_of(8));
  parts.add("table", "I64", {1, 1, 1, 2}, codes_of(16));
  return parts;
}

TEST_F(MatrixFiles, ReadWhatIsAskedFor) {
  Parts parts = good_parts();
  parts.header["__metadata__"]["format_table"] = "no such";  // nobody asks for it
  const MatrixFile file(file_of("m.safetensors", parts.bytes()));
  EXPECT_TRUE(file.has("bias"));
  EXPECT_FALSE(file.has("C"));
  EXPECT_EQ(file.metadata().at("note"), "mine");
  const StoredTensor b = file.read("B");
  EXPECT_EQ(b, tensor_of(FormatId::fp4e2m1, {4, 2}, {1, 2, 3, 4, 5, 6, 7, 8}));
  const StoredTensor a = file.read("A");
  EXPECT_EQ(a.format, FormatId::fp16);
  EXPECT_EQ(a.shape, (std::vector<std::size_t>{3, 4}));
  EXPECT_EQ(a.codes[11], (static_cast<std::uint8_t>(22 * 37 + 1) | static_cast<std::uint8_t>(23 * 37 + 1) << 8));
  EXPECT_EQ(file.read("bias").shape, std::vector<std::size_t>{2});
  expect_line(refusal([&] { file.read("C"); }), file.path(), {"tensor C: missing"});
}

TEST_F(MatrixFiles, TellTheFormat) {
  struct Row {
    const char *dtype, *metadata;  ///< null: none
    std::optional<FormatId> asked;
    std::optional<FormatId> format;
    std::vector<std::string> refusal;
  };
  using enum FormatId;
  const std::vector<Row> rows = {
      {"F32", nullptr, {}, fp32, {}},
      {"F16", nullptr, {}, fp16, {}},
      {"F8_E4M3", nullptr, {}, fp8e4m3, {}},
      {"F8_E8M0", nullptr, {}, ue8m0, {}},
      {"U8", nullptr, {}, u8, {}},
      {"I32", nullptr, {}, s32, {}},
      {"BOOL", nullptr, {}, b1, {}},
      {"F32", "tf32", {}, tf32, {}},
      {"F32", nullptr, tf32, tf32, {}},
      {"U8", "e4m3", {}, fp8e4m3, {}},  // PTX's spelling
      {"U8", "fp8e4m3fnuz", fp8e4m3fnuz, fp8e4m3fnuz, {}},
      {"U16", nullptr, bf16, bf16, {}},
      {"I16", "fp16", {}, fp16, {}},
      {"I8", "s4", {}, s4, {}},
      {"U16",
       nullptr,
       {},
       {},
       {"tensor A: dtype: \"U16\" does not tell which format; expected __metadata__.format_a, one of bf16, "
        "fp16"}},
      {"I64", nullptr, {}, {}, {"tensor A: dtype: \"I64\" does not tell which format", "fp64"}},
      {"F16",
       "bf16",
       {},
       {},
       {"tensor A: dtype: \"F16\" holds no bf16, which __metadata__.format_a says; expected one of BF16, I16, "
        "U16"}},
      {"F32", nullptr, fp16, {}, {"tensor A: dtype: \"F32\" holds no fp16, which was asked for"}},
      {"F32", "tf32", fp32, {}, {"__metadata__.format_a: \"tf32\"; expected fp32"}},
      {"F32", "float", {}, {}, {"__metadata__.format_a: \"float\" is unknown"}},
      {"F4", nullptr, {}, {}, {"tensor A: dtype: \"F4\" is not supported", "bytes of its own"}},
      {"F4", "fp4e2m1", {}, {}, {"tensor A: dtype: \"F4\" holds no fp4e2m1", "one of I8, U8"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(std::string(row.dtype) + " " + (row.metadata == nullptr ? "" : row.metadata));
    Parts parts;
    if (row.metadata != nullptr) parts.header["__metadata__"] = {{"format_a", row.metadata}};
    const int bits = find_element_type(safetensors_types(), row.dtype)->bits;
    parts.add("A", row.dtype, {2, 4}, std::string(static_cast<std::size_t>(bits), '\1'));
    const MatrixFile file(file_of("m.safetensors", parts.bytes()));
    if (row.format) {
      const StoredTensor tensor = file.read("A", row.asked);
      EXPECT_EQ(tensor.format, *row.format);
      EXPECT_EQ(tensor.codes[7], 0x0101010101010101u >> (64 - bits));
    } else {
      expect_line(refusal([&] { file.read("A", row.asked); }), file.path(), row.refusal);
    }
  }
}

TEST_F(MatrixFiles, KeepWhatTheyHoldBesideTheResults) {
  const MatrixFile file(file_of("m.safetensors", good_parts().bytes()));
  const StoredTensor d = random_tensor(FormatId::bf16, {3, 2});
  file.write_with(path("d.safetensors"), "D", d);
  Parts expected = good_parts();
  const auto codes = std::as_bytes(std::span(d.codes.bytes()));
  expected.add("D", "BF16", {3, 2}, {reinterpret_cast<const char*>(codes.data()), codes.size()});
  const Parts written = parts_of(contents(path("d.safetensors")));
  EXPECT_EQ(written.header, expected.header);
  EXPECT_EQ(written.data, expected.data);
  EXPECT_EQ(MatrixFile(path("d.safetensors")).read("D"), d);

  // Once more, in its own place: the D that was there is gone, and so is what was said of its format.
  for (const FormatId id : {FormatId::fp4e2m1, FormatId::fp32}) {
    const StoredTensor other = random_tensor(id, {2, 3, 2});
    MatrixFile(path("d.safetensors")).write_with(path("d.safetensors"), "D", other);
    const MatrixFile again(path("d.safetensors"));
    EXPECT_EQ(again.read("D"), other);
    EXPECT_EQ(again.metadata().count("format_d"), id == FormatId::fp4e2m1 ? 1u : 0u);
    EXPECT_EQ(again.read("A"), file.read("A"));
    EXPECT_EQ(again.metadata().at("note"), "mine");
  }
  EXPECT_EQ(files(), (std::vector<std::string>{"d.safetensors", "m.safetensors"}));
}

TEST_F(MatrixFiles, RoundTripEveryFormatAndLayout) {
  const MatrixFile empty(file_of("m.safetensors", Parts().bytes()));
  const auto expect_round_trip = [&](const StoredTensor& written, const StoredTensor& read) {
    empty.write_with(path("d.safetensors"), "bias", written);
    EXPECT_EQ(MatrixFile(path("d.safetensors")).read("bias"), read);
    write_npy(path("d.npy"), written);
    EXPECT_EQ(read_array(path("d.npy"), written.format), read);
  };
  for (const Format& f : kFormats) {
    for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{{5}, {2, 3}, {2, 3, 4}}) {
      SCOPED_TRACE(f.name);
      const StoredTensor tensor = random_tensor(f.id, shape);
      expect_round_trip(tensor, tensor);
      if (shape.size() == 2) expect_round_trip(column_major(tensor), tensor);
    }
  }
  // No metadata where there is nothing to say.
  empty.write_with(path("d.safetensors"), "D", random_tensor(FormatId::fp16, {1}));
  EXPECT_FALSE(parts_of(contents(path("d.safetensors"))).header.contains("__metadata__"));
}

TEST_F(MatrixFiles, KeepTensorsOfAnyTypeAndSize) {
  Parts parts;
  parts.add("empty", "F32", {0, 7}, "");
  parts.add("scalar", "F32", {}, "abcd");
  parts.add("packed", "F6_E2M3", {4, 2}, "abcdef");
  parts.add("large", "U8", {3, 1 << 20}, codes_of(3 << 20));
  parts.add("end", "BOOL", {0}, "");
  const std::string path_in = file_of("m.safetensors", parts.bytes());
  const StoredTensor d = tensor_of(FormatId::u8, {1}, {7});
  MatrixFile(path_in).write_with(path("d.safetensors"), "D", d);
  parts.add("D", "U8", {1}, "\7");
  const Parts written = parts_of(contents(path("d.safetensors")));
  EXPECT_EQ(written.header, parts.header);
  EXPECT_EQ(written.data, parts.data);
  expect_line(refusal([&] { MatrixFile(path_in).read("empty"); }), path_in, {"tensor empty: shape: [0, 7]"});
  expect_line(refusal([&] { MatrixFile(path_in).read("scalar"); }), path_in,
              {"tensor scalar: shape: []", "1 to 3 axes"});
}

/// vector_file_test has what is wrong with containers of any tensors.
TEST_F(MatrixFiles, RefuseBadContainers) {
  struct Row {
    const char* header;  ///< JSON that is merged with the good one's
    const char* expected;
  };
  for (const auto& [header, expected] :
       {Row{R"({"table": {"dtype": "F7"}})", "tensor table: dtype: \"F7\" is unknown; expected one of F64, F32"},
        Row{R"({"__metadata__": {"note": 1}})", "__metadata__.\"note\": 1; expected a string"},
        Row{R"({"x: fine": 1})", "tensor \"x: fine\": not an object"},
        Row{R"({"\u001b[2J\n": 1})", "tensor \"\\u001b[2J\\n\": not an object"}}) {
    Parts parts = good_parts();
    parts.header.merge_patch(ordered_json::parse(header));
    const std::string file = file_of("m.safetensors", parts.bytes());
    expect_line(refusal([&] { MatrixFile opened(file); }), file, {expected});
  }
}

TEST_F(MatrixFiles, RefuseWhatIsNoElement) {
  Parts parts = good_parts();
  parts.data[24 + 5] = '\x10';
  const MatrixFile file(file_of("m.safetensors", parts.bytes()));
  expect_line(refusal([&] { file.read("B"); }), file.path(),
              {"tensor B: data: element 5 is 0x10, which is no fp4e2m1; expected 4 bits, the rest zero"});
  EXPECT_EQ(file.read("A").format, FormatId::fp16);  // that of B is its own
}

/// A file with as many tensors as may be read takes no other one.
TEST_F(MatrixFiles, AreNotWrittenWhereTheyCouldNotBeRead) {
  const StoredTensor one{FormatId::u8, {1}, Codes(1, 1)};
  std::vector<std::string> names(10'000);
  for (std::size_t i = 0; i < names.size(); ++i) names[i] = "t" + std::to_string(i);
  std::vector<NamedTensor> tensors;
  for (const std::string& name : names) tensors.push_back({name, one});
  write_matrices(path("full.safetensors"), tensors);
  const MatrixFile full(path("full.safetensors"));
  EXPECT_THROW(full.write_with(path("more.safetensors"), "D", one), InputError);
  EXPECT_EQ(files(), (std::vector<std::string>{"full.safetensors"}));
}

TEST_F(MatrixFiles, LeaveNothingHalfWritten) {
  const StoredTensor d = random_tensor(FormatId::fp32, {3, 2});
  const MatrixFile file(file_of("m.safetensors", good_parts().bytes()));
  file_of("d.safetensors", "old");
  fs::resize_file(file.path(), fs::file_size(file.path()) - 1);
  expect_line(refusal([&] { file.write_with(path("d.safetensors"), "D", d); }), file.path(), {"became shorter"});
  EXPECT_EQ(contents(path("d.safetensors")), "old");
  EXPECT_EQ(files(), (std::vector<std::string>{"d.safetensors", "m.safetensors"}));
}

// --- Products -----------------------------------------------------------------------------------------------------

struct Tensor {
  const char *name, *dtype;
  std::vector<std::uint64_t> shape;
};

/// All codes 1.
std::string product_file(const std::vector<Tensor>& tensors, const ordered_json& metadata = {}) {
  Parts parts;
  if (!metadata.empty()) parts.header["__metadata__"] = metadata;
  for (const Tensor& each : tensors) {
    std::uint64_t bytes = static_cast<std::uint64_t>(find_element_type(safetensors_types(), each.dtype)->bits) / 8;
    for (const std::uint64_t extent : each.shape) bytes *= extent;
    parts.add(each.name, each.dtype, each.shape, std::string(bytes, '\1'));
  }
  return parts.bytes();
}

TEST_F(Product, HasBatchesAndScales) {
  const std::string file = file_of("p.safetensors", product_file({{"A", "F8_E4M3", {5, 3, 64}},
                                                                  {"B", "F8_E4M3", {64, 2}},
                                                                  {"C", "F32", {3, 2}},
                                                                  {"D", "F32", {5, 3, 2}},
                                                                  {"SA", "F8_E8M0", {5, 3, 2}},
                                                                  {"SB", "U8", {2, 2}}},
                                                                 {{"format_sb", "ue8m0"}}));
  const MatrixFile matrices(file);
  const ProductMatrices product = read_product(matrices, {.required = {"D"}});
  EXPECT_EQ(product.batches, 5u);
  EXPECT_TRUE(product.batched);
  EXPECT_EQ(product.scale_block, 32u);
  EXPECT_EQ(product.find("SB")->format, FormatId::ue8m0);
  EXPECT_EQ(product.find("D")->shape, (std::vector<std::size_t>{5, 3, 2}));

  const ProductMatrices whole = read_product(MatrixFile(
      file_of("q.safetensors",
              product_file({{"A", "I8", {3, 6}}, {"B", "I8", {6, 2}}, {"SA", "F32", {1}}, {"SB", "F32", {4, 1, 2}}}))));
  EXPECT_EQ(whole.scale_block, 0u);
  EXPECT_EQ(whole.batches, 4u);
  EXPECT_EQ(whole.scale_parts, 1u);
}

TEST_F(Product, IsRefusedWhereShapesDoNotFit) {
  struct Row {
    const char* name;
    std::vector<Tensor> tensors;
    std::vector<std::string> expected;
  };
  const Tensor a = {"A", "F16", {3, 8}}, b = {"B", "F16", {8, 2}};
  const std::vector<Row> rows = {
      {"no A", {b}, {"tensor A: missing; expected a tensor [M, K]"}},
      {"no B", {a}, {"tensor B: missing; expected a tensor [K, N]"}},
      {"K of B", {a, {"B", "F16", {2, 8}}}, {"tensor B: shape: [2, 8]; expected [K, N] with K = 8, as A has"}},
      {"A is a vector", {{"A", "F16", {8}}, b}, {"tensor A: shape: [8]; expected [M, K], or batches of it"}},
      {"bias of rows", {a, b, {"bias", "F32", {3}}}, {"tensor bias: shape: [3]; expected [N] with N = 2, as B has"}},
      {"C", {a, b, {"C", "F32", {2, 3}}}, {"tensor C: shape: [2, 3]; expected [M, N] with M = 3, as A has"}},
      {"batches",
       {{"A", "F16", {4, 3, 8}}, {"B", "F16", {5, 8, 2}}},
       {"tensor B: shape: [5, 8, 2]; expected [batches, K, N] with batches = 4, as A has"}},
      {"D without the batches",
       {{"A", "F16", {4, 3, 8}}, b, {"D", "F32", {3, 2}}},
       {"tensor D: shape: [3, 2]; expected [batches, M, N] with batches = 4, as A has"}},
      {"three scales", {a, b, {"SA", "F32", {3}}}, {"tensor SA: shape: [3]; expected [1]"}},
      {"scales of other rows",
       {a, b, {"SA", "F32", {2, 1}}},
       {"tensor SA: shape: [2, 1]; expected [1 or M, parts of K] with M = 3"}},
      {"format of scales",
       {a, b, {"SB", "U8", {2, 2}}},
       {"tensor SB: dtype: u8 is no format of scales; expected fp32, or __metadata__.format_sb, "
        "ue8m0"}},
      {"blocks of no size",
       {a, b, {"SA", "F8_E8M0", {3, 3}}},
       {"tensor SA: shape: [3, 3]; expected [M, K/block] with a K/block that divides K = 8"}},
      {"blocks of two sizes",
       {a, b, {"SA", "F8_E8M0", {3, 2}}, {"SB", "F8_E8M0", {4, 2}}},
       {"tensor SB: shape: [4, 2]; expected [K/block, N] with K/block = 2, as SA has"}},
  };
  for (const Row& row : rows) {
    SCOPED_TRACE(row.name);
    const std::string file = file_of("p.safetensors", product_file(row.tensors));
    expect_line(refusal([&] {
                  read_product(MatrixFile(file), {.optional = {"C", "D", "bias", "SA", "SB"}});
                }),
                file, row.expected);
  }
  const std::string file = file_of("p.safetensors", product_file({a, b}));
  expect_line(refusal([&] { read_product(MatrixFile(file), {.required = {"D"}}); }), file,
              {"tensor D: missing; expected a tensor [M, N]"});
}

TEST_F(Product, IsReadFromAnArrayAFile) {
  const StoredTensor a = random_tensor(FormatId::bf16, {3, 8}), b = random_tensor(FormatId::fp16, {8, 2});
  write_npy(path("a.npy"), a);
  write_npy(path("b.npy"), b);
  const std::vector<NpyOperand> operands = {{"B", path("b.npy"), {}}, {"A", path("a.npy"), FormatId::bf16}};
  const ProductMatrices product = read_product(operands);
  EXPECT_EQ(product.m * 100 + product.n * 10 + product.k, 328u);
  EXPECT_EQ(*product.find("A"), a);
  EXPECT_EQ(*product.find("B"), b);

  const std::vector<NpyOperand> swapped = {{"A", path("b.npy"), {}}, {"B", path("a.npy"), FormatId::bf16}};
  expect_line(refusal([&] { read_product(swapped); }), path("a.npy"),
              {"shape: [3, 8]; expected [K, N] with K = 2, as A has"});
  const std::vector<NpyOperand> unsaid = {{"A", path("a.npy"), {}}, {"B", path("b.npy"), {}}};
  expect_line(refusal([&] { read_product(unsaid); }), path("a.npy"),
              {"descr: \"<u2\" does not tell which format; expected to ask for it by name, one of bf16, fp16"});
  EXPECT_THROW(read_product(std::span(operands).first(1)), std::invalid_argument);
}

}  // namespace
}  // namespace tcnum
