#include "matrix_file.hpp"

#include <numeric>

#include "io/memory.hpp"
#include "io/printable.hpp"

namespace tcnum {
namespace {

// --- What a file says of a tensor ---------------------------------------------------------------------------------

/// The key of the metadata that says which format a tensor has.
std::string format_key(std::string_view tensor) {
  std::string key = "format_";
  for (const char c : tensor) key += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return key;
}

/// Where a file says which type its elements have.
struct Declaration {
  const Subject& subject;
  std::string field;
  const ElementType& type;
  std::span<const ElementType> types;  ///< the container's
  std::string elsewhere;               ///< where their format is said if the type does not tell
};

FormatId format_of(const Declaration& declared, std::optional<FormatId> said, std::string_view who) {
  const auto& [subject, field, type, types, elsewhere] = declared;
  if (said && !type.can_hold(*said)) {
    subject.fail(field, "\"{}\" holds no {}, which {}; expected one of {}", type.name, format(*said).name, who,
                 types_for(types, *said));
  }
  const std::optional<FormatId> id = said ? said : type.format;
  if (id) return *id;
  const std::string formats = formats_in(type);
  if (formats.empty()) {
    subject.fail(field, "\"{}\" is not supported; expected a type of which each element has bytes of its own",
                 type.name);
  }
  subject.fail(field, "\"{}\" does not tell which format; expected {}, one of {}", type.name, elsewhere, formats);
}

std::vector<std::size_t> checked_shape(const Subject& subject, std::string_view field,
                                       const std::vector<std::uint64_t>& shape) {
  constexpr std::size_t kMostAxes = 3;
  const bool empty = std::ranges::find(shape, std::uint64_t{0}) != shape.end();
  if (empty || shape.empty() || shape.size() > kMostAxes) {
    subject.fail(field, "{}; expected 1 to {} axes, each of 1 or more", shape_text(shape), kMostAxes);
  }
  return {shape.begin(), shape.end()};
}

std::size_t elements_of(const std::vector<std::size_t>& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1}, std::multiplies<>());
}

/// For elements that the file has, so that there are no more than these can be.
StoredTensor allocate(const Subject& subject, std::string_view field, TensorDescription description) {
  StoredTensor tensor;
  tensor.format = description.format;
  tensor.shape = std::move(description.shape);
  const std::string where = fmt::format("{}: {}", subject.path, field);
  const int bytes_each = format(tensor.format).storage_bytes();
  require_memory(where, static_cast<double>(elements_of(tensor.shape)) * bytes_each);
  tensor.codes = with_room_for(where, [&] { return Codes(bytes_each, elements_of(tensor.shape)); });
  return tensor;
}

// --- Orders of elements -------------------------------------------------------------------------------------------

/// Hands on the elements with the last axis varying fastest, as a file has them.
void write_elements(const StoredTensor& tensor, const WriteBytes& write) {
  const Format& f = format(tensor.format);
  if (!tensor.column_major) return pack_codes(f, tensor.codes.bytes(), write);
  const auto bytes_each = static_cast<std::size_t>(tensor.codes.bytes_each());
  const std::size_t rows = tensor.shape[0], columns = tensor.shape[1];
  std::vector<std::byte> stretch;
  for (std::size_t at = 0; at < rows * columns; ++at) {
    const std::byte* const element = tensor.codes.bytes().data() + (at % columns * rows + at / columns) * bytes_each;
    stretch.insert(stretch.end(), element, element + bytes_each);
    if (stretch.size() < kStretchBytes && at + 1 < rows * columns) continue;
    pack_codes(f, stretch, write);
    stretch.clear();
  }
}

}  // namespace

MatrixView view_of(const StoredTensor& tensor, std::size_t batch) {
  const std::size_t axes = tensor.shape.size(), columns = tensor.shape.back();
  const std::size_t rows = axes == 1 ? 1 : tensor.shape[axes - 2];
  std::span<const std::byte> bytes = tensor.codes.bytes();
  if (axes == 3) {
    if (batch >= tensor.shape[0]) throw std::out_of_range("view_of: the tensor has fewer batches");
    const std::size_t bytes_each = bytes.size() / tensor.shape[0];
    bytes = bytes.subspan(batch * bytes_each, bytes_each);
  }
  return MatrixView(bytes, rows, columns, tensor.format,
                    tensor.column_major ? Layout::column_major : Layout::row_major);
}

// --- safetensors --------------------------------------------------------------------------------------------------

MatrixFile::MatrixFile(const std::string& path)
    : file_(path, "a safetensors file"), header_(read_safetensors_header(file_)), data_(file_, header_) {}

std::string MatrixFile::format_field(std::string_view name) { return metadata_field(format_key(name)); }

const TensorEntry& MatrixFile::entry(std::string_view name) const {
  const TensorEntry* const found = header_.find(name);
  if (found == nullptr) Subject{path()}.fail(tensor_field(name), "missing; expected a file that has it");
  return *found;
}

