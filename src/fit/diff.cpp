#include "tcnum/diff.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "dot_of.hpp"
#include "emu/parallel.hpp"
#include "emu/rank.hpp"
#include "minimise.hpp"
#include "src/questions/battery.hpp"
#include "src/questions/families.hpp"
#include "src/questions/packing.hpp"
#include "tcnum/emulator.hpp"
#include "tcnum/error.hpp"
#include "tcnum/instruction.hpp"
#include "tcnum/sparse_tiles.hpp"

namespace tcnum {
namespace {

using nlohmann::ordered_json;

/// A datapath that is run again and again along k, from c on.
class Chain {
 public:
  explicit Chain(const Datapath& datapath)
      : emulator_(datapath),
        link_(dot_of(datapath, datapath.tree.k)),
        k_(static_cast<std::size_t>(datapath.tree.k)),
        result_(format(datapath.numerics.result)) {}

  void run(Tiles& tiles) const {
    if (tiles.k == k_) {
      emulator_.run(tiles);
    } else {
      Tiles link = make_dot_tiles(link_, tiles.count, tiles.m, tiles.n);
      link.c = tiles.c;
      for (std::size_t first = 0; first < tiles.k; first += k_) {
        if (first > 0) link.c = link.d;
        take(tiles, first, link);
        emulator_.run(link);
      }
      tiles.d = link.d;
    }
    // All NaNs are one.
    if (!result_.floating) return;
    for (std::size_t i = 0; i < tiles.d.size(); ++i) {
      if (decode(result_, tiles.d[i]).number_class == NumberClass::nan) tiles.d.set(i, nan_code(result_));
    }
  }

 private:
  void take(const Tiles& from, std::size_t first, Tiles& link) const {
    for (std::size_t t = 0; t < from.count; ++t) {
      for (std::size_t k = 0; k < k_; ++k) {
        for (std::size_t i = 0; i < from.m; ++i)
          link.a.set(link.a_index(t, i, k), from.a[from.a_index(t, i, first + k)]);
        for (std::size_t j = 0; j < from.n; ++j)
          link.b.set(link.b_index(t, k, j), from.b[from.b_index(t, first + k, j)]);
      }
      if (from.scale_block != 0) take_scales(from, t, first, link);
    }
  }
  static void take_scales(const Tiles& from, std::size_t t, std::size_t first, Tiles& link) {
    const auto block_k = static_cast<std::size_t>(from.scale_block);
    const std::size_t all = from.k / block_k, blocks = link.k / block_k, first_block = first / block_k;
    for (std::size_t block = 0; block < blocks; ++block) {
      for (std::size_t i = 0; i < from.m; ++i)
        link.sa.set((t * from.m + i) * blocks + block, from.sa[(t * from.m + i) * all + first_block + block]);
      for (std::size_t j = 0; j < from.n; ++j)
        link.sb.set((t * blocks + block) * from.n + j, from.sb[(t * all + first_block + block) * from.n + j]);
    }
  }

