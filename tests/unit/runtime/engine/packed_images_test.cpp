// With and without the cache, filled or empty, damaged or full: the same bytes.
#include "runtime/engine/packed_images.hpp"

#include "golden_model.hpp"
#include "runtime/cache/cache_folder.hpp"
#include "runtime/engine/sequence_pass.hpp"
#include "tests/unit/runtime/model/scratch_folder.hpp"

#include <boost/test/unit_test.hpp>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sys/stat.h>

using namespace troupe;
using kernels::numeric_mode;

namespace {

namespace fs = std::filesystem;

struct fixture {
  fixture() {
    model_folder.copy_from(golden::model_folder);
  }

  std::shared_ptr<packed_images> open(numeric_mode mode = numeric_mode::bf16) {
    return packed_images::open(open_model(model_folder.path()).value(),
                               {kernels::best_isa(), mode}, options);
  }

  std::vector<std::byte> expert(packed_images& images, uint32_t e) const {
    const auto x = images.expert(layer_index{2}, expert_id{e});
    BOOST_TEST_REQUIRE(x.has_value());
    return {x->bytes.begin(), x->bytes.end()};
  }

  /// What packing gives, without any cache.
  std::vector<std::byte> packed(uint32_t e) const {
    const auto images =
      packed_images::open(open_model(model_folder.path()).value(),
                          {kernels::best_isa(), numeric_mode::bf16}, {});
    return expert(*images, e);
  }

  std::vector<cached_file> files() const {
    return list_cache(cache_folder.path()).value();
  }

  test::scratch_folder model_folder;
  test::scratch_folder cache_folder;
  std::vector<std::string> warnings;
  image_cache_options options{
    .folder = cache_folder.path(),
    .free_percent_min = 0,
    .patience = std::chrono::milliseconds{0},
    .warn = [this](const std::string& text) { warnings.push_back(text); }};
};

std::vector<float> logits_of(packed_images& images) {
  kernels::lanes pool{{.count = 1}};
  const auto model = load_local_model(images, pool);
  BOOST_TEST_REQUIRE(model.has_value());
  const auto ids = golden::load_reference(0).ids;
  auto out = evaluate_sequence(ids, *model, pool, {});
  BOOST_TEST_REQUIRE(out.has_value());
  return std::move(out->logits);
}

} // namespace

BOOST_FIXTURE_TEST_SUITE(packed_images_suite, fixture)

