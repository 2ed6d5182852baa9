// The scheduler against a toy model: the next token is a hash of all tokens so
// far, so any lost, doubled or misplaced row changes what comes out.
#include "runtime/engine/scheduler.hpp"

#include <boost/test/unit_test.hpp>
#include <map>
#include <random>
#include <set>

using namespace troupe;

namespace {

constexpr uint32_t block_tokens = 4;

/// A cache that remembers which token lies in which slot of which block, and
/// fails the test when a row finds anything but its own past.
class toy_model {
public:
  std::vector<sampled_token> run(const batch& x) {
    std::vector<sampled_token> out;
    for (const auto& row : x.rows) {
      const auto& slot = x.slots[row.slot];
      BOOST_TEST_REQUIRE(row.position / block_tokens < slot.blocks.size());
      cache_[cell(slot, row.position)] = row.token;
      if (row.output == row_output::logits)
        out.push_back({slot.sequence, next(slot, row.position)});
    }
    return out;
  }

  static token_id hash(uint32_t h) {
    return static_cast<token_id>(h >> 8) & 0xffff;
  }

private:
  static uint64_t cell(const batch_slot& slot, uint32_t position) {
    return uint64_t{slot.blocks[position / block_tokens]} * block_tokens +
           position % block_tokens;
  }

  token_id next(const batch_slot& slot, uint32_t last) {
    uint32_t h = 1;
    for (uint32_t p = 0; p <= last; ++p)
      h = h * 31 + static_cast<uint32_t>(cache_.at(cell(slot, p)));
    return hash(h);
  }

  std::map<uint64_t, token_id> cache_;
};

/// What the toy model continues `tokens` with.
std::vector<token_id> expected(std::vector<token_id> tokens, size_t count) {
  std::vector<token_id> out;
  while (out.size() < count) {
    uint32_t h = 1;
    for (auto x : tokens)
      h = h * 31 + static_cast<uint32_t>(x);
    out.push_back(toy_model::hash(h));
    tokens.push_back(out.back());
  }
  return out;
}

std::vector<token_id> prompt_of(size_t n, uint32_t salt) {
  std::vector<token_id> out;
  for (size_t i = 0; i < n; ++i)
    out.push_back(static_cast<token_id>((i * 7 + salt * 13) % 100));
  return out;
}

generation_request request_of(std::vector<token_id> prompt, uint32_t tokens) {
  generation_request out{std::move(prompt), {}};
  out.params.max_tokens = tokens;
  return out;
}

struct outcome {
  std::vector<token_id> tokens;
  std::optional<finish_reason> finished;
};

using outcomes = std::map<sequence_id, outcome>;

void note(outcomes& out, std::span<const step_event> events) {
  for (const auto& x : events) {
    auto& y = out[x.sequence];
    BOOST_TEST_REQUIRE(!y.finished.has_value());
    BOOST_TEST_REQUIRE(x.index == y.tokens.size());
    if (!x.token_is_stop)
      y.tokens.push_back(x.token);
    y.finished = x.finished;
  }
}

void check_batch(const batch& x, const scheduler_options& options) {
  BOOST_TEST_REQUIRE(!x.rows.empty());
  BOOST_TEST_REQUIRE(x.rows.size() <= options.max_batch_rows);
  std::set<sequence_id> seen;
  size_t rows = 0;
  for (const auto& slot : x.slots) {
    BOOST_TEST_REQUIRE(seen.insert(slot.sequence).second);
    BOOST_TEST_REQUIRE(
      (options.prefill_chunk == 0 || slot.rows <= options.prefill_chunk));
    rows += slot.rows;
  }
  BOOST_TEST_REQUIRE(rows == x.rows.size());
}

/// Runs until nothing is left; returns the number of batches.
size_t run_to_end(scheduler& s, const scheduler_options& options,
                  outcomes& out) {
  toy_model model;
  size_t steps = 0;
  while (const auto x = s.schedule(pass_id{steps})) {
    check_batch(*x, options);
    note(out, s.postprocess(*x, model.run(*x)));
    BOOST_TEST_REQUIRE(++steps < 100000u);
  }
  BOOST_TEST(s.size() == 0u);
  return steps;
}

scheduler_options options_of(uint32_t rows, uint32_t chunk) {
  scheduler_options out;
  out.max_batch_rows = rows;
  out.prefill_chunk = chunk;
  out.context_tokens = 1000;
  return out;
}

} // namespace

