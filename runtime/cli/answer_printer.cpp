#include "runtime/cli/answer_printer.hpp"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <utility>

namespace troupe::cli {

namespace {

using json = nlohmann::ordered_json;

void print_line(const json& x) {
  auto text = x.dump(-1, ' ', false, json::error_handler_t::replace);
  std::printf("%s\n", text.c_str());
  std::fflush(stdout);
}

} // namespace

class answer_printer::sink final : public token_sink {
public:
  sink(answer_printer& owner, size_t prompt) : owner_(owner), prompt_(prompt) {
    // nop
  }

  void token(sequence_id, uint32_t, token_id token) override {
    owner_.token(prompt_, token);
  }

  void finished(sequence_id, finish_reason reason,
                const std::optional<error>& why) override {
    owner_.finished(prompt_, reason, why);
  }

private:
  answer_printer& owner_;
  size_t prompt_;
};

answer_printer::answer_printer(printer_options options,
                               std::function<void()> on_changed)
  : options_(std::move(options)), on_changed_(std::move(on_changed)) {
  // nop
}

result<std::shared_ptr<token_sink>>
answer_printer::add(const sampling_params& params) {
  answer x;
  if (options_.text) {
    auto stream = text_stream::make(*options_.text, params);
    if (!stream)
      return tl::unexpected(std::move(stream.error()));
    x.stream.emplace(std::move(*stream));
  }
  std::lock_guard guard{mutex_};
  answers_.push_back(std::move(x));
  return std::make_shared<sink>(*this, answers_.size() - 1);
}

void answer_printer::token(size_t prompt, token_id id) {
  {
    std::lock_guard guard{mutex_};
    show(prompt, id);
    if (std::ferror(stdout) == 0 || std::exchange(output_failed_, true))
      return;
  }
  on_changed_();
}

void answer_printer::show(size_t prompt, token_id id) {
  auto& x = answers_[prompt];
  auto text = x.stream ? x.stream->push(id).text : std::string{};
  x.ids.push_back(id);
  if (options_.format == answer_format::text) {
    emit(x, x.stream ? text : fmt::format("{} ", id));
    return;
  }
  json line{{"event", "token"}};
  if (options_.numbered)
    line["prompt"] = prompt;
  line["index"] = x.ids.size() - 1;
  line["id"] = id;
  line["text"] = text;
  print_line(line);
}

void answer_printer::finished(size_t prompt, finish_reason reason,
                              const std::optional<error>& why) {
  {
    std::lock_guard guard{mutex_};
    auto& x = answers_[prompt];
    x.reason = reason;
    x.why = why;
    if (x.stream && options_.format == answer_format::text)
      emit(x, x.stream->flush());
  }
  on_changed_();
}

void answer_printer::emit(answer& x, const std::string& text) {
  // Several answers at once cannot share a terminal: they wait for the end.
  if (options_.numbered) {
    x.text += text;
    return;
  }
  std::fwrite(text.data(), 1, text.size(), stdout);
  std::fflush(stdout);
}

bool answer_printer::output_failed() const {
  std::lock_guard guard{mutex_};
  return output_failed_;
}

bool answer_printer::all_finished() const {
  std::lock_guard guard{mutex_};
  return std::all_of(answers_.begin(), answers_.end(),
                     [](auto& x) { return x.reason.has_value(); });
}

std::optional<error> answer_printer::finish(const std::string& statistics) {
  std::lock_guard guard{mutex_};
  std::optional<error> first;
  for (size_t i = 0; i < answers_.size(); ++i) {
    auto& x = answers_[i];
    auto reason = x.reason.value_or(finish_reason::cancelled);
    if (x.why && !first)
      first = x.why;
    if (options_.format == answer_format::json) {
      json line{{"event", "done"}};
      if (options_.numbered)
        line["prompt"] = i;
      line["finish_reason"] = to_string(reason);
      line["ids"] = x.ids;
      if (x.why)
        line["error"] = {{"code", to_string(x.why->code)},
                         {"message", x.why->message}};
      line["stats"] = json::parse(statistics, nullptr, false);
      print_line(line);
    } else if (options_.numbered) {
      std::printf("--- prompt %zu (%s)\n%s\n", i,
                  std::string{to_string(reason)}.c_str(), x.text.c_str());
    }
  }
  if (options_.format == answer_format::text && !options_.numbered)
    std::printf("\n");
  std::fflush(stdout);
  return first;
}

} // namespace troupe::cli
