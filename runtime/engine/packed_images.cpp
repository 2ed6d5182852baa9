#include "runtime/engine/packed_images.hpp"

#include "runtime/assert.hpp"
#include "runtime/cache/cache_folder.hpp"
#include "runtime/cache/mapped_pages.hpp"
#include "runtime/engine/layer_experts.hpp"
#include "runtime/model/sha256.hpp"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <new>

namespace troupe {

namespace {

/// Raise it when the bytes of a layout change without its name.
constexpr int image_version = 1;

/// The backbone is compared and written in pieces of this size, one per task.
constexpr uint64_t chunk_bytes = uint64_t{32} << 20;

/// Smaller images have no whole huge page for sure.
constexpr size_t probe_bytes_min = 2 * kernels::aligned_buffer::huge_page_bytes;

/// Room for the backbone: known is only that it is not all of the checkpoint,
/// that f32 doubles bf16, and that small matrices are padded. Empty slots take
/// no space.
uint64_t backbone_room(const opened_model& model) {
  return 2 * model.files.tensor_bytes() + (uint64_t{64} << 20);
}

result<std::shared_ptr<kernels::aligned_buffer>> allocate(uint64_t bytes) {
  try {
    return std::make_shared<kernels::aligned_buffer>(bytes);
  } catch (const std::bad_alloc&) {
    return fail(ec::out_of_memory, "experts: the system has no {} bytes",
                bytes);
  }
}

packed_image image_in(std::shared_ptr<const kernels::aligned_buffer> memory) {
  const auto bytes = memory->as<std::byte>();
  return {bytes, std::move(memory)};
}

} // namespace

// -- the file ---------------------------------------------------------------

std::shared_ptr<packed_images>
packed_images::open(model_ptr model, kernels::compute_options options,
                    image_cache_options cache) {
  std::shared_ptr<packed_images> out{
    new packed_images(std::move(model), options, std::move(cache))};
  if (!out->cache_.folder.empty())
    out->open_file();
  return out;
}

packed_images::packed_images(model_ptr model, kernels::compute_options options,
                             image_cache_options cache)
  : model_(std::move(model)), options_(options), cache_(std::move(cache)) {
  size_t rank = 0;
  for (const auto& layer : model_->config.layers)
    moe_rank_.push_back(layer.ffn == ffn_kind::moe ? rank++ : SIZE_MAX);
}

void packed_images::open_file() {
  const auto& config = model_->config;
  chunks_ = backbone_room(*model_) / chunk_bytes + 1;
  stamp_ = model_->files.stamp();
  slot_plan plan;
  plan.capacities.assign(chunks_, chunk_bytes);
  const auto experts =
    uint64_t{config.moe_layers()} * config.router.num_experts;
  uint64_t expert_bytes = 0;
  if (experts > 0)
    expert_bytes = packed_expert_bytes(config, options_);
  plan.capacities.insert(plan.capacities.end(), experts, expert_bytes);
  plan.identity = identity();
  plan.note = note();
  if (auto ok = prepare_cache_folder(cache_.folder); !ok)
    return warn_once(ok.error().message);
  const auto path = fmt::format("{}/{}{}", cache_.folder,
                                plan.identity.substr(0, 32), slot_file_suffix);
  make_room(cache_.folder,
            {path, plan.note, experts * expert_bytes, cache_.bytes_max});
  auto file = slot_file::open(path, std::move(plan),
                              {cache_.bytes_max, cache_.free_percent_min});
  if (!file)
    return warn_once(file.error().message);
  file_ = std::move(*file);
}

/// Of everything that the bytes of the slots depend on.
std::string packed_images::identity() const {
  sha256 hash;
  hash.add(fmt::format("troupe packed images {}\n", image_version));
  hash.add(fmt::format("model {}\n", model_->digest));
  hash.add(fmt::format("experts {}\n", packed_expert_layout(options_)));
  for (auto format : image_formats)
    hash.add(fmt::format("weights {}\n",
                         kernels::packed_weight::layout(options_, format)));
  hash.add(stamp_);
  return hash.hex();
}

/// The same for each state of a model folder: the newest supersedes the others.
std::string packed_images::note() const {
  std::error_code failed;
  auto folder = std::filesystem::canonical(model_->folder, failed);
  return fmt::format("{}: {}", failed ? model_->folder : folder.string(),
                     kernels::packed_weight::layout(options_));
}

void packed_images::warn_once(const std::string& text) {
  std::call_once(warned_, [&] {
    if (cache_.warn)
      cache_.warn(
        fmt::format("cache of packed weights: {}; going on without", text));
  });
}

packed_images::statistics packed_images::stats() const {
  statistics out;
  out.cached = cached_;
  out.packed = packed_;
  out.stored = stored_;
  out.bytes_read = model_->files.bytes_read();
  if (file_) {
    out.file = file_->path();
    out.disk_bytes = file_->disk_bytes();
  }
  return out;
}

// -- images -----------------------------------------------------------------

std::optional<slot_file::mapped_bytes> packed_images::find_mapped(size_t slot) {
  auto found = file_->find(slot);
  if (found)
    return std::move(*found);
  warn_once(found.error().message);
  return std::nullopt;
}

/// Whether images are to be copied: decided when the first large one is mapped.
bool packed_images::wants_copy(std::span<const std::byte> mapped) {
  if (cache_.pages != image_pages::automatic)
    return cache_.pages == image_pages::anonymous;
  if (mapped.size() < probe_bytes_min)
    return false;
  std::call_once(pages_decided_, [&] {
    const auto pages = pages_of_mapping(mapped.data());
    copies_ = pages && pages->huge_file_bytes == 0;
  });
  return copies_;
}

std::optional<packed_image> packed_images::in_place(slot_file::mapped_bytes x) {
  if (!wants_copy(x.bytes))
    return packed_image{x.bytes, std::move(x.owner)};
  auto memory = allocate(x.bytes.size());
  if (!memory)
    return packed_image{x.bytes, std::move(x.owner)};
  std::memcpy((*memory)->data(), x.bytes.data(), x.bytes.size());
  return image_in(std::move(*memory));
}

std::optional<packed_image> packed_images::find(size_t slot) {
  auto found = find_mapped(slot);
  return found ? in_place(std::move(*found)) : std::nullopt;
}

// -- experts ----------------------------------------------------------------

size_t packed_images::slot_of(layer_index layer, expert_id expert) const {
  return chunks_ + moe_rank_[layer.value] * model_->config.router.num_experts +
         expert.value;
}

result<packed_image> packed_images::expert(layer_index layer,
                                           expert_id expert) {
  const bool exists = layer.value < moe_rank_.size() &&
                      moe_rank_[layer.value] != SIZE_MAX &&
                      expert.value < model_->config.router.num_experts;
  if (!file_ || !exists) // packing says what is wrong with it
    return pack(layer, expert);
  const auto slot = slot_of(layer, expert);
  if (auto found = find(slot)) {
    ++cached_;
    return std::move(*found);
  }
  auto mine = is_full_ ? std::nullopt : file_->try_claim(slot, cache_.patience);
  if (!mine)
    return pack(layer, expert);
  // Somebody else may have packed it meanwhile.
  if (auto found = find(slot)) {
    ++cached_;
    return std::move(*found);
  }
  auto fresh = pack(layer, expert);
  if (!fresh || !store(*mine, fresh->bytes))
    return fresh;
  ++stored_;
  auto found = find(slot);
  return found ? std::move(*found) : std::move(*fresh);
}

result<packed_image> packed_images::pack(layer_index layer, expert_id expert) {
  auto memory = allocate(packed_expert_bytes(model_->config, options_));
  if (!memory)
    return tl::unexpected{memory.error()};
  if (auto done = pack_expert_into((*memory)->as<std::byte>(), *model_, layer,
                                   expert, options_);
      !done)
    return tl::unexpected{done.error()};
  ++packed_;
  return image_in(std::move(*memory));
}

/// The files must still be those that gave the cache its name.
bool packed_images::store(const slot_file::claim& mine,
                          std::span<const std::byte> bytes) {
  if (is_full_)
    return false;
  auto done =
    model_->files.stamp() == stamp_
      ? file_->store(mine, bytes)
      : fail(ec::bad_format, "{}: the checkpoint has changed", model_->folder);
  if (done)
    return true;
  is_full_ = true;
  warn_once(done.error().message);
  return false;
}

// -- the backbone -----------------------------------------------------------

std::optional<packed_image> packed_images::backbone(kernels::lanes& pool) {
  if (!file_)
    return std::nullopt;
  const auto first = find_mapped(0);
  const auto bytes = first ? image_bytes_of(first->bytes) : std::nullopt;
  if (!bytes || *bytes > chunks_ * chunk_bytes)
    return std::nullopt;
  const auto chunks = (*bytes + chunk_bytes - 1) / chunk_bytes;
  auto all =
    std::make_shared<std::vector<std::optional<slot_file::mapped_bytes>>>(
      chunks);
  pool.parallel_for(chunks,
                    [&](size_t i, size_t) { (*all)[i] = find_mapped(i); });
  for (size_t i = 0; i < chunks; ++i) {
    const auto expected = std::min(chunk_bytes, *bytes - i * chunk_bytes);
    if (!(*all)[i] || (*all)[i]->bytes.size() != expected)
      return std::nullopt;
  }
  // The chunks' slots are whole pages, so they lie one after the other.
  const std::span whole{first->bytes.data(), *bytes};
  if (!wants_copy(whole))
    return packed_image{whole, std::move(all)};
  auto memory = allocate(*bytes);
  if (!memory)
    return packed_image{whole, std::move(all)};
  pool.parallel_for(chunks, [&](size_t i, size_t) {
    const auto& chunk = (*all)[i]->bytes;
    std::memcpy((*memory)->data() + i * chunk_bytes, chunk.data(),
                chunk.size());
  });
  return image_in(std::move(*memory));
}

bool packed_images::store_backbone(std::span<const weight_tape::stretch> image,
                                   kernels::lanes& pool) {
  const auto bytes = image_bytes(image);
  if (!file_ || bytes > chunks_ * chunk_bytes)
    return false;
  const auto chunks = (bytes + chunk_bytes - 1) / chunk_bytes;
  std::atomic<size_t> done{0};
  pool.parallel_for(chunks, [&](size_t i, size_t) {
    auto mine = file_->try_claim(i, std::chrono::milliseconds{0});
    const auto size = std::min(chunk_bytes, bytes - i * chunk_bytes);
    auto memory = allocate(size);
    if (!mine || !memory)
      return;
    copy_image(image, i * chunk_bytes, (*memory)->as<std::byte>());
    if (store(*mine, (*memory)->as<std::byte>()))
      ++done;
  });
  return done == chunks;
}

} // namespace troupe