BOOST_AUTO_TEST_SUITE(schedulers)

BOOST_AUTO_TEST_CASE(a_prompt_is_prefilled_in_chunks_and_then_decoded) {
  const auto options = options_of(64, 3);
  block_manager blocks{8, block_tokens};
  scheduler s{options, blocks};
  BOOST_TEST(s.add(sequence_id{1}, request_of(prompt_of(7, 0), 2)).has_value());
  std::vector<size_t> rows;
  std::vector<size_t> wanted;
  std::vector<slot_phase> phases;
  toy_model model;
  while (const auto x = s.schedule(pass_id{0})) {
    const auto sampled = model.run(*x);
    rows.push_back(x->rows.size());
    wanted.push_back(sampled.size());
    phases.push_back(x->slots[0].phase);
    (void)s.postprocess(*x, sampled);
  }
  BOOST_TEST(rows == std::vector<size_t>({3, 3, 1, 1}),
             boost::test_tools::per_element());
  BOOST_TEST(wanted == std::vector<size_t>({0, 0, 1, 1}),
             boost::test_tools::per_element());
  BOOST_TEST((phases[2] == slot_phase::prefill));
  BOOST_TEST((phases[3] == slot_phase::decode));
  BOOST_TEST(s.stats().prefill_rows == 7u);
  BOOST_TEST(s.stats().decode_rows == 1u);
  BOOST_TEST(blocks.blocks_free() == 8u);
}

BOOST_AUTO_TEST_CASE(decode_rows_go_before_prefill_rows) {
  const auto options = options_of(8, 0);
  block_manager blocks{64, block_tokens};
  scheduler s{options, blocks};
  toy_model model;
  (void)s.add(sequence_id{1}, request_of(prompt_of(4, 0), 9));
  auto x = s.schedule(pass_id{0});
  (void)s.postprocess(*x, model.run(*x));
  (void)s.add(sequence_id{2}, request_of(prompt_of(20, 1), 9));
  x = s.schedule(pass_id{1});
  BOOST_TEST_REQUIRE(x->slots.size() == 2u);
  BOOST_TEST((x->slots[0].sequence == sequence_id{1}));
  BOOST_TEST(x->slots[0].rows == 1u);
  BOOST_TEST(x->slots[1].rows == 7u);
}

BOOST_AUTO_TEST_CASE(tokens_do_not_depend_on_rows_chunks_or_company) {
  for (uint32_t rows : {1u, 2u, 7u, 64u, 512u}) {
    for (uint32_t chunk : {0u, 1u, 7u, 64u}) {
      const auto options = options_of(rows, chunk);
      block_manager blocks{200, block_tokens};
      scheduler s{options, blocks};
      for (uint32_t i = 0; i < 8; ++i)
        BOOST_TEST(
          s.add(sequence_id{i}, request_of(prompt_of(3 + i * 9, i), 5 + i))
            .has_value());
      outcomes out;
      run_to_end(s, options, out);
      for (uint32_t i = 0; i < 8; ++i) {
        BOOST_TEST(out[sequence_id{i}].tokens ==
                     expected(prompt_of(3 + i * 9, i), 5 + i),
                   boost::test_tools::per_element());
        BOOST_TEST((out[sequence_id{i}].finished == finish_reason::length));
      }
      BOOST_TEST(blocks.blocks_free() == blocks.blocks());
    }
  }
}

