// Which sanitizers watch this program: GCC says so in macros of its own, Clang in features.
#pragma once

namespace tcnum::test {

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressesAreWatched = true;
#elif defined(__has_feature)
inline constexpr bool kAddressesAreWatched = __has_feature(address_sanitizer);
#else
inline constexpr bool kAddressesAreWatched = false;
#endif

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadsAreWatched = true;
#elif defined(__has_feature)
inline constexpr bool kThreadsAreWatched = __has_feature(thread_sanitizer);
#else
inline constexpr bool kThreadsAreWatched = false;
#endif

}  // namespace tcnum::test
