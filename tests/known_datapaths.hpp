// The datapaths that this project knows.
#pragma once

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "emu/gpu/gpu_datapath.hpp"
#include "tcnum/catalogue.hpp"

namespace tcnum::test {

/// Those of the catalogue and of docs/datapaths that a GPU evaluates in such work.
inline std::vector<Datapath> datapaths_on_gpu(GpuWork work = GpuWork::tiles) {
  std::vector<Datapath> all;
  const auto add = [&](const Datapath& datapath) {
    const bool taken = make_gpu_datapath(datapath, work).datapath.has_value();
    if (taken && std::ranges::find(all, datapath) == all.end()) all.push_back(datapath);
  };
  for (const Arch& of : kArchs) {
    for (const CatalogueEntry& entry : catalogue(of.id)) add(entry.datapath);
  }
  for (const auto& file : std::filesystem::directory_iterator(std::string(TCNUM_SOURCE_DIR) + "/docs/datapaths"))
    add(read_datapath(file.path().string()));
  return all;
}

}  // namespace tcnum::test
