// Whether two sets of tiles are the same in all that they have.
#pragma once

#include <gtest/gtest.h>

#include "tcnum/tiles.hpp"

namespace tcnum::test {

inline void expect_same(const Tiles& x, const Tiles& y) {
  for (const auto format : {&Tiles::a_format, &Tiles::b_format, &Tiles::c_format, &Tiles::d_format})
    EXPECT_EQ(x.*format, y.*format);
  for (const auto size : {&Tiles::count, &Tiles::m, &Tiles::n, &Tiles::k}) EXPECT_EQ(x.*size, y.*size);
  for (const auto codes : {&Tiles::a, &Tiles::b, &Tiles::c, &Tiles::d, &Tiles::e, &Tiles::sa, &Tiles::sb})
    EXPECT_EQ(x.*codes, y.*codes);
  EXPECT_EQ(x.sparse_group, y.sparse_group);
  EXPECT_EQ(x.scale_block, y.scale_block);
}

}  // namespace tcnum::test
