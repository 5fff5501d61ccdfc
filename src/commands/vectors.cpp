#include "vectors.hpp"

#include <fmt/format.h>

#include <utility>

#include "output.hpp"
#include "src/files/array_vectors.hpp"
#include "src/files/dot_vectors.hpp"
#include "src/oracles/datapath_oracle.hpp"
#include "tcnum/error.hpp"
#include "vector_forms.hpp"

namespace tcnum {
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

NamedDatapath datapath_for(const VectorsInFile& of, const std::string& file, const std::string& datapath,
                           const std::string& account) {
  if (of.arch) return choose_datapath(datapath, *of.arch, *of.instruction, file, account);
  if (!account.empty())
    throw InputError(fmt::format("--account: {} is of no instruction; expected --datapath alone", file));
  return own_datapath(datapath, *of.instruction);
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