  Emulator emulator_;
  Instruction link_;
  std::size_t k_;
  const Format& result_;
};

/// What the description says, beside what it is called.
ordered_json said(const Datapath& datapath) {
  ordered_json json = to_json(datapath);
  for (const char* key : {"schema", "name", "note", "source"}) json.erase(key);
  return json;
}

/// Names of units in the order in which the tree has them.
void names_in(const ordered_json& tree, std::vector<std::string>& names) {
  if (!tree.is_array()) return;
  const std::string name = tree.at(0);
  if (std::ranges::find(names, name) == names.end()) names.push_back(name);
  for (const ordered_json& term : tree) names_in(term, names);
}
void rename_in(ordered_json& tree, const std::vector<std::string>& from, const std::vector<std::string>& to) {
  if (!tree.is_array()) return;
  const auto at = std::ranges::find(from, tree.at(0).get<std::string>()) - from.begin();
  tree[0] = to[static_cast<std::size_t>(at)];
  for (std::size_t i = 1; i < tree.size(); ++i) rename_in(tree[i], from, to);
}
/// The other with the names of the one's units, if it has as many: what units are called says nothing.
ordered_json with_names_of(const ordered_json& one, ordered_json other) {
  std::vector<std::string> to, from;
  names_in(one.at("tree"), to);
  names_in(other.at("tree"), from);
  if (to.size() != from.size() || from.size() != other.at("units").size()) return other;
  ordered_json units;
  for (std::size_t i = 0; i < to.size(); ++i) units[to[i]] = other.at("units").at(from[i]);
  other["units"] = units;
  rename_in(other["tree"], from, to);
  return other;
}

/// Fields that are not the same, as paths; the tree with its k is one.
std::vector<std::string> fields_of(const ordered_json& one, const ordered_json& other) {
  std::vector<std::string> fields;
  if (one.at("k") != other.at("k") || one.at("tree") != other.at("tree")) fields.emplace_back("/tree");
  const auto add = [&](const auto& self, const ordered_json& x, const ordered_json& y,
                       const std::string& path) -> void {
    if (x == y || path == "/tree" || path == "/k") return;
    if (!x.is_object() || !y.is_object()) {
      fields.push_back(path);
      return;
    }
    for (const auto& [key, value] : x.items()) {
      if (y.contains(key))
        self(self, value, y.at(key), path + "/" + key);
      else
        fields.push_back(path + "/" + key);
    }
    for (const auto& [key, value] : y.items()) {
      if (!x.contains(key)) fields.push_back(path + "/" + key);
    }
  };
  add(add, one, other, "");
  return fields;
}

void check(const Datapath& one, const Datapath& other) {
  const auto formats = [](const Datapath& x) {
    const Numerics& n = x.numerics;
    const std::string scales =
        n.scales ? fmt::format(", scales of {} for {}", format(n.scales->format).name, n.scales->block_k) : "";
    return fmt::format("{} · {} + {} → {}{}", format(n.a.format).name, format(n.b.format).name, format(n.c.format).name,
                       format(n.result).name, scales);
  };
  if (formats(one) != formats(other)) {
    throw InputError(fmt::format("diff: one is of {}, the other of {}; right would be the same formats", formats(one),
                                 formats(other)));
  }
  for (const Datapath* each : {&one, &other}) {
    if (one.tree.k != other.tree.k && each->numerics.c.format != each->numerics.result) {
      throw InputError(fmt::format(
          "diff: one takes {} products, the other {}, and results of {} are no c of {} to go on "
          "from; right would be as many",
          one.tree.k, other.tree.k, format(each->numerics.result).name, format(each->numerics.c.format).name));
    }
  }
}

class Search {
 public:
  Search(const Datapath& one, const Datapath& other, const DiffOptions& options)
      : one_(one),
        other_(other),
        options_(options),
        k_(std::lcm(one.tree.k, other.tree.k)),
        dot_(dot_of(one, k_)),
        x_(one),
        y_(other) {}

  DatapathDiff run() {
    DatapathDiff found;
    found.k = k_;
    const ordered_json mine = said(one_), theirs = with_names_of(mine, said(other_));
    found.equal = fields_of(mine, theirs).empty();  // in whatever order the units stand
    std::vector<Problem> crafted;
    for (CraftedProblem& each : battery(dot_)) crafted.push_back(std::move(each.problem));
    std::vector<Tiles> crafted_tiles = {pack(dot_, crafted)};
    found.operands.push_back(compare("crafted", crafted_tiles));
    for (std::size_t f = 0; f < kFamilies; ++f) found.operands.push_back(compare(static_cast<Family>(f)));
    std::size_t fewest = 0;
    for (const Counterexample& each : first_) {
      const auto answers = [](const Chain& chain) { return [&](Tiles& tiles) { chain.run(tiles); }; };
      const Counterexample small = minimise(dot_, answers(y_), answers(x_), each);
      const std::size_t terms = terms_of(small.problem);
      if (found.smallest && terms >= fewest) continue;
      found.smallest = small;
      fewest = terms;
    }
    for (const std::string& field : fields_of(mine, theirs))
      found.fields.push_back(field_diff(field, mine, theirs, found));
    return found;
  }

