#include "actors/backbone/pass_runner.hpp"

#include "actors/actor_directory.hpp"
#include "runtime/assert.hpp"

#include <exception>
#include <utility>

namespace troupe {

pass_runner::pass_runner(std::shared_ptr<const backbone_weights> weights,
                         kv_cache cache, kernels::lanes& lanes,
                         uint32_t rows_max)
  : lanes_(lanes), cache_(std::move(cache)),
    pass_(std::move(weights), cache_, lanes,
          forward_options{rows_max, hidden_capture::none}) {
  // nop
}

bool pass_runner::start(std::shared_ptr<const pass_work> work,
                        const caf::strong_actor_ptr& to) {
  return post(work, to,
              [work](forward_pass& pass) { return pass.start(work->rows); });
}

bool pass_runner::resume(std::shared_ptr<const pass_work> work,
                         std::shared_ptr<const moe_response> response,
                         const caf::strong_actor_ptr& to) {
  return post(work, to, [response](forward_pass& pass) {
    return pass.resume(*response);
  });
}

template <class Step>
bool pass_runner::post(std::shared_ptr<const pass_work> work,
                       const caf::strong_actor_ptr& to, Step step) {
  auto self = shared_from_this();
  return lanes_.post([self, work = std::move(work), to, step] {
    auto end = std::make_shared<segment_end>();
    std::lock_guard guard{self->busy_};
    try {
      *end = self->finish(*work, step(self->pass_));
    } catch (const std::exception& x) {
      end->failure = error{ec::internal, x.what()};
    }
    send_from_outside(to, segment_done{work->rows.pass, std::move(end)});
    try {
      if (self->pass_.waiting())
        self->pass_.run_ahead();
    } catch (const std::exception&) {
      // Nothing is lost: `resume` does this work again, and reports.
    }
  });
}

segment_end pass_runner::finish(const pass_work& work,
                                forward_pass::output output) {
  segment_end end;
  if (auto request = std::get_if<moe_request>(&output)) {
    end.request = std::make_shared<const moe_request>(std::move(*request));
    return end;
  }
  auto& result = std::get<pass_output>(output);
  TROUPE_ASSERT(result.rows() == work.choices.size());
  for (size_t i = 0; i < work.choices.size(); ++i) {
    auto& choice = work.choices[i];
    auto token = sampler_.sample(result.row(i), choice.params,
                                 draw_key{0, choice.position});
    if (!token)
      end.row_failures.emplace_back(choice.sequence, std::move(token.error()));
    end.sampled.push_back({choice.sequence, token.value_or(0)});
  }
  return end;
}

} // namespace troupe
