// A slot file in use: mapped read-only, filled by whoever needs a slot first.
// Any number of processes and threads may use one file at a time.
//
//   empty --claim--> claimed --store--> sealed --find (checksum)--> in use
//     ^                 | dies                      | differs
//     +-----------------+---------------------------+
//
// - A claim is a lock on the slot's entry (an open-file-description lock) and a
//   mark in this process; both end with their owner. Nobody waits for it
//   without a bound.
// - Bytes are written with pwrite and written back to the disk before the entry
//   says that they are there: a full disk or a write error is an error code
//   here, and never a signal or a wrong number. What a power cut loses
//   afterwards, the checksum finds.
// - Each process compares a slot with its checksum before its first use, after
//   it has brought the pages in by a call that reports what a plain read would
//   be killed for (a file cut short, a read error).
// - The file is believed only if it is a regular file of this user, closed to
//   others, of the expected size and with the expected header. It is created
//   under another name and linked in when its header is complete.
// - While it is open, a shared lock on its first byte says that it is in use.
#pragma once

#include "runtime/cache/file_handle.hpp"
#include "runtime/cache/slot_format.hpp"
#include "runtime/error.hpp"

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <memory>
#include <mutex>
#include <set>

namespace troupe {

class slot_file : public std::enable_shared_from_this<slot_file> {
public:
  struct options {
    uint64_t bytes_max = UINT64_MAX; ///< Of disk space the file may take.
    uint32_t free_percent_min = 0;   ///< To be left of its file system.
  };

  /// Opens the file of `plan`, creating it when there is none or a damaged one.
  /// Errors: io, unsupported (not ours to use), invalid_argument or
  /// out_of_memory (too large).
  static result<std::shared_ptr<slot_file>>
  open(const std::string& path, slot_plan plan, options limits);

  ~slot_file();
  slot_file(const slot_file&) = delete;
  slot_file& operator=(const slot_file&) = delete;

  const std::string& path() const {
    return path_;
  }

  /// Bytes of a sealed slot, intact when this process first saw them; absent
  /// when the slot is empty or its bytes differ from their checksum. They stay
  /// mapped as long as the pointer lives. Errors: io.
  struct mapped_bytes {
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner;
  };
  result<std::optional<mapped_bytes>> find(size_t slot);

  /// The right to fill a slot, until it is destroyed.
  class claim {
  public:
    claim(claim&& other) = default;
    claim& operator=(claim&&) = delete;
    ~claim();

  private:
    friend class slot_file;
    claim(std::shared_ptr<slot_file> file, size_t slot);

    std::shared_ptr<slot_file> file_;
    size_t slot_;
  };

  /// Absent when somebody else has kept the slot for longer than `patience`.
  std::optional<claim> try_claim(size_t slot,
                                 std::chrono::milliseconds patience);

  /// Fills the slot and seals it. Errors: io, out_of_memory (a bound or a full
  /// disk); the slot is empty then.
  result<void> store(const claim& mine, std::span<const std::byte> bytes);

  /// Disk space taken.
  uint64_t disk_bytes() const;

private:
  slot_file(file_handle file, std::string path, std::string identity,
            slot_layout layout);

  result<void> map();
  result<void> bring_in(std::span<const std::byte> bytes) const;
  mapped_bytes view(std::span<const std::byte> bytes);
  void release(size_t slot);
  void unmark(size_t slot);
  result<void> check_space(uint64_t bytes) const;
  result<void> write_entry(size_t slot, const slot_entry& entry);
  result<void> write_back(uint64_t begin, uint64_t bytes) const;

  const file_handle file_;
  const std::string path_;
  const std::string identity_;
  const slot_layout layout_;
  options limits_;
  const std::byte* base_ = nullptr;
  std::vector<std::atomic<bool>> intact_; ///< By slot: compared already.
  std::mutex mutex_;
  std::condition_variable released_;
  std::set<size_t> claimed_; ///< By this process; guarded by `mutex_`.
};

} // namespace troupe