 private:
  OperandsDiff compare(Family family) {
    constexpr std::size_t kAtOnce = 16;
    // Block scales are evaluated fast in wide tiles.
    constexpr std::size_t kWide = 8;
    const std::size_t columns = dot_.scaled() ? kWide * kPackSide : kPackSide,
                      count = dot_.scaled() ? (options_.tiles + kWide - 1) / kWide : options_.tiles,
                      batches = (count + kAtOnce - 1) / kAtOnce;
    std::vector<Tiles> all;
    all.reserve(batches);
    for (std::size_t batch = 0; batch < batches; ++batch) {
      const std::size_t first = batch * kAtOnce;
      all.push_back(
          make_family_tiles(dot_, family, options_.seed, first, std::min(kAtOnce, count - first), kPackSide, columns));
    }
    return compare(name(family), all);
  }
  OperandsDiff compare(std::string_view what, std::vector<Tiles>& all) {
    std::vector<Tiles> others = all;
    in_parallel(all.size(), options_.threads == 0 ? all_threads() : options_.threads, [&](std::size_t i) {
      x_.run(all[i]);
      y_.run(others[i]);
    });
    OperandsDiff of;
    of.operands = what;
    const Format& f = format(dot_.d);
    UlpsApart apart;
    bool is_first = true;
    for (std::size_t t = 0; t < all.size(); ++t) {
      const Codes &d = all[t].d, &e = others[t].d;
      of.tried += d.size();
      for (std::size_t i = 0; i < d.size(); ++i) {
        if (d[i] == e[i]) continue;
        ++of.different;
        if (std::exchange(is_first, false)) first_.push_back({problem_at(all[t], i), d[i], e[i]});
        apart.add(f, d[i], e[i]);
      }
    }
    of.max_ulps = apart.most();
    of.mean_ulps = apart.mean();
    return of;
  }

  static std::size_t terms_of(const Problem& problem) {
    std::size_t terms = problem.c != 0 ? 1 : 0;
    for (std::size_t k = 0; k < problem.a.size(); ++k) terms += problem.a[k] != 0 || problem.b[k] != 0 ? 1 : 0;
    return terms;
  }

  FieldDiff field_diff(const std::string& field, const ordered_json& mine, const ordered_json& theirs,
                       const DatapathDiff& found) const {
    const ordered_json::json_pointer at(field);
    const auto text = [&](const ordered_json& of) {
      if (!of.contains(at)) return std::string("none");
      return of.at(at).is_string() ? of.at(at).get<std::string>() : of.at(at).dump();
    };
    FieldDiff diff{field.substr(1), text(mine), text(theirs), false};
    std::ranges::replace(diff.field, '/', '.');
    diff.decides = found.smallest && decides(field, mine, theirs, *found.smallest);
    return diff;
  }
  /// Whether the first, with that field as the second has it, gives the second's result.
  bool decides(const std::string& field, ordered_json mine, const ordered_json& theirs,
               const Counterexample& smallest) const {
    const auto take = [&](const std::string& path) {
      const ordered_json::json_pointer at(path);
      if (theirs.contains(at))
        mine[at] = theirs.at(at);
      else
        mine[at.parent_pointer()].erase(at.back());
    };
    take(field);
    if (field == "/tree") take("/k");
    mine["schema"] = to_json(one_).at("schema");
    try {
      Tiles tiles = pack(dot_, std::span(&smallest.problem, 1));
      Chain(datapath_from_json(mine)).run(tiles);
      return tiles.d[0] == smallest.observed;
    } catch (const InputError&) {
      return false;  // the two do not go together
    }
  }

  const Datapath &one_, &other_;
  const DiffOptions& options_;
  int k_;
  Instruction dot_;
  Chain x_, y_;
  std::vector<Counterexample> first_;  ///< of each kind of operands
};

}  // namespace

std::uint64_t DatapathDiff::tried() const {
  std::uint64_t sum = 0;
  for (const OperandsDiff& each : operands) sum += each.tried;
  return sum;
}
std::uint64_t DatapathDiff::different() const {
  std::uint64_t sum = 0;
  for (const OperandsDiff& each : operands) sum += each.different;
  return sum;
}

DatapathDiff diff(const Datapath& one, const Datapath& other, const DiffOptions& options) {
  check(one, other);
  return Search(one, other, options).run();
}

}  // namespace tcnum
