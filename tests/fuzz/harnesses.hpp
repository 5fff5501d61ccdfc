// The harnesses: each reads one kind of input, and says whether it took it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "fuzz.hpp"

namespace tcnum::fuzz {

bool read_a_vector_file(std::string_view input);
bool read_a_batch(std::string_view input);
bool read_a_matrix_file(std::string_view input);
bool read_an_array(std::string_view input);
bool read_a_datapath(std::string_view input);
bool read_campaign_records(std::string_view input);
bool read_a_checkpoint(std::string_view input);
bool read_a_benchmark(std::string_view input);
bool read_a_problem(std::string_view input);
bool read_a_plan(std::string_view input);
bool read_names(std::string_view input);
bool read_a_text(std::string_view input);

std::vector<std::string> vector_files();
std::vector<std::string> batches();
std::vector<std::string> matrix_files();
std::vector<std::string> arrays();
std::vector<std::string> datapath_files();
std::vector<std::string> campaign_files();
std::vector<std::string> checkpoints();
std::vector<std::string> benchmark_files();
std::vector<std::string> problems();
std::vector<std::string> plan_files();
std::vector<std::string> names();
std::vector<std::string> texts();

}  // namespace tcnum::fuzz
