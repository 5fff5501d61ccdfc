// Memory that vectors work in.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tcnum {

/// So many bytes that vectors can load, whatever they hold; std::bad_alloc if there are none. For std::free().
void* allocate_for_vectors(std::size_t bytes);

/// Numbers that vectors can load. Growing it loses them.
template <class T>
class Buffer {
 public:
  void resize(std::size_t size) {
    if (size > room_) {
      data_.reset(static_cast<T*>(allocate_for_vectors(size * sizeof(T))));
      room_ = size;
    }
    size_ = size;
  }
  std::size_t size() const { return size_; }
  T* data() { return data_.get(); }
  const T* data() const { return data_.get(); }
  T& operator[](std::size_t i) { return data_[i]; }
  const T& operator[](std::size_t i) const { return data_[i]; }

 private:
  struct Free {
    void operator()(T* data) const { std::free(data); }
  };
  std::unique_ptr<T[], Free> data_;
  std::size_t size_ = 0, room_ = 0;
};

}  // namespace tcnum
