// Matrices in safetensors and .npy files: what reads is written and read back the same, and nothing beside it is lost.
#include <optional>

#include "harnesses.hpp"
#include "src/files/matrix_file.hpp"
#include "src/files/npy.hpp"
#include "src/files/product_matrices.hpp"
#include "src/files/safetensors.hpp"

namespace tcnum::fuzz {
namespace {

/// Its codes count up.
StoredTensor counted(FormatId id, std::vector<std::size_t> shape) {
  std::size_t count = 1;
  for (const std::size_t extent : shape) count *= extent;
  StoredTensor tensor{id, std::move(shape), Codes(format(id).storage_bytes(), count), false};
  for (std::size_t i = 0; i < count; ++i) tensor.codes.set(i, i & format(id).code_mask());
  return tensor;
}

/// A tensor whose last axis varies fastest.
std::uint64_t element(const StoredTensor& tensor, std::size_t index) {
  if (!tensor.column_major) return tensor.codes[index];
  return tensor.codes[index % tensor.shape[1] * tensor.shape[0] + index / tensor.shape[1]];
}

void check_same(const StoredTensor& tensor, const StoredTensor& again) {
  bool same = again.format == tensor.format && again.shape == tensor.shape && !again.column_major;
  for (std::size_t i = 0; same && i < tensor.codes.size(); ++i) same = again.codes[i] == element(tensor, i);
  if (!same) wrong("a tensor changes when it is written");
}

/// With the results added, all else is as it was.
void check_kept(const MatrixFile& file, const ProductMatrices& product) {
  const StoredTensor d = counted(FormatId::fp4e2m1, {product.m, product.n});
  file.write_with(scratch_path(), "D", d);
  const MatrixFile again(scratch_path());
  check_same(d, again.read("D"));
  Metadata metadata = file.metadata();
  metadata["format_d"] = "fp4e2m1";
  if (again.metadata() != metadata) wrong("metadata changes when results are added");
  for (const auto& [name, tensor] : product.tensors) check_same(tensor, again.read(name));
}

}  // namespace

bool read_a_matrix_file(std::string_view input) {
  const InputPath path(input);
  return accepted(
      [&] {
        const MatrixFile file(path.path());
        const ProductMatrices product = read_product(file);
        if (product.find("A") == nullptr || product.find("B") == nullptr) wrong("a product without operands");
        check_kept(file, product);
      },
      path.path());
}

std::vector<std::string> matrix_files() {
  struct Row {
    const char* name;
    StoredTensor tensor;
  };
  const std::vector<std::vector<Row>> products = {
      {{"A", counted(FormatId::fp16, {3, 4})}, {"B", counted(FormatId::fp16, {4, 2})}},
      {{"A", counted(FormatId::s4, {2, 3})},
       {"B", counted(FormatId::u4, {3, 1})},
       {"C", counted(FormatId::s32, {2, 1})}},
      {{"A", counted(FormatId::tf32, {2, 2, 3})},
       {"B", counted(FormatId::tf32, {3, 2})},
       {"bias", counted(FormatId::fp64, {2})}},
      {{"A", counted(FormatId::fp8e4m3, {2, 4})},
       {"B", counted(FormatId::fp8e5m2, {4, 2})},
       {"SA", counted(FormatId::ue8m0, {2, 2})},
       {"SB", counted(FormatId::ue4m3, {2, 2})}},
      {{"A", counted(FormatId::s8, {1, 1})},
       {"B", counted(FormatId::u8, {1, 1})},
       {"SA", counted(FormatId::fp32, {1})}},
  };
  constexpr std::string_view kNoTensors("\x02\0\0\0\0\0\0\0{}", 10);
  std::vector<std::string> files;
  for (const std::vector<Row>& rows : products) {
    std::string bytes(kNoTensors);
    for (const auto& [name, tensor] : rows) {
      const InputPath before(bytes);
      MatrixFile(before.path()).write_with(scratch_path(), name, tensor);
      bytes = contents_of(scratch_path());
    }
    files.push_back(std::move(bytes));
  }
  return files;
}

bool read_an_array(std::string_view input) {
  const InputPath path(input);
  std::optional<StoredTensor> tensor;
  const bool taken = accepted(
      [&] {
        const NpyFile file(path.path());
        // A type that tells no format holds one of several.
        std::optional<FormatId> asked;
        for (const Format& each : kFormats) {
          if (!file.type().format && file.type().can_hold(each.id)) asked = each.id;
        }
        tensor = read_npy(file, asked);
      },
      path.path());
  if (!taken) return false;
  write_npy(scratch_path(), *tensor);
  check_same(*tensor, read_npy(NpyFile(scratch_path()), tensor->format));
  return true;
}

std::vector<std::string> arrays() {
  std::vector<std::string> files;
  for (const FormatId id : {FormatId::fp64, FormatId::bf16, FormatId::s4, FormatId::fp8e4m3}) {
    for (const std::vector<std::size_t>& shape : std::vector<std::vector<std::size_t>>{{3}, {2, 4}, {2, 1, 3}}) {
      write_npy(scratch_path(), counted(id, shape));
      files.push_back(contents_of(scratch_path()));
      if (shape.size() > 2) continue;  // a stack in column-major order is refused
      const std::size_t order = files.back().find("False");
      files.push_back(files.back());
      files.back().replace(order, 5, "True ");
    }
  }
  return files;
}

}  // namespace tcnum::fuzz