BOOST_AUTO_TEST_CASE(the_cache_gives_the_very_bytes_of_packing) {
  const auto expected = packed(2);
  const auto first = open();
  BOOST_TEST((expert(*first, 2) == expected));
  BOOST_TEST((expert(*first, 2) == expected));
  BOOST_TEST(first->stats().packed == 1u);
  BOOST_TEST(first->stats().stored == 1u);
  BOOST_TEST(first->stats().cached == 1u);
  const auto second = open();
  BOOST_TEST((expert(*second, 2) == expected));
  BOOST_TEST(second->stats().packed == 0u);
  BOOST_TEST(second->stats().bytes_read == 0u);
  BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(logits_are_the_same_bits_with_and_without_the_cache) {
  for (auto mode : {numeric_mode::bf16, numeric_mode::f32}) {
    const auto without = packed_images::open(
      open_model(model_folder.path()).value(), {kernels::best_isa(), mode}, {});
    const auto expected = logits_of(*without);
    const auto cold = open(mode);
    BOOST_TEST(golden::same_bits(logits_of(*cold), expected));
    BOOST_TEST(cold->stats().bytes_read > 0u);
    const auto warm = open(mode);
    BOOST_TEST(golden::same_bits(logits_of(*warm), expected));
    BOOST_TEST(warm->stats().bytes_read == 0u); // the backbone neither
  }
  BOOST_TEST(warnings.empty());
}

BOOST_AUTO_TEST_CASE(a_copy_has_the_same_bytes) {
  const auto expected = packed(1);
  expert(*open(), 1);
  options.pages = image_pages::anonymous;
  const auto images = open();
  const auto x = images->expert(layer_index{2}, expert_id{1}).value();
  BOOST_TEST(images->stats().cached == 1u);
  BOOST_TEST(std::equal(x.bytes.begin(), x.bytes.end(), expected.begin()));
  fs::resize_file(images->stats().file, 0); // nothing is left of the file
  BOOST_TEST(std::equal(x.bytes.begin(), x.bytes.end(), expected.begin()));
}

BOOST_AUTO_TEST_CASE(a_changed_checkpoint_has_another_file) {
  expert(*open(), 1);
  const auto before = files();
  BOOST_TEST_REQUIRE(before.size() == 1u);
  const auto weights = model_folder.path("model.safetensors");
  // The same size and the same names: only the time tells.
  fs::last_write_time(weights,
                      fs::last_write_time(weights) + std::chrono::hours{1});
  const auto images = open();
  expert(*images, 1);
  BOOST_TEST(images->stats().packed == 1u);
  const auto after = files(); // the old one is superseded
  BOOST_TEST_REQUIRE(after.size() == 1u);
  BOOST_TEST(after[0].path != before[0].path);
}

BOOST_AUTO_TEST_CASE(nothing_is_stored_of_a_checkpoint_that_changes_meanwhile) {
  const auto images = open();
  const auto weights = model_folder.path("model.safetensors");
  fs::last_write_time(weights,
                      fs::last_write_time(weights) + std::chrono::hours{1});
  BOOST_TEST((expert(*images, 1) == packed(1)));
  BOOST_TEST(images->stats().stored == 0u);
  BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(modes_and_models_do_not_share_a_file) {
  expert(*open(numeric_mode::bf16), 1);
  expert(*open(numeric_mode::f32), 1);
  BOOST_TEST(files().size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_damaged_image_is_packed_again) {
  const auto expected = packed(3);
  expert(*open(), 3);
  {
    const auto path = files()[0].path;
    std::fstream file{path, std::ios::in | std::ios::out | std::ios::binary};
    std::string all(fs::file_size(path), '\0');
    file.read(all.data(), static_cast<std::streamsize>(all.size()));
    const auto at = all.find_first_not_of('\0', size_t{2} << 20);
    BOOST_TEST_REQUIRE(at != std::string::npos);
    file.seekp(static_cast<std::streamoff>(at));
    file.put(static_cast<char>(all[at] ^ 0x20));
  }
  const auto images = open();
  BOOST_TEST((expert(*images, 3) == expected));
  BOOST_TEST(images->stats().packed == 1u);
  BOOST_TEST(images->stats().stored == 1u);
  BOOST_TEST((expert(*open(), 3) == expected));
}

BOOST_AUTO_TEST_CASE(a_folder_that_cannot_be_used_costs_one_warning) {
  options.folder = "/proc/nowhere/troupe";
  const auto images = open();
  BOOST_TEST((expert(*images, 0) == packed(0)));
  BOOST_TEST((expert(*images, 1) == packed(1)));
  BOOST_TEST(images->stats().file.empty());
  BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(a_full_cache_costs_one_warning) {
  options.bytes_max = 20'000;
  const auto images = open();
  for (uint32_t e = 0; e < 4; ++e)
    BOOST_TEST((expert(*images, e) == packed(e)));
  BOOST_TEST(images->stats().stored < 4u);
  BOOST_TEST(warnings.size() == 1u);
}

BOOST_AUTO_TEST_CASE(an_expert_that_another_process_keeps_is_packed_here_too) {
  const auto one = open();
  const auto file = one->stats().file;
  expert(*one, 0);
  // Somebody has all entries locked and does not go on.
  file_handle other = open_private(file).value();
  BOOST_TEST_REQUIRE(
    try_lock(other.get(), lock_kind::exclusive, 4096, 1 << 20));
  BOOST_TEST((expert(*one, 2) == packed(2)));
  BOOST_TEST(
    (expert(*one, 0) == packed(0))); // sealed ones are read all the same
  BOOST_TEST(one->stats().cached == 1u);
  BOOST_TEST(one->stats().stored == 1u);
}

BOOST_AUTO_TEST_CASE(an_expert_that_does_not_exist_is_an_error) {
  const auto images = open();
  BOOST_TEST(!images->expert(layer_index{2}, expert_id{9999}).has_value());
  BOOST_TEST(!images->expert(layer_index{9999}, expert_id{0}).has_value());
}

BOOST_AUTO_TEST_CASE(lanes_and_processes_fill_the_cache_together) {
  const auto one = open();
  const auto two = open();
  kernels::lanes pool{{.count = 3}};
  std::atomic<int> wrong{0};
  std::vector<std::vector<std::byte>> expected;
  for (uint32_t e = 0; e < 4; ++e)
    expected.push_back(packed(e));
  pool.parallel_for(16, [&](size_t i, size_t) {
    const auto e = static_cast<uint32_t>(i / 2 % 4);
    auto& images = i % 2 == 0 ? *one : *two;
    const auto x = images.expert(layer_index{2}, expert_id{e});
    if (!x || !std::equal(x->bytes.begin(), x->bytes.end(), expected[e].begin(),
                          expected[e].end()))
      ++wrong;
  });
  BOOST_TEST(wrong == 0);
}

BOOST_AUTO_TEST_SUITE_END()
