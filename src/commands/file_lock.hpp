// One process at a time: for files that are read, added to and written again, and for those that one run keeps.
#pragma once

#include <string>

namespace tcnum {

/// While this lives, no other process has a lock of the same file, on any machine that shares the folder. The lock is
/// the kernel's, of a file beside it (.NAME.lock): it ends with the process, whatever ends that, so the file, which
/// stays, says nothing. (That file is never replaced, as the other is; and if it were removed, another machine could go
/// on locking the one that it remembers.) On NFS, Linux makes of flock() a lock of the server's, unless
/// the folder was mounted with local_lock=flock, local_lock=all or nolock: then nothing tells that it is this
/// machine's.
class FileLock {
 public:
  enum class IfHeld { wait, refuse };

  /// Throws InputError if another process has the lock and `refuse` is wanted, or if the folder is not writable;
  /// UnavailableError if its file system has no locks.
  FileLock(const std::string& path, IfHeld if_held);
  FileLock(const FileLock&) = delete;
  FileLock& operator=(const FileLock&) = delete;
  ~FileLock();

 private:
  int descriptor_ = -1;
};

}  // namespace tcnum