BOOST_AUTO_TEST_CASE(a_full_cache_preempts_the_youngest_and_loses_nothing) {
  const auto options = options_of(64, 0);
  block_manager blocks{12, block_tokens};
  scheduler s{options, blocks};
  for (uint32_t i = 0; i < 4; ++i)
    (void)s.add(sequence_id{i}, request_of(prompt_of(4, i), 30));
  outcomes out;
  run_to_end(s, options, out);
  BOOST_TEST(s.stats().preemptions > 0u);
  BOOST_TEST(s.stats().recomputed_rows > 0u);
  BOOST_TEST(s.stats().prefill_rows == 16u);
  BOOST_TEST(s.stats().decode_rows == 4u * 29);
  for (uint32_t i = 0; i < 4; ++i)
    BOOST_TEST(out[sequence_id{i}].tokens == expected(prompt_of(4, i), 30),
               boost::test_tools::per_element());
  BOOST_TEST(blocks.blocks_free() == blocks.blocks());
}

BOOST_AUTO_TEST_CASE(the_oldest_is_never_preempted) {
  const auto options = options_of(64, 0);
  block_manager blocks{10, block_tokens};
  scheduler s{options, blocks};
  toy_model model;
  for (uint32_t i = 0; i < 3; ++i)
    (void)s.add(sequence_id{i}, request_of(prompt_of(4, i), 32));
  uint64_t steps = 0;
  while (s.find(sequence_id{0}) != nullptr) {
    const auto x = s.schedule(pass_id{steps++});
    BOOST_TEST_REQUIRE(x.has_value());
    BOOST_TEST_REQUIRE((x->slots[0].sequence == sequence_id{0}));
    (void)s.postprocess(*x, model.run(*x));
  }
  BOOST_TEST(steps == 32u);
}

BOOST_AUTO_TEST_CASE(stop_ids_end_a_sequence_and_are_no_text) {
  const auto first = expected(prompt_of(5, 0), 3);
  auto options = options_of(64, 0);
  options.model_stop = {first[1]};
  block_manager blocks{64, block_tokens};
  scheduler s{options, blocks};
  auto plain = request_of(prompt_of(5, 0), 3);
  auto ignoring = plain;
  ignoring.params.ignore_eos = true;
  auto own = ignoring;
  own.params.stop_ids = {first[2]};
  (void)s.add(sequence_id{1}, plain);
  (void)s.add(sequence_id{2}, ignoring);
  (void)s.add(sequence_id{3}, own);
  outcomes out;
  run_to_end(s, options, out);
  BOOST_TEST(out[sequence_id{1}].tokens.size() == 1u);
  BOOST_TEST((out[sequence_id{1}].finished == finish_reason::stop));
  BOOST_TEST(out[sequence_id{2}].tokens.size() == 3u);
  BOOST_TEST((out[sequence_id{2}].finished == finish_reason::length));
  BOOST_TEST(out[sequence_id{3}].tokens.size() == 2u);
  BOOST_TEST((out[sequence_id{3}].finished == finish_reason::stop));
}