TensorDescription MatrixFile::describe(std::string_view name, std::optional<FormatId> asked) const {
  const Subject subject{path()};
  const TensorEntry& tensor = entry(name);
  const std::string key = format_key(name);
  std::optional<FormatId> said = asked;
  std::string who = "was asked for";
  if (const auto found = header_.metadata.find(key); found != header_.metadata.end()) {
    said = find_format_or_own(found->second);
    who = format_field(name) + " says";
    if (!said) {
      subject.fail(format_field(name), "{} is unknown; expected a format that `tcnum list` shows",
                   in_quotes(found->second));
    }
    if (asked && *asked != *said) {
      subject.fail(format_field(name), "{}; expected {}, which was asked for", in_quotes(found->second),
                   format(*asked).name);
    }
  }
  const ElementType& type = *find_element_type(safetensors_types(), tensor.dtype);
  TensorDescription description;
  description.format =
      format_of({subject, tensor_field(name, "dtype"), type, safetensors_types(), format_field(name)}, said, who);
  description.shape = checked_shape(subject, tensor_field(name, "shape"), tensor.shape);
  return description;
}

StoredTensor MatrixFile::read(std::string_view name, std::optional<FormatId> asked) const {
  const Subject subject{path()};
  const std::string field = tensor_field(name, "data");
  StoredTensor tensor = allocate(subject, field, describe(name, asked));
  data_.read(entry(name), 0, tensor.codes.bytes());
  unpack_codes(subject, field, format(tensor.format), tensor.codes.bytes());
  return tensor;
}

namespace {

/// The last of a file's tensors; its format where the dtype does not tell.
void declare(std::vector<TensorEntry>& tensors, Metadata& metadata, std::string_view name, const StoredTensor& tensor) {
  const Format& f = format(tensor.format);
  metadata.erase(format_key(name));
  if (find_element_type(safetensors_types(), f.safetensors)->format != f.id)
    metadata[format_key(name)] = format_text(f.id);
  tensors.push_back({std::string(name), std::string(f.safetensors), {tensor.shape.begin(), tensor.shape.end()}, 0, 0});
}

}  // namespace

void write_matrices(const std::string& path, std::span<const NamedTensor> tensors) {
  Metadata metadata;
  std::vector<TensorEntry> entries;
  for (const auto& [name, tensor] : tensors) declare(entries, metadata, name, tensor);
  SafetensorsWriter writer(path, metadata, entries);
  for (const auto& [name, tensor] : tensors)
    write_elements(tensor, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
  writer.commit();
}

void MatrixFile::write_with(const std::string& path, std::string_view name, const StoredTensor& tensor) const {
  Metadata metadata = header_.metadata;
  std::vector<TensorEntry> tensors;
  for (const TensorEntry& each : header_.tensors) {
    if (each.name != name) tensors.push_back(each);
  }
  declare(tensors, metadata, name, tensor);

  SafetensorsWriter writer(path, metadata, tensors);
  std::vector<std::byte> stretch(kStretchBytes);
  for (const TensorEntry& each : std::span(tensors).first(tensors.size() - 1)) {
    for (std::uint64_t at = 0, size = each.end - each.begin; at < size; at += kStretchBytes) {
      const auto bytes = std::span(stretch).first(std::min<std::uint64_t>(size - at, kStretchBytes));
      data_.read(each, at, bytes);
      writer.write(bytes);
    }
  }
  write_elements(tensor, [&](std::span<const std::byte> bytes) { writer.write(bytes); });
  writer.commit();
}

// --- .npy ---------------------------------------------------------------------------------------------------------

TensorDescription describe_npy(const NpyFile& file, std::optional<FormatId> asked) {
  const Subject subject{file.path()};
  TensorDescription description;
  description.format =
      format_of({subject, "descr", file.type(), npy_types(), "to ask for it by name"}, asked, "was asked for");
  description.shape = checked_shape(subject, "shape", file.shape());
  return description;
}

StoredTensor read_npy(const NpyFile& file, std::optional<FormatId> asked) {
  const Subject subject{file.path()};
  if (file.fortran_order() && file.shape().size() > 2)
    subject.fail("fortran_order", "True of three axes; expected False, as np.ascontiguousarray() makes it");
  StoredTensor tensor = allocate(subject, "data", describe_npy(file, asked));
  tensor.column_major = file.fortran_order() && tensor.shape.size() == 2;
  file.read(0, tensor.codes.bytes());
  unpack_codes(subject, "data", format(tensor.format), tensor.codes.bytes());
  return tensor;
}

void write_npy(const std::string& path, const StoredTensor& tensor) {
  ReplacementFile file(path);
  file.write(npy_head(tensor.format, {tensor.shape.begin(), tensor.shape.end()}));
  write_elements(tensor, [&](std::span<const std::byte> bytes) { file.write(bytes); });
  file.commit();
}

}  // namespace tcnum
