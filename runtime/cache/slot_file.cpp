#include "runtime/cache/slot_file.hpp"

#include "runtime/assert.hpp"
#include "runtime/cache/cache_folder.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <thread>
#include <unistd.h>

namespace troupe {

namespace {

constexpr uint64_t blocks_of_stat = 512;
constexpr auto claim_poll = std::chrono::milliseconds(2);
constexpr int attempts_max = 50;

constexpr int populate_read = 22; // MADV_POPULATE_READ, Linux 5.14

/// Whether the open file is the file of this header.
result<bool> is_ours(int fd, const std::string& path, const slot_header& header,
                     uint64_t file_bytes) {
  struct stat facts {};
  if (fstat(fd, &facts) != 0)
    return fail(ec::io, "{}: {}", path, system_reason());
  if (static_cast<uint64_t>(facts.st_size) != file_bytes)
    return false;
  slot_header found{};
  if (auto done = read_exactly(fd, path, found, 0); !done)
    return tl::unexpected(std::move(done.error()));
  return is_header_of(found, header);
}

/// Makes the file beside its place and links it there. Returns false when
/// somebody else was faster.
result<bool> create(const std::string& path, const slot_header& header,
                    uint64_t file_bytes) {
  auto fresh = fmt::format("{}.XXXXXX{}", path, unfinished_suffix);
  auto file = create_private(fresh);
  if (!file)
    return tl::unexpected(std::move(file.error()));
  result<bool> done = true;
  if (auto ok = write_exactly(file->get(), fresh, header, 0); !ok)
    done = tl::unexpected(std::move(ok.error()));
  else if (ftruncate(file->get(), static_cast<off_t>(file_bytes)) != 0)
    done = fail(ec::io, "{}: cannot have {} bytes: {}", path, file_bytes,
                system_reason());
  else if (link(fresh.c_str(), path.c_str()) != 0)
    done = errno == EEXIST ? result<bool>{false}
                           : fail(ec::io, "{}: {}", path, system_reason());
  unlink(fresh.c_str());
  return done;
}

/// Opens the file, or makes it. A damaged one is removed first: who has it
/// mapped keeps what is mapped.
result<file_handle> open_or_create(const std::string& path,
                                   const slot_header& header,
                                   uint64_t file_bytes) {
  for (int attempt = 0; attempt < attempts_max; ++attempt) {
    auto file = open_private(path);
    if (!file && file.error().code != ec::not_found)
      return file;
    if (!file) {
      if (auto made = create(path, header, file_bytes); !made)
        return tl::unexpected(std::move(made.error()));
      continue;
    }
    auto ours = is_ours(file->get(), path, header, file_bytes);
    if (!ours)
      return tl::unexpected(std::move(ours.error()));
    if (!*ours) {
      unlink(path.c_str());
      continue;
    }
    // Whoever evicts it has the lock before unlinking, so this order tells.
    struct stat facts {};
    if (try_lock(file->get(), lock_kind::shared, 0, 1) &&
        fstat(file->get(), &facts) == 0 && facts.st_nlink > 0)
      return file;
    std::this_thread::sleep_for(claim_poll);
  }
  return fail(ec::io, "{}: others replace it all the time", path);
}

} // namespace

// -- opening ----------------------------------------------------------------

result<std::shared_ptr<slot_file>>
slot_file::open(const std::string& path, slot_plan plan, options limits) {
  auto layout = slot_layout::of(plan.capacities);
  if (!layout)
    return fail(ec::invalid_argument, "{}: too large for a file", path);
  const auto header = make_slot_header(plan, *layout);
  auto file = open_or_create(path, header, layout->file_bytes());
  if (!file)
    return tl::unexpected(std::move(file.error()));
  // What is used last is evicted last.
  static_cast<void>(futimens(file->get(), nullptr));
  std::shared_ptr<slot_file> out{new slot_file(
    std::move(*file), path, std::move(plan.identity), std::move(*layout))};
  out->limits_ = limits;
  if (auto ok = out->map(); !ok)
    return tl::unexpected(std::move(ok.error()));
  return out;
}

slot_file::slot_file(file_handle file, std::string path, std::string identity,
                     slot_layout layout)
  : file_(std::move(file)), path_(std::move(path)),
    identity_(std::move(identity)), layout_(std::move(layout)),
    intact_(layout_.slots()) {
  // nop
}

/// The file's first byte comes to lie on a huge page's boundary: then a huge
/// page of the file can be one of the mapping.
result<void> slot_file::map() {
  const auto bytes = layout_.file_bytes();
  constexpr auto huge = slot_layout::data_alignment;
  void* room = mmap(nullptr, bytes + huge, PROT_NONE,
                    MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (room == MAP_FAILED)
    return fail(ec::out_of_memory, "{}: no room for {} bytes: {}", path_, bytes,
                system_reason());
  const auto before = (huge - reinterpret_cast<uintptr_t>(room) % huge) % huge;
  auto* begin = static_cast<std::byte*>(room) + before;
  void* mapped =
    mmap(begin, bytes, PROT_READ, MAP_SHARED | MAP_FIXED, file_.get(), 0);
  if (mapped == MAP_FAILED) {
    auto failed = fail(ec::io, "{}: cannot map: {}", path_, system_reason());
    munmap(room, bytes + huge);
    return failed;
  }
  if (before > 0)
    munmap(room, before);
  if (before < huge)
    munmap(begin + bytes, huge - before);
  base_ = begin;
  // A refusal costs speed only.
  static_cast<void>(madvise(begin, bytes, MADV_HUGEPAGE));
  return {};
}

slot_file::~slot_file() {
  if (base_ != nullptr)
    munmap(const_cast<std::byte*>(base_), layout_.file_bytes());
}

// -- reading ----------------------------------------------------------------

result<std::optional<slot_file::mapped_bytes>> slot_file::find(size_t slot) {
  TROUPE_ASSERT(slot < layout_.slots());
  slot_entry entry{};
  if (auto done =
        read_exactly(file_.get(), path_, entry, layout_.entry_begin(slot));
      !done)
    return tl::unexpected(std::move(done.error()));
  const auto seal =
    read_slot_entry(entry, identity_, slot, layout_.capacity(slot));
  if (!seal)
    return std::nullopt;
  const std::span bytes{base_ + layout_.slot_begin(slot), seal->bytes};
  if (!intact_[slot]) {
    if (auto ok = bring_in(bytes); !ok)
      return tl::unexpected(std::move(ok.error()));
    if (checksum_of(bytes) != seal->sum)
      return std::nullopt;
    intact_[slot] = true;
  }
  return view(bytes);
}

/// Reads the pages in by a call that reports errors. Where it does not exist,
/// at least the size is checked.
result<void> slot_file::bring_in(std::span<const std::byte> bytes) const {
  struct stat facts {};
  if (fstat(file_.get(), &facts) != 0 ||
      static_cast<uint64_t>(facts.st_size) < layout_.file_bytes())
    return fail(ec::io, "{}: cut short while in use, expected {} bytes", path_,
                layout_.file_bytes());
  constexpr auto page = slot_layout::page_bytes;
  auto* begin = const_cast<std::byte*>(bytes.data());
  const auto whole = (bytes.size() + page - 1) / page * page;
  if (madvise(begin, whole, populate_read) == 0 || errno == EINVAL)
    return {};
  return fail(ec::io, "{}: cannot read: {}", path_, system_reason());
}

/// When nobody uses a view any more, its pages are given back: what stays in
/// memory is the system's to keep or drop.
slot_file::mapped_bytes slot_file::view(std::span<const std::byte> bytes) {
  struct pages {
    std::shared_ptr<const slot_file> file;
    std::span<const std::byte> bytes;

    ~pages() {
      constexpr auto page = slot_layout::page_bytes;
      madvise(const_cast<std::byte*>(bytes.data()),
              (bytes.size() + page - 1) / page * page, MADV_DONTNEED);
    }
  };
  auto owner = std::make_shared<pages>();
  owner->file = shared_from_this();
  owner->bytes = bytes;
  return {bytes, std::move(owner)};
}

// -- writing ----------------------------------------------------------------

slot_file::claim::claim(std::shared_ptr<slot_file> file, size_t slot)
  : file_(std::move(file)), slot_(slot) {
  // nop
}

slot_file::claim::~claim() {
  if (file_)
    file_->release(slot_);
}

std::optional<slot_file::claim>
slot_file::try_claim(size_t slot, std::chrono::milliseconds patience) {
  TROUPE_ASSERT(slot < layout_.slots());
  const auto deadline = std::chrono::steady_clock::now() + patience;
  std::unique_lock guard{mutex_};
  if (!released_.wait_until(guard, deadline,
                            [&] { return !claimed_.contains(slot); }))
    return std::nullopt;
  claimed_.insert(slot);
  guard.unlock();
  const auto entry = layout_.entry_begin(slot);
  while (!try_lock(file_.get(), lock_kind::exclusive, entry,
                   slot_layout::entry_bytes)) {
    if (std::chrono::steady_clock::now() >= deadline) {
      unmark(slot);
      return std::nullopt;
    }
    std::this_thread::sleep_for(claim_poll);
  }
  return claim{shared_from_this(), slot};
}

void slot_file::release(size_t slot) {
  try_lock(file_.get(), lock_kind::none, layout_.entry_begin(slot),
           slot_layout::entry_bytes);
  unmark(slot);
}

void slot_file::unmark(size_t slot) {
  {
    std::lock_guard guard{mutex_};
    claimed_.erase(slot);
  }
  released_.notify_all();
}

result<void> slot_file::store(const claim& mine,
                              std::span<const std::byte> bytes) {
  const auto slot = mine.slot_;
  TROUPE_ASSERT(bytes.size() <= layout_.capacity(slot));
  const auto begin = layout_.slot_begin(slot);
  if (auto ok = check_space(bytes.size()); !ok)
    return ok;
  // A damaged slot is empty from here on, for everybody.
  if (auto done = write_entry(slot, {}); !done)
    return done;
  if (auto done = write_exactly(file_.get(), path_, bytes, begin); !done)
    return done;
  if (auto done = write_back(begin, bytes.size()); !done)
    return done;
  const slot_seal seal{bytes.size(), checksum_of(bytes)};
  return write_entry(slot, make_slot_entry(identity_, slot, seal));
}

result<void> slot_file::check_space(uint64_t bytes) const {
  if (const auto used = disk_bytes(); used + bytes > limits_.bytes_max)
    return fail(ec::out_of_memory, "{}: has {} bytes, its bound is {}", path_,
                used, limits_.bytes_max);
  struct statvfs facts {};
  if (fstatvfs(file_.get(), &facts) != 0)
    return fail(ec::io, "{}: {}", path_, system_reason());
  const auto left = uint64_t{facts.f_bavail} * facts.f_frsize;
  const auto kept =
    uint64_t{facts.f_blocks} * facts.f_frsize / 100 * limits_.free_percent_min;
  if (left < bytes || left - bytes < kept)
    return fail(ec::out_of_memory,
                "{}: its file system has {} bytes left, of which {} stay free",
                path_, left, kept);
  return {};
}

result<void> slot_file::write_entry(size_t slot, const slot_entry& entry) {
  return write_exactly(file_.get(), path_, entry, layout_.entry_begin(slot));
}

/// Writes these bytes to the disk and waits: an error shows here, or never.
/// Asked only once, because an error is told only once.
result<void> slot_file::write_back(uint64_t begin, uint64_t bytes) const {
  constexpr unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE |
                           SYNC_FILE_RANGE_WAIT_AFTER;
  if (sync_file_range(file_.get(), static_cast<off_t>(begin),
                      static_cast<off_t>(bytes), all) == 0)
    return {};
  const bool refused = errno == EINVAL || errno == ESPIPE || errno == ENOSYS;
  if (refused && fdatasync(file_.get()) == 0)
    return {};
  const bool full = errno == ENOSPC || errno == EDQUOT;
  return fail(full ? ec::out_of_memory : ec::io, "{}: cannot write back: {}",
              path_, system_reason());
}

uint64_t slot_file::disk_bytes() const {
  struct stat facts {};
  if (fstat(file_.get(), &facts) != 0)
    return 0;
  return static_cast<uint64_t>(facts.st_blocks) * blocks_of_stat;
}

} // namespace troupe
