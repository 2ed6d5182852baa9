#include "runtime/cli/sampling_arguments.hpp"

namespace troupe::cli {

sampling_params sampling_defaults(const generation_config& model) {
  sampling_params x;
  if (!model.do_sample)
    return x;
  x.temperature = static_cast<float>(model.temperature);
  x.top_k = model.top_k;
  x.top_p = static_cast<float>(model.top_p);
  x.min_p = static_cast<float>(model.min_p);
  return x;
}

void sampling_arguments::declare(CLI::App& app) {
  app.add_option("--max-tokens", max_tokens,
                 "end after that many tokens (default 128)");
  app.add_option("--temperature", temperature,
                 "0: always the most probable token (default: the model's)");
  app.add_option("--top-k", top_k, "choose among the best k; 0: all");
  app.add_option("--top-p", top_p, "choose among the best with this share");
  app.add_option("--min-p", min_p,
                 "choose among those with this share of the best one's");
  app.add_option("--seed", seed, "of the random numbers (default 0)");
  app.add_option("--stop", stop, "end before this text (repeatable)");
  app.add_flag("--ignore-eos", ignore_eos, "go on after an end-of-text token");
}

result<sampling_params>
sampling_arguments::params(const generation_config& model) const {
  auto x = sampling_defaults(model);
  x.max_tokens = max_tokens.value_or(x.max_tokens);
  x.temperature = temperature.value_or(x.temperature);
  x.top_k = top_k.value_or(x.top_k);
  x.top_p = top_p.value_or(x.top_p);
  x.min_p = min_p.value_or(x.min_p);
  x.seed = seed;
  x.stop = stop;
  x.ignore_eos = ignore_eos;
  if (auto ok = validate(x); !ok)
    return tl::unexpected(std::move(ok.error()));
  return x;
}

} // namespace troupe::cli
