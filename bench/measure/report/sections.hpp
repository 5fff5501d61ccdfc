// What the pages of recorded measurements show, section by section.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "section.hpp"
#include "src/catalogue/sass.hpp"

namespace tcnum::bench {

/// Those for which there are measurements, with the machine instructions of that table. The first one has no title and
/// says what was measured. With a `title`: that one and the section with this title, or else those with this text in
/// their titles, in upper or lower case. Throws InputError, naming the titles, where there is none.
std::vector<Section> sections_of(const Document& document, const SassTable& sass, std::string_view title = {});

// Parts of them; those without measurements have a heading alone.

std::vector<Section> instruction_sections(const Document& document, const SassTable& sass);
/// Every row of wgmma; the sections have the most telling ones.
Section wgmma_section(const Document& document);
/// Memories, and clusters' shared memory.
std::vector<Section> memory_sections(const Document& document);
std::vector<Section> copy_sections(const Document& document);
/// The best tile against the library, with plots; every kernel, for each set of shapes; and single products of the sets
/// that are of somebody's.
std::vector<Section> gemm_sections(const Document& document);
/// How far the model of products is from what was measured. None where the document has no parameters of the model.
std::vector<Section> model_sections(const Document& document);

bool is_wgmma(const Record& record);
bool is_sparse(const Record& record);

/// Rows where the model is off by more than so many percent.
inline constexpr double kModelTolerancePercent = 5;
inline constexpr const char* kModelResidual = "model_residual_percent";
bool is_off_model(const Record& record);

/// Names of devices and titles are compared so.
std::string in_lower_case(std::string_view text);

/// One line: the device, when it was measured, the driver, and the highest clock of its SMs.
std::string device_line(const Document& document);

// The pages (pages.cpp).

/// With the machine instructions of that table; of the sections that sections_of() chooses by that title.
std::string markdown_page(const Document& document, const SassTable& sass, std::string_view title = {});
/// Without what was measured on.
std::string text_page(const Document& document, const SassTable& sass, std::string_view title = {});
/// What a run measured, and on what, as tables; and in lines what tables leave out: rows that were waived, wrong or
/// interrupted, whose clock moved, or where the model is off.
std::string run_text(const Document& document, const SassTable& sass);

}  // namespace tcnum::bench
