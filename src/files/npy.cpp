#include "npy.hpp"

#include <fmt/ranges.h>

#include <cstring>

#include "io/json.hpp"
#include "io/printable.hpp"

namespace tcnum {
namespace {

constexpr std::string_view kMagic = "\x93NUMPY";
constexpr std::size_t kMagicBytes = kMagic.size() + 2;  // and the version
/// NumPy itself reads no longer headers, unless told to.
constexpr std::uint64_t kMaxHeaderBytes = 10'000;
/// All before the data is a multiple of this.
constexpr std::size_t kAlignment = 64;
/// NumPy leaves room for the axis along which an array may be appended to to grow to so many digits.
constexpr std::size_t kGrowthDigits = 21;
constexpr std::size_t kMostAxes = 3;

/// NumPy's own types; those of ml_dtypes, which are saved as opaque bytes or, e5m2, as a float of one byte; and names,
/// which NumPy reads too.
constexpr std::array<ElementType, 35> kTypes = {{
    {"<f8", 64, FormatId::fp64, false},
    {"<f4", 32, FormatId::fp32, false},
    {"<f2", 16, FormatId::fp16, false},
    {"|i1", 8, FormatId::s8, true},
    {"|u1", 8, FormatId::u8, true},
    {"<i4", 32, FormatId::s32, true},
    {"<u4", 32, {}, true},
    {"<i2", 16, {}, true},
    {"<u2", 16, {}, true},
    {"<i8", 64, {}, true},
    {"<u8", 64, {}, true},
    {"|b1", 8, FormatId::b1, false},
    {"|V1", 8, {}, true},
    {"<V1", 8, {}, true},
    {"|V2", 16, {}, true},
    {"<V2", 16, {}, true},
    {"|f1", 8, FormatId::fp8e5m2, false},
    {"<f1", 8, FormatId::fp8e5m2, false},
    {"bfloat16", 16, FormatId::bf16, false},
    {"float8_e4m3fn", 8, FormatId::fp8e4m3, false},
    {"float8_e5m2", 8, FormatId::fp8e5m2, false},
    {"float8_e4m3fnuz", 8, FormatId::fp8e4m3fnuz, false},
    {"float8_e5m2fnuz", 8, FormatId::fp8e5m2fnuz, false},
    {"float8_e8m0fnu", 8, FormatId::ue8m0, false},
    {"float6_e2m3fn", 8, FormatId::fp6e2m3, false},
    {"float6_e3m2fn", 8, FormatId::fp6e3m2, false},
    {"float4_e2m1fn", 8, FormatId::fp4e2m1, false},
    {"int4", 8, FormatId::s4, false},
    {"uint4", 8, FormatId::u4, false},
    {"float16", 16, FormatId::fp16, false},
    {"float32", 32, FormatId::fp32, false},
    {"float64", 64, FormatId::fp64, false},
    {"int32", 32, FormatId::s32, true},
    {"int8", 8, FormatId::s8, true},
    {"uint8", 8, FormatId::u8, true},
}};

// --- The header's dict ------------------------------------------------------------------------------------------

/// A dict as NumPy writes it, a literal of Python's, in JSON's words.
std::string json_of(std::string_view dict) {
  std::string json;
  for (std::size_t i = 0; i < dict.size(); ++i) {
    const std::size_t next = std::min(dict.find_first_not_of(" \n", i + 1), dict.size() - 1);
    if (dict[i] == ',' && (dict[next] == '}' || dict[next] == ')')) continue;  // JSON has none after the last
    json += dict[i] == '\'' ? '"' : dict[i] == '(' ? '[' : dict[i] == ')' ? ']' : dict[i];
  }
  for (const auto& [python, word] : {std::pair{"True", "true"}, std::pair{"False", "false"}}) {
    if (const std::size_t at = json.find(python); at != json.npos) json.replace(at, std::strlen(python), word);
  }
  return json;
}

struct Header {
  std::string descr;
  bool fortran_order = false;
  std::vector<std::uint64_t> shape;
};

Header parse_header(const Subject& subject, std::string_view dict) {
  const nlohmann::ordered_json json = parse_json(json_of(dict), subject.path + ": header");
  constexpr std::string_view kKeys = "a dict of descr, fortran_order and shape";
  if (!json.is_object()) subject.fail("header", "no dict; expected {}", kKeys);
  for (const auto& [key, value] : json.items()) {
    if (key != "descr" && key != "fortran_order" && key != "shape")
      subject.fail("header", "{}: unknown; expected {}", in_quotes(key), kKeys);
  }
  const auto member = [&](const char* key, const auto& is_right, std::string_view expected) {
    const auto found = json.find(key);
    if (found == json.end()) subject.fail(key, "missing; expected {}", kKeys);
    if (!is_right(*found)) subject.fail(key, "expected {}", expected);
    return *found;
  };
  const auto is_shape = [](const nlohmann::ordered_json& value) {
    const auto is_whole = [](const nlohmann::ordered_json& each) { return each.is_number_unsigned(); };
    return value.is_array() && !value.empty() && value.size() <= kMostAxes && std::ranges::all_of(value, is_whole);
  };
  return {member(
              "descr", [](const auto& value) { return value.is_string(); }, "one simple type, such as '<f2'"),
          member(
              "fortran_order", [](const auto& value) { return value.is_boolean(); }, "True or False"),
          member("shape", is_shape, "a tuple of 1 to 3 whole numbers, such as (16, 8)")};
}

const ElementType& type_of(const Subject& subject, const std::string& descr) {
  const ElementType* const type = find_element_type(kTypes, descr);
  if (type != nullptr) return *type;
  if (descr.starts_with('>')) {
    for (const char order : {'<', '|'}) {
      const ElementType* const little = find_element_type(kTypes, order + descr.substr(1));
      if (little == nullptr) continue;
      subject.fail("descr", "'{}' is big-endian; expected '{}', as a.astype('{}') makes it", shown(descr), little->name,
                   little->name);
    }
  }
  subject.fail("descr", "{} is unknown; expected one of {}", in_quotes(descr), names_of(kTypes));
}

// --- The file ---------------------------------------------------------------------------------------------------

/// Where the dict stands.
struct HeaderPlace {
  std::uint64_t offset, length;
};

HeaderPlace find_header(const InputFile& file) {
  const Subject subject{file.path()};
  std::array<std::byte, kMagicBytes> start = {};
  const std::string_view text(reinterpret_cast<const char*>(start.data()), start.size());
  file.read(0, std::span(start).first(std::min<std::uint64_t>(file.size(), start.size())));
  if (file.size() < kMagicBytes || !text.starts_with(kMagic)) {
    subject.fail("magic", "{}; expected a .npy file, which starts with \\x93NUMPY",
                 file.size() == 0 ? "the file is empty"
                                  : in_quotes(text.substr(0, std::min<std::uint64_t>(file.size(), kMagic.size()))));
  }
  const auto major = std::to_integer<unsigned>(start[kMagic.size()]);
  const auto minor = std::to_integer<unsigned>(start[kMagic.size() + 1]);
  if (major < 1 || major > 3 || minor != 0) {
    subject.fail("version", "{}.{}; expected 1.0, 2.0 or 3.0", major, minor);
  }
  const std::size_t length_bytes = major == 1 ? 2 : 4;
  const std::uint64_t offset = kMagicBytes + length_bytes;
  if (file.size() < offset) {
    subject.fail("header length", "missing; expected a complete file, and this one has {} bytes", file.size());
  }
  std::uint64_t length = 0;
  file.read(kMagicBytes, std::as_writable_bytes(std::span(&length, 1)).first(length_bytes));
  const std::uint64_t most = std::min(file.size() - offset, kMaxHeaderBytes);
  if (length > most) {
    subject.fail("header length", "{} bytes; expected at most {} ({})", length, most,
                 most == kMaxHeaderBytes ? "the longest header that NumPy reads" : "what follows in the file");
  }
  return {offset, length};
}

std::string tuple_text(std::span<const std::uint64_t> shape) {
  return fmt::format("({}{})", fmt::join(shape, ", "), shape.size() == 1 ? "," : "");
}

/// What is written of the formats for which NumPy has a type; of others it is an unsigned integer.
struct WrittenType {
  FormatId format;
  std::string_view descr;
};
constexpr std::array<WrittenType, 7> kWritten = {{
    {FormatId::fp64, "<f8"},
    {FormatId::fp32, "<f4"},
    {FormatId::tf32, "<f4"},
    {FormatId::fp16, "<f2"},
    {FormatId::s32, "<i4"},
    {FormatId::s8, "|i1"},
    {FormatId::s4, "|i1"},
}};

std::string_view descr_of(FormatId id) {
  const auto found = std::ranges::find(kWritten, id, &WrittenType::format);
  if (found != kWritten.end()) return found->descr;
  switch (format(id).storage_bytes()) {
    case 1:
      return "|u1";
    case 2:
      return "<u2";
    case 4:
      return "<u4";
    default:
      return "<u8";
  }
}

}  // namespace

std::span<const ElementType> npy_types() { return kTypes; }

NpyFile::NpyFile(const std::string& path) : file_(path, "a .npy file") {
  const Subject subject{path};
  const auto [offset, length] = find_header(file_);
  std::string text(length, '\0');
  file_.read(offset, std::as_writable_bytes(std::span(text)));
  Header header = parse_header(subject, text);
  type_ = &type_of(subject, header.descr);
  fortran_order_ = header.fortran_order;
  shape_ = std::move(header.shape);
  data_offset_ = offset + length;
  const std::optional<std::uint64_t> size = byte_size(shape_, type_->bits);
  if (size != file_.size() - data_offset_) {
    subject.fail("data", "{} bytes; expected {}, the size of {} '{}'", file_.size() - data_offset_,
                 size ? fmt::to_string(*size) : "more than 2^64", tuple_text(shape_), type_->name);
  }
}

std::string npy_head(FormatId format, const std::vector<std::uint64_t>& shape) {
  std::string dict =
      fmt::format("{{'descr': '{}', 'fortran_order': False, 'shape': {}, }}", descr_of(format), tuple_text(shape));
  dict.append(kGrowthDigits - fmt::to_string(shape.front()).size(), ' ');
  // NumPy pads by a whole line where there is nothing to pad.
  const std::size_t unpadded = kMagicBytes + 2 + dict.size() + 1;
  dict.append(kAlignment - unpadded % kAlignment, ' ').push_back('\n');
  std::string header(kMagic);
  for (const std::size_t byte : {std::size_t{1}, std::size_t{0}, dict.size() & 0xff, dict.size() >> 8}) {
    header.push_back(static_cast<char>(byte));
  }
  return header + dict;
}

}  // namespace tcnum