BOOST_AUTO_TEST_CASE(emitted_tokens_are_continued_not_repeated) {
  const auto all = expected(prompt_of(5, 0), 9);
  const auto options = options_of(64, 2);
  block_manager blocks{64, block_tokens};
  scheduler s{options, blocks};
  (void)s.add(sequence_id{1}, request_of(prompt_of(5, 0), 9),
              std::span{all}.first(4));
  outcomes out;
  toy_model model;
  auto& mine = out[sequence_id{1}];
  mine.tokens.assign(all.begin(), all.begin() + 4);
  while (const auto x = s.schedule(pass_id{0}))
    note(out, s.postprocess(*x, model.run(*x)));
  BOOST_TEST(mine.tokens == all, boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(a_sequence_with_all_its_tokens_is_complete) {
  const auto all = expected(prompt_of(5, 0), 3);
  block_manager blocks{64, block_tokens};
  scheduler s{options_of(64, 0), blocks};
  const auto x = s.add(sequence_id{1}, request_of(prompt_of(5, 0), 3), all);
  BOOST_TEST_REQUIRE(x.has_value());
  BOOST_TEST((*x == admission::complete));
  BOOST_TEST(s.size() == 0u);
}

BOOST_AUTO_TEST_CASE(the_answer_ends_where_the_context_or_cache_is_full) {
  auto options = options_of(64, 0);
  options.context_tokens = 10;
  block_manager large{64, block_tokens};
  scheduler s{options, large};
  (void)s.add(sequence_id{1}, request_of(prompt_of(6, 0), 100));
  outcomes out;
  run_to_end(s, options, out);
  BOOST_TEST(out[sequence_id{1}].tokens.size() == 4u);
  BOOST_TEST((out[sequence_id{1}].finished == finish_reason::length));
  block_manager small{2, block_tokens};
  scheduler t{options, small};
  (void)t.add(sequence_id{2}, request_of(prompt_of(6, 0), 100));
  run_to_end(t, options, out);
  BOOST_TEST(out[sequence_id{2}].tokens.size() == 2u);
}

BOOST_AUTO_TEST_CASE(a_request_that_cannot_run_is_refused_with_numbers) {
  auto options = options_of(64, 0);
  options.context_tokens = 20;
  options.vocab_size = 100;
  options.max_waiting = 1;
  block_manager blocks{3, block_tokens};
  scheduler s{options, blocks};
  const auto refused = [&](std::vector<token_id> prompt, ec code,
                           std::string_view part) {
    const auto x = s.add(sequence_id{1}, request_of(std::move(prompt), 4));
    BOOST_TEST_REQUIRE(!x.has_value());
    BOOST_TEST((x.error().code == code));
    BOOST_TEST(x.error().message.find(part) != std::string::npos,
               x.error().message);
  };
  refused({}, ec::invalid_argument, "no token");
  refused(prompt_of(20, 0), ec::invalid_argument, "context holds 20");
  refused(prompt_of(12, 0), ec::invalid_argument, "KV cache holds 12");
  refused({1, 100}, ec::invalid_argument, "token id 100");
  refused({-1}, ec::invalid_argument, "token id -1");
  BOOST_TEST(s.add(sequence_id{2}, request_of(prompt_of(4, 0), 4)).has_value());
  refused({1}, ec::overloaded, "1 requests are waiting");
  const auto x = s.schedule(pass_id{0});
  BOOST_TEST(!s.add(sequence_id{2}, request_of({1}, 4)).has_value());
  BOOST_TEST(s.add(sequence_id{1}, request_of({1}, 4)).has_value());
}

BOOST_AUTO_TEST_CASE(a_sequence_removed_in_flight_keeps_its_blocks_till_then) {
  block_manager blocks{8, block_tokens};
  scheduler s{options_of(64, 0), blocks};
  toy_model model;
  (void)s.add(sequence_id{1}, request_of(prompt_of(5, 0), 9));
  (void)s.add(sequence_id{2}, request_of(prompt_of(5, 1), 9));
  const auto x = s.schedule(pass_id{0});
  BOOST_TEST(s.remove(sequence_id{1}));
  BOOST_TEST(blocks.blocks_free() == 4u);
  const auto events = s.postprocess(*x, model.run(*x));
  BOOST_TEST_REQUIRE(events.size() == 1u);
  BOOST_TEST((events[0].sequence == sequence_id{2}));
  BOOST_TEST(blocks.blocks_free() == 6u);
  BOOST_TEST(s.remove(sequence_id{2}));
  BOOST_TEST(!s.remove(sequence_id{2}));
  BOOST_TEST(blocks.blocks_free() == 8u);
  BOOST_TEST(!s.schedule(pass_id{1}).has_value());
}

BOOST_AUTO_TEST_CASE(an_abandoned_batch_is_scheduled_again) {
  const auto options = options_of(64, 3);
  block_manager blocks{8, block_tokens};
  scheduler s{options, blocks};
  (void)s.add(sequence_id{1}, request_of(prompt_of(7, 0), 3));
  const auto lost = s.schedule(pass_id{0});
  BOOST_TEST(!s.schedule(pass_id{1}).has_value());
  s.abandon(*lost);
  outcomes out;
  run_to_end(s, options, out);
  BOOST_TEST(out[sequence_id{1}].tokens == expected(prompt_of(7, 0), 3),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(two_batches_in_flight_share_no_sequence) {
  const auto options = options_of(4, 0);
  block_manager blocks{64, block_tokens};
  scheduler s{options, blocks};
  (void)s.add(sequence_id{1}, request_of(prompt_of(4, 0), 3));
  (void)s.add(sequence_id{2}, request_of(prompt_of(4, 1), 3));
  toy_model model;
  const auto a = s.schedule(pass_id{0});
  const auto b = s.schedule(pass_id{1});
  BOOST_TEST_REQUIRE((a.has_value() && b.has_value()));
  BOOST_TEST((a->slots[0].sequence == sequence_id{1}));
  BOOST_TEST((b->slots[0].sequence == sequence_id{2}));
  outcomes out;
  note(out, s.postprocess(*b, model.run(*b)));
  note(out, s.postprocess(*a, model.run(*a)));
  while (const auto x = s.schedule(pass_id{2}))
    note(out, s.postprocess(*x, model.run(*x)));
  BOOST_TEST(out[sequence_id{1}].tokens == expected(prompt_of(4, 0), 3),
             boost::test_tools::per_element());
  BOOST_TEST(out[sequence_id{2}].tokens == expected(prompt_of(4, 1), 3),
             boost::test_tools::per_element());
}

BOOST_AUTO_TEST_CASE(random_loads_give_every_sequence_its_own_tokens) {
  const auto seed = std::random_device{}();
  BOOST_TEST_MESSAGE("seed " << seed);
  std::mt19937 random{seed};
  const auto below = [&random](uint32_t n) {
    return static_cast<uint32_t>(random() % n);
  };
  for (int trial = 0; trial < 60; ++trial) {
    auto options = options_of(1 + below(40), below(9));
    options.max_running = 1 + below(6);
    block_manager blocks{10 + below(20), block_tokens};
    scheduler s{options, blocks};
    toy_model model;
    outcomes out;
    std::map<sequence_id, generation_request> requests;
    std::deque<batch> flying;
    uint64_t step = 0;
    while (requests.size() < 12 || s.size() > 0) {
      if (requests.size() < 12 && below(3) == 0) {
        const sequence_id id{requests.size()};
        requests[id] =
          request_of(prompt_of(1 + below(20), below(99)), 1 + below(18));
        BOOST_TEST_REQUIRE(s.add(id, requests[id]).has_value());
      }
      if (flying.size() < 2)
        if (auto x = s.schedule(pass_id{step}))
          flying.push_back(std::move(*x));
      if (!flying.empty() && (flying.size() == 2 || below(2) == 0)) {
        if (below(10) == 0)
          s.abandon(flying.front());
        else
          note(out, s.postprocess(flying.front(), model.run(flying.front())));
        flying.pop_front();
      }
      BOOST_TEST_REQUIRE(++step < 100000u);
    }
    BOOST_TEST(blocks.blocks_free() == blocks.blocks());
    for (const auto& [id, x] : requests)
      BOOST_TEST_REQUIRE(out[id].tokens ==
                           expected(x.prompt, x.params.max_tokens),
                         boost::test_tools::per_element());
  }
}

BOOST_AUTO_TEST_SUITE_END()
