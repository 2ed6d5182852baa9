// The promise of exactness inside one process: the bits of a row do not depend
// on chunks, on company in the batch, on lanes, on preemption or (in bf16 mode)
// on the instruction set.
#include "golden_model.hpp"
#include "runtime/engine/sequence_pass.hpp"

#include <boost/test/unit_test.hpp>
#include <random>

using namespace troupe;
using kernels::numeric_mode;

namespace {

constexpr numeric_mode modes[] = {numeric_mode::f32, numeric_mode::bf16};

std::vector<token_id> ids_of(uint32_t seed, size_t n) {
  std::mt19937 random{seed};
  std::vector<token_id> out(n);
  for (auto& x : out)
    x = static_cast<token_id>(random() % 4096);
  return out;
}

std::vector<float> logits_of(const local_model& model,
                             std::span<const token_id> ids, uint32_t chunk,
                             size_t lanes) {
  kernels::lanes pool{{.count = lanes}};
  auto out = evaluate_sequence(ids, model, pool, {chunk, hidden_capture::none});
  BOOST_TEST_REQUIRE(out.has_value());
  return std::move(out->logits);
}

/// Eight requests of different lengths, greedy and sampled.
std::vector<generation_request> eight_requests() {
  std::vector<generation_request> out;
  for (uint32_t i = 0; i < 8; ++i) {
    auto& x = out.emplace_back();
    x.prompt = ids_of(i, 3 + i * 17);
    x.params.max_tokens = 12 + i;
    x.params.ignore_eos = true;
    x.params.temperature = i % 2 == 0 ? 0.0F : 0.9F;
    x.params.seed = 77 + i;
  }
  return out;
}

using texts = std::vector<std::vector<token_id>>;

struct run {
  texts ids;
  scheduler_stats stats;
};

run generate(const local_model& model,
             std::span<const generation_request> requests,
             generator_options options, size_t lanes) {
  kernels::lanes pool{{.count = lanes}};
  auto generator = local_generator::make(model, pool, std::move(options));
  BOOST_TEST_REQUIRE(generator.has_value());
  const auto found = generator->generate(requests);
  BOOST_TEST_REQUIRE(found.has_value());
  run out;
  for (const auto& x : *found)
    out.ids.push_back(x.ids);
  out.stats = generator->stats();
  return out;
}

generator_options options_of(uint32_t rows, uint32_t chunk) {
  generator_options out;
  out.schedule.max_batch_rows = rows;
  out.schedule.prefill_chunk = chunk;
  return out;
}

texts each_alone(const local_model& model) {
  texts out;
  for (const auto& x : eight_requests())
    out.push_back(
      generate(model, std::span{&x, 1}, options_of(512, 0), 1).ids.front());
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(invariance)

BOOST_AUTO_TEST_CASE(logits_do_not_depend_on_chunks_or_lanes) {
  const auto ids = ids_of(5, 150);
  for (auto mode : modes) {
    const auto model = golden::load(golden::demo_folder, mode);
    const auto whole = logits_of(model, ids, 150, 1);
    for (uint32_t chunk : {1U, 7U, 64U, 150U})
      for (size_t lanes : {size_t{1}, size_t{2}})
        BOOST_TEST(
          golden::same_bits(whole, logits_of(model, ids, chunk, lanes)),
          to_string(mode) << ", chunk " << chunk << ", lanes " << lanes);
  }
}

BOOST_AUTO_TEST_CASE(tokens_do_not_depend_on_company_chunks_or_lanes) {
  const auto requests = eight_requests();
  for (auto mode : modes) {
    const auto model = golden::load(golden::demo_folder, mode);
    const auto alone = each_alone(model);
    for (auto [rows, chunk, lanes] :
         {std::tuple{512U, 0U, size_t{1}}, std::tuple{512U, 7U, size_t{2}},
          std::tuple{64U, 64U, size_t{1}}, std::tuple{9U, 1U, size_t{2}}})
      BOOST_TEST(
        (generate(model, requests, options_of(rows, chunk), lanes).ids ==
         alone),
        to_string(mode) << ", rows " << rows << ", chunk " << chunk
                        << ", lanes " << lanes);
  }
}

BOOST_AUTO_TEST_CASE(preempted_sequences_end_with_the_same_tokens) {
  const auto model = golden::load(golden::demo_folder, numeric_mode::bf16);
  auto requests = eight_requests();
  for (auto& x : requests)
    x.params.max_tokens = 90;
  const auto free = generate(model, requests, options_of(512, 0), 1);
  BOOST_TEST(free.stats.preemptions == 0u);
  auto options = options_of(512, 0);
  options.cache.tokens_max = 5 * kv_cache::block_tokens();
  const auto tight = generate(model, requests, options, 1);
  BOOST_TEST(tight.stats.preemptions > 0u);
  BOOST_TEST((free.ids == tight.ids));
}

BOOST_AUTO_TEST_CASE(bf16_bits_do_not_depend_on_the_instruction_set) {
  const auto opened = open_model(golden::model_folder);
  BOOST_TEST_REQUIRE(opened.has_value());
  auto ids = ids_of(9, 70);
  for (auto& x : ids)
    x %= 512;
  std::vector<float> first;
  for (auto isa : {kernels::isa::scalar, kernels::isa::avx2,
                   kernels::isa::avx512, kernels::isa::amx}) {
    if (!kernels::supported(isa)) {
      BOOST_TEST_MESSAGE("skipped: this machine has no " << to_string(isa));
      continue;
    }
    kernels::lanes pool{{.count = 1}};
    const auto model =
      load_local_model(**opened, {isa, numeric_mode::bf16}, pool);
    BOOST_TEST_REQUIRE(model.has_value());
    auto found = logits_of(*model, ids, 33, 1);
    if (first.empty())
      first = std::move(found);
    else
      BOOST_TEST(golden::same_bits(first, found), to_string(isa));
  }
}

BOOST_AUTO_TEST_CASE(a_pass_that_was_given_up_leaves_no_trace) {
  const auto model = golden::load(golden::demo_folder, numeric_mode::bf16);
  kernels::lanes pool{{.count = 1}};
  const auto& config = model.backbone->config;
  auto cache =
    kv_cache::make(config, {uint64_t{64} << 20, 256, kernels::dtype::bf16});
  BOOST_TEST_REQUIRE(cache.has_value());
  forward_pass pass{model.backbone, *cache, pool, {}};
  batch x{
    pass_id{1}, {{sequence_id{1}, slot_phase::prefill, 3, {0}, 3, {}}}, {}};
  for (uint32_t p = 0; p < 3; ++p)
    x.rows.push_back({static_cast<token_id>(p + 40), p, 0, row_output::logits});
  const auto first = run_pass(pass, x, model, pool);
  BOOST_TEST_REQUIRE(first.has_value());
  // The step is lost at its first MoE layer and started again.
  BOOST_TEST(std::holds_alternative<moe_request>(pass.start(x)));
  BOOST_TEST(pass.waiting());
  const auto again = run_pass(pass, x, model, pool);
  BOOST_TEST_REQUIRE(again.has_value());
  BOOST_TEST(!pass.waiting());
  BOOST_TEST(golden::same_bits(first->logits, again->logits));
}

BOOST_AUTO_TEST_CASE(rows_without_wish_for_logits_cost_no_output_head) {
  const auto model = golden::load(golden::demo_folder, numeric_mode::bf16);
  kernels::lanes pool{{.count = 1}};
  auto cache = kv_cache::make(model.backbone->config,
                              {uint64_t{64} << 20, 256, kernels::dtype::bf16});
  BOOST_TEST_REQUIRE(cache.has_value());
  forward_pass pass{model.backbone, *cache, pool, {}};
  batch x{
    pass_id{1}, {{sequence_id{1}, slot_phase::prefill, 3, {0}, 3, {}}}, {}};
  for (uint32_t p = 0; p < 3; ++p)
    x.rows.push_back({static_cast<token_id>(p + 40), p, 0, row_output::none});
  auto out = run_pass(pass, x, model, pool);
  BOOST_TEST_REQUIRE(out.has_value());
  BOOST_TEST(out->logits.empty());
  BOOST_TEST(out->rows() == 0u);
  // Wanted rows keep their order whatever lies between them.
  x.rows[0].output = row_output::logits;
  x.rows[2].output = row_output::logits;
  out = run_pass(pass, x, model, pool);
  for (auto& row : x.rows)
    row.output = row_output::logits;
  const auto all = run_pass(pass, x, model, pool);
  BOOST_TEST_REQUIRE(out->rows() == 2u);
  BOOST_TEST(golden::same_bits(out->row(0), all->row(0)));
  BOOST_TEST(golden::same_bits(out->row(1), all->row(2)));
}

BOOST_AUTO_TEST_SUITE_END()
