// An oracle of which the answers alone are taken: whatever else it does to the tiles, problems stay those that were
// asked.
#pragma once

#include <fmt/format.h>

#include <map>
#include <string>
#include <utility>

#include "tcnum/error.hpp"
#include "tcnum/oracle.hpp"

namespace tcnum {

class AnswersAlone final : public Oracle {
 public:
  explicit AnswersAlone(Oracle& oracle) : oracle_(oracle) {}

  void answer(Tiles& tiles) override {
    Tiles asked = tiles;
    oracle_.answer(asked);
    if (asked.d.size() != tiles.size() || asked.d.bytes_each() != format(tiles.d_format).storage_bytes()) {
      throw InputError(fmt::format("oracle: gave {} answers of {} bytes; expected {} of {}, as {} has them",
                                   asked.d.size(), asked.d.bytes_each(), tiles.size(),
                                   format(tiles.d_format).storage_bytes(), format(tiles.d_format).name));
    }
    tiles.d = std::move(asked.d);
  }
  OracleKind kind() const override { return oracle_.kind(); }
  std::string device() const override { return oracle_.device(); }
  std::map<std::string, std::string> provenance() const override { return oracle_.provenance(); }

 private:
  Oracle& oracle_;
};

}  // namespace tcnum
