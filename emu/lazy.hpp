// A value that the first thread to ask for it makes.
//
// std::call_once() is not used: where memory runs out, an exception's way through it ends the process (libc loads its
// unwinder then, and cannot).
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

namespace tcnum {

template <class T>
class Lazy {
 public:
  /// `make` gives a std::unique_ptr<T>; where it throws, the next call tries again. Any number of threads may call.
  template <class Make>
  const T& get(Make make) const {
    if (const T* made = made_.load(std::memory_order_acquire)) return *made;
    const std::lock_guard lock(making_);
    if (!value_) {
      value_ = make();
      made_.store(value_.get(), std::memory_order_release);
    }
    return *value_;
  }

 private:
  mutable std::atomic<const T*> made_ = nullptr;
  mutable std::mutex making_;
  mutable std::unique_ptr<const T> value_;
};

}  // namespace tcnum
