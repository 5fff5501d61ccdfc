// How a datapath of the catalogue is named where a file's name could stand.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "tcnum/catalogue.hpp"
#include "tcnum/instruction.hpp"

namespace tcnum {

/// What such a name says; whether there is such an instruction or account is for others to see.
struct CatalogueName {
  ArchId arch;
  std::string instruction, account;  ///< an empty account is the first
};

/// "sm_90:wgmma.m64n8k32.f32.e4m3.e4m3", or with an account at its end, after another colon. Nothing, if no
/// architecture comes before the first colon: then it is a file's name.
std::optional<CatalogueName> catalogue_name_of(std::string_view text);

/// An instruction that the architecture has. Throws InputError that begins with `where`.
const Instruction& instruction_named(std::string_view where, std::string_view text, ArchId of);

/// One account of an instruction, the first if the name is empty. Throws InputError that begins with the two, which are
/// who asks for an instruction and for an account.
CatalogueEntry account_named(std::string_view where, std::string_view where_account, ArchId of,
                             const Instruction& instruction, std::string_view account);

}  // namespace tcnum
