// The emulators alone: a datapath from JSON, exact and fast. argv[1] is a datapath's file.
#include <tcnum/emulator.hpp>
#include <tcnum/exact.hpp>

int main(int, char** argv) {
  const tcnum::Datapath datapath = tcnum::read_datapath(argv[1]);
  const tcnum::Numerics& n = datapath.numerics;
  tcnum::Tiles fast = tcnum::make_tiles(n.a.format, n.b.format, n.c.format, n.result, 1, 1, 1,
                                        static_cast<std::size_t>(datapath.tree.k));
  for (std::size_t i = 0; i < fast.a.size(); ++i) {
    fast.a.set(i, 0x3c00);  // 1.0 in fp16
    fast.b.set(i, 0x3800);  // 0.5
  }
  tcnum::Tiles exact = fast;
  tcnum::Emulator(datapath).run(fast);
  tcnum::emulate_exact(datapath, exact);
  return fast.d == exact.d && fast.d[0] != 0 ? 0 : 1;
}
