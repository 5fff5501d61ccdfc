#include "vectors.hpp"

#include "io/input_file.hpp"
#include "io/replacement_file.hpp"
#include "output.hpp"
#include "src/oracles/datapath_oracle.hpp"

namespace tcnum {

// --- Forms

namespace {

constexpr std::string_view kStandard = "-", kArrayExtension = ".npy";

}  // namespace

VectorForm vector_form(std::string_view option, const std::string& path, std::string_view form_option,
                       const std::string& form) {
  VectorForm found;
  if (form.empty()) {
    found.text = text_form_of(path);
    found.arrays = path.ends_with(kArrayExtension);
  } else if (form == "npy") {
    found.arrays = true;
  } else if (form != "safetensors") {
    found.text = find_text_form(form);
    if (!found.text) {
      throw InputError(fmt::format("{}: {} is unknown; expected csv, hex, npy or safetensors", form_option, form));
    }
  }
  if (found.arrays && !names_arrays(path))
    throw InputError(fmt::format("{}: {}; expected such as golden.{{}}.npy, as each operand is a file", option, path));
  if (path == kStandard && !found.text)
    throw InputError(fmt::format("{}: -; expected a file, or {} csv or hex", option, form_option));
  return found;
}

TextVectors open_text(const std::string& path, TextForm form) {
  constexpr std::size_t kMostBytes = std::size_t{1} << 36;
  if (path != kStandard) return {path, form, read_text(path, "a text of dot products", kMostBytes)};
  const std::vector<std::byte> bytes = read_standard_input(kMostBytes);
  return {"standard input", form, {reinterpret_cast<const char*>(bytes.data()), bytes.size()}};
}

void write_text_vectors(const std::string& path, TextForm form, const Vectors& vectors,
                        const Instruction& instruction) {
  if (path == kStandard) return print_vectors(vectors, instruction, form, [](std::string_view piece) { say(piece); });
  ReplacementFile file(path);
  print_vectors(vectors, instruction, form, [&](std::string_view piece) { file.write(piece); });
  file.commit();
}

// --- Files of any form

namespace {

/// Of a file without an instruction, the user may not say that it has one.
void refuse(const std::string& file, const char* key, const char* option, const std::string& said) {
  if (said.empty()) return;
  throw InputError(fmt::format("{}: __metadata__.{}: missing; expected {}, as {} says", file, key, said, option));
}

constexpr std::string_view kOut = "--out", kForm = "--form";

/// Of a file that need not say what it is of; the user says what it does not, and nothing else.
VectorsInFile subject_of(const std::string& file, const WantedVectors& wanted, const Metadata& said) {
  if (said.contains("instruction")) {
    VectorsInFile of;
    const NamedInstruction named = instruction_of_metadata(file, said);
    of.be_of(named.arch, *named.instruction);
    static_cast<void>(instruction_of_file(file, of.vectors, wanted.arch, wanted.instruction));
    return of;
  }
  if (auto of = named_subject(wanted.arch, wanted.instruction, wanted.datapath)) return *std::move(of);
  throw InputError(fmt::format(
      "{}: does not say of which instruction it is; expected --arch and --instr, or --datapath alone", file));
}

VectorsInFile read_text_in(const std::string& file, TextForm form, const WantedVectors& wanted) {
  TextVectors text(open_text(file, form));
  VectorsInFile in = subject_of(file, wanted, text.metadata());
  Vectors read = text.read(*in.instruction, wanted.results);
  // Names of the table, whatever the file has called them.
  read.instruction = in.vectors.instruction;
  read.arch = in.vectors.arch;
  in.vectors = std::move(read);
  return in;
}

VectorsInFile read_arrays_in(const std::string& file, const WantedVectors& wanted) {
  VectorsInFile in = subject_of(file, wanted, {});
  in.vectors.tiles = read_arrays(file, *in.instruction, wanted.results);
  return in;
}

}  // namespace

void VectorsInFile::be_of(const Datapath& datapath) {
  dot = std::make_unique<const Instruction>(dot_of(datapath));
  instruction = dot.get();
}

void VectorsInFile::be_of(ArchId its_arch, const Instruction& its_instruction) {
  arch = its_arch;
  instruction = &its_instruction;
  vectors.instruction = its_instruction.name();
  vectors.arch = tcnum::arch(its_arch).name;
}

std::string VectorsInFile::subject() const {
  return arch ? fmt::format("{} on {}", instruction->name(), tcnum::arch(*arch).name) : instruction->name();
}

std::optional<VectorsInFile> named_subject(const std::string& arch, const std::string& instruction,
                                           const std::string& datapath) {
  VectorsInFile of;
  if (!arch.empty() && !instruction.empty()) {
    const ArchId id = parse_arch(arch);
    of.be_of(id, parse_instruction(instruction, id));
  } else if (arch.empty() && instruction.empty() && !datapath.empty()) {
    of.be_of(named_datapath(datapath).datapath);
  } else {
    return std::nullopt;
  }
  return of;
}

VectorsInFile read_vectors_in(const std::string& file, const WantedVectors& wanted) {
  const VectorForm form = vector_form("--in", file, "--in-form", wanted.form);
  if (form.text) return read_text_in(file, *form.text, wanted);
  if (form.arrays) return read_arrays_in(file, wanted);
  VectorsInFile in;
  if (!wanted.datapath.empty() && !names_instruction(file)) {
    refuse(file, "instruction", "--instr", wanted.instruction);
    refuse(file, "arch", "--arch", wanted.arch);
    in.be_of(named_datapath(wanted.datapath).datapath);
    in.vectors = read_dot_vectors(file, *in.dot, wanted.results);
    return in;
  }
  in.vectors = read_vectors(file, wanted.results);
  const InstructionOnArch named = instruction_of_file(file, in.vectors, wanted.arch, wanted.instruction);
  in.arch = named.arch;
  in.instruction = named.instruction;
  return in;
}

NamedDatapath datapath_for(const VectorsInFile& of, const std::string& file, const std::string& datapath) {
  return of.arch ? choose_datapath(datapath, *of.arch, *of.instruction, file) : own_datapath(datapath, *of.instruction);
}

void require_vectors_writable(const std::string& out, const std::string& form) {
  const VectorForm found = vector_form(kOut, out, kForm, form);
  require_writable(found.arrays ? array_path(out, "a") : out);
}

void write_vectors_of(const VectorsInFile& like, const std::string& path, const Vectors& vectors,
                      const std::string& form) {
  const VectorForm found = vector_form(kOut, path, kForm, form);
  if (found.text)
    write_text_vectors(path, *found.text, vectors, *like.instruction);
  else if (found.arrays)
    write_arrays(path, vectors.tiles, *like.instruction);
  else if (like.arch)
    write_vectors(path, vectors);
  else
    write_dot_vectors(path, vectors, *like.instruction);
}

}  // namespace tcnum
