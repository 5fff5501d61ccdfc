// Writing results so that a file is never half written, and that standard output takes nothing else with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tcnum {

/// Writes lines to standard output at once, printable() whatever they hold. If that fails, the work goes on, and its
/// files and its status are what they would have been: finish_stdout() says what went wrong.
void say(std::string_view text);
/// Whether all that was said could be written; if not, a line on standard error says why. Where whoever read standard
/// output is gone, nobody is left to be told, and this is no error.
bool finish_stdout();

/// The next bytes of standard input, fewer than `most` only at its end. They are read in pieces, so that none but those
/// that come take memory.
std::vector<std::byte> read_standard_input(std::uint64_t most);

/// Whether the path leads to something that is no folder; not if that cannot be told.
bool is_file(const std::string& path);
/// Whether there is a file of that name. Throws InputError if it cannot be told: a loop of links, a name too long.
bool is_there(const std::string& path);

/// Writes a file that holds all of the lines, printable() as those of say(), or what it held before; "-" is standard
/// output. What is no regular file (a pipe, a device) is written directly. Throws as fail_system() does.
void write_text(const std::string& path, std::string_view text);
void write_json(const std::string& path, const nlohmann::ordered_json& json);

/// Fails before hours of work rather than after: throws InputError unless a file can be made or replaced there.
void require_writable(const std::string& path);
/// The same of a folder that is made when there is something to put into it.
void require_folder(const std::string& path);

/// An option, and the file that it names.
using NamedFile = std::pair<std::string, std::string>;
/// Of what is no text: throws InputError for "-", as what is shown of it elsewhere is for people and programs to read.
void require_no_stdout(const NamedFile& file);
/// Throws InputError if a file that is to be written is another one's too: what is written, or was there, would be
/// lost.
void require_different(const std::vector<NamedFile>& written, const std::vector<NamedFile>& read);

}  // namespace tcnum
