// What a fit knows about one property, and by which answers.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "src/fit/fit.hpp"

namespace tcnum {

class Finding {
 public:
  Finding(const Fit& fit, const FitResult& result, Property property);

  /// The values among which the answers do not decide; null if they do.
  const Undetermined* open() const { return open_; }
  /// Whether no input shows the value, be it that none can or that the structure leaves no choice.
  bool unobservable() const { return unobservable_; }
  /// Other values that give the same results for every input.
  std::vector<std::string> equivalent() const;
  /// Whether there is anything to say: some alternative is in the space.
  bool interesting() const { return open_ != nullptr || unobservable_ || !rejected_.empty(); }

  std::string value() const;
  /// Which answer refutes the nearest alternative. `witness` is who gave the answers: "the hardware".
  std::string evidence(std::string_view witness) const;

 private:
  int chosen() const { return Space::value(result_.choice, property_); }
  /// Whether the structure allows any other value.
  bool applies() const;
  /// Whether a sum keeps all fraction bits of the result's format.
  bool has_all_bits() const;
  const Rejection* nearest_rejection() const;
  std::string open_values() const;

  const Space& space_;
  const FitResult& result_;
  const Evidence& evidence_;
  Property property_;
  const Undetermined* open_ = nullptr;
  std::vector<const Rejection*> rejected_;
  bool unobservable_ = false;
};

}  // namespace tcnum
