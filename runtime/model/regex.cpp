// See regex.hpp.
#define PCRE2_CODE_UNIT_WIDTH 8
#include "runtime/model/regex.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/utf8.hpp"

#include <array>
#include <pcre2.h>

namespace troupe {

namespace {

constexpr uint32_t match_limit = 50'000'000;
constexpr uint32_t heap_limit_kib = 64 * 1024;
constexpr size_t jit_stack_bytes_min = 32 * 1024;
constexpr size_t jit_stack_bytes_max = 4 * 1024 * 1024;

/// Unicode's White_Space. PCRE2's own \s also takes U+180E.
constexpr std::string_view white_space =
  R"(\x09-\x0d\x20\x85\xa0\x{1680}\x{2000}-\x{200a}\x{2028}\x{2029}\x{202f}\x{205f}\x{3000})";

template <class T, void (*Free)(T*)>
struct freed_by {
  void operator()(T* x) const {
    Free(x);
  }
};

using code_ptr =
  std::unique_ptr<pcre2_code, freed_by<pcre2_code, pcre2_code_free>>;
using match_data_ptr =
  std::unique_ptr<pcre2_match_data,
                  freed_by<pcre2_match_data, pcre2_match_data_free>>;
using match_context_ptr =
  std::unique_ptr<pcre2_match_context,
                  freed_by<pcre2_match_context, pcre2_match_context_free>>;
using compile_context_ptr =
  std::unique_ptr<pcre2_compile_context,
                  freed_by<pcre2_compile_context, pcre2_compile_context_free>>;
using jit_stack_ptr =
  std::unique_ptr<pcre2_jit_stack,
                  freed_by<pcre2_jit_stack, pcre2_jit_stack_free>>;

std::string message_of(int code) {
  std::array<PCRE2_UCHAR, 256> buffer{};
  pcre2_get_error_message(code, buffer.data(), buffer.size());
  return reinterpret_cast<const char*>(buffer.data());
}

/// Rewrites a pattern of Oniguruma's syntax for PCRE2.
class translator {
public:
  explicit translator(std::string_view pattern) : pattern_(pattern) {
    // nop
  }

  result<std::string> run() {
    while (at_ < pattern_.size()) {
      auto done = pattern_[at_] == '\\' ? escape() : plain();
      if (!done)
        return tl::unexpected(done.error());
    }
    return std::move(out_);
  }

private:
  result<void> plain() {
    char c = pattern_[at_];
    if (in_set_ && c == '[' && next() != ':')
      return refused("a set within a set");
    if (in_set_ && c == '&' && next() == '&')
      return refused("an intersection of sets");
    if (c == '[' && !in_set_) {
      in_set_ = true;
      out_ += c;
      ++at_;
      if (at_ < pattern_.size() && pattern_[at_] == '^')
        out_ += pattern_[at_++];
      if (at_ < pattern_.size() && pattern_[at_] == ']')
        out_ += pattern_[at_++]; // a bracket in first place is a character
      return {};
    }
    if (c == '[') { // [:name:]
      auto end = pattern_.find(":]", at_);
      end = end == std::string_view::npos ? at_ + 1 : end + 2;
      out_ += pattern_.substr(at_, end - at_);
      at_ = end;
      return {};
    }
    if (c == ']')
      in_set_ = false;
    out_ += c;
    ++at_;
    return {};
  }

  result<void> escape() {
    char c = next();
    if (c == 'h' || c == 'H')
      return refused("\\h, which means a hexadecimal digit there");
    if (c == 'S' && in_set_)
      return refused("\\S within a set");
    if (c == 's' || c == 'S') {
      if (!in_set_)
        out_ += c == 's' ? "[" : "[^";
      out_ += white_space;
      if (!in_set_)
        out_ += ']';
      at_ += 2;
      return {};
    }
    if ((c == 'p' || c == 'P') && property())
      return {};
    out_ += pattern_.substr(at_, 2);
    at_ += 2;
    return {};
  }

  /// Since PCRE2 10.40 a script's name means its extensions too; here it is
  /// the script alone.
  bool property() {
#if PCRE2_MAJOR > 10 || PCRE2_MINOR >= 40
    static constexpr std::array<std::string_view, 11> scripts = {
      "Arabic", "Cyrillic", "Devanagari", "Greek", "Han", "Hangul",
      "Hebrew", "Hiragana", "Katakana",   "Latin", "Thai"};
    auto rest = pattern_.substr(at_ + 2);
    for (auto script : scripts) {
      auto size = script.size();
      if (rest.size() >= size + 2 && rest[0] == '{' && rest[size + 1] == '}' &&
          rest.substr(1, size) == script) {
        out_ += pattern_.substr(at_, 2);
        out_ += "{sc:";
        out_ += script;
        out_ += '}';
        at_ += size + 4;
        return true;
      }
    }
#endif
    return false;
  }

  char next() const {
    return at_ + 1 < pattern_.size() ? pattern_[at_ + 1] : '\0';
  }

  tl::unexpected<error> refused(std::string_view what) const {
    return fail(ec::unsupported, "regular expression, byte {}: uses {}", at_,
                what);
  }

  std::string_view pattern_;
  size_t at_ = 0;
  bool in_set_ = false;
  std::string out_;
};

} // namespace

struct regex::compiled {
  code_ptr code;
  bool jit = false;

  static result<std::shared_ptr<const compiled>> make(std::string_view pattern,
                                                      uint32_t options) {
    compile_context_ptr context{pcre2_compile_context_create(nullptr)};
    if (!context)
      return fail(ec::out_of_memory, "regular expression: out of memory");
    pcre2_set_newline(context.get(), PCRE2_NEWLINE_LF);
    pcre2_set_parens_nest_limit(context.get(), 100);
    int code = 0;
    PCRE2_SIZE offset = 0;
    auto out = std::make_shared<compiled>();
    out->code.reset(pcre2_compile(reinterpret_cast<PCRE2_SPTR>(pattern.data()),
                                  pattern.size(), options, &code, &offset,
                                  context.get()));
    if (!out->code)
      return fail(ec::bad_format, "regular expression: {} at byte {} of \"{}\"",
                  message_of(code), offset, pattern.substr(0, 200));
    out->jit = pcre2_jit_compile(out->code.get(), PCRE2_JIT_COMPLETE) == 0;
    return std::shared_ptr<const compiled>{std::move(out)};
  }
};

result<regex> regex::compile(std::string_view pattern) {
  if (pattern.empty() || pattern.size() > pattern_bytes_max)
    return fail(ec::bad_format,
                "regular expression: has {} bytes, expected 1 to {}",
                pattern.size(), pattern_bytes_max);
  auto translated = translator{pattern}.run();
  if (!translated)
    return tl::unexpected(translated.error());
  // There ^ and $ always mean the ends of a line.
  auto x = compiled::make(*translated, PCRE2_UTF | PCRE2_UCP | PCRE2_MULTILINE |
                                         PCRE2_NEVER_BACKSLASH_C);
  if (!x)
    return tl::unexpected(x.error());
  regex out;
  out.compiled_ = std::move(*x);
  return out;
}

result<regex> regex::literal(std::string_view text) {
  if (text.empty() || text.size() > pattern_bytes_max)
    return fail(ec::bad_format,
                "string to split at: has {} bytes, expected 1 "
                "to {}",
                text.size(), pattern_bytes_max);
  auto x = compiled::make(text, PCRE2_UTF | PCRE2_LITERAL);
  if (!x)
    return tl::unexpected(x.error());
  regex out;
  out.compiled_ = std::move(*x);
  return out;
}

struct regex_scanner::scratch {
  match_data_ptr data;
  match_context_ptr context;
  jit_stack_ptr stack;
};

regex_scanner::regex_scanner(const regex& pattern)
  : compiled_(pattern.compiled_), scratch_(std::make_unique<scratch>()) {
  TROUPE_ASSERT(compiled_ != nullptr);
  auto& x = *scratch_;
  x.data.reset(pcre2_match_data_create(1, nullptr));
  x.context.reset(pcre2_match_context_create(nullptr));
  TROUPE_ASSERT(x.data && x.context);
  pcre2_set_match_limit(x.context.get(), match_limit);
  pcre2_set_heap_limit(x.context.get(), heap_limit_kib);
  if (!compiled_->jit)
    return;
  x.stack.reset(
    pcre2_jit_stack_create(jit_stack_bytes_min, jit_stack_bytes_max, nullptr));
  pcre2_jit_stack_assign(x.context.get(), nullptr, x.stack.get());
}

regex_scanner::regex_scanner(regex_scanner&&) noexcept = default;

regex_scanner::~regex_scanner() = default;

result<std::optional<text_range>> regex_scanner::find(std::string_view text,
                                                      size_t from) {
  auto& x = *scratch_;
  auto subject = reinterpret_cast<PCRE2_SPTR>(text.data());
  auto run = compiled_->jit ? pcre2_jit_match : pcre2_match;
  auto options = compiled_->jit ? 0u : PCRE2_NO_UTF_CHECK;
  auto code = run(compiled_->code.get(), subject, text.size(), from, options,
                  x.data.get(), x.context.get());
  if (code == PCRE2_ERROR_NOMATCH)
    return std::optional<text_range>{};
  if (code < 0)
    return fail(ec::invalid_argument,
                "text, byte {} of a run of {}: too hard for the tokenizer's "
                "split pattern: {}",
                from, text.size(), message_of(code));
  auto* range = pcre2_get_ovector_pointer(x.data.get());
  if (range[0] < from || range[1] < range[0] || range[1] > text.size())
    return fail(ec::unsupported, "split pattern: \\K in a look-around");
  return std::optional<text_range>{text_range{range[0], range[1]}};
}

result<std::optional<text_range>> match_walk::next() {
  while (from_ <= text_.size()) {
    auto found = scanner_.find(text_, from_);
    if (!found || !*found)
      return found;
    auto match = **found;
    bool is_empty = match.begin == match.end;
    if (!is_empty || last_end_ != match.end) {
      from_ = match.end;
      last_end_ = match.end;
      return found;
    }
    from_ += from_ < text_.size() ? first_utf8_piece(text_.substr(from_)).length
                                  : size_t{1};
  }
  return std::optional<text_range>{};
}

} // namespace troupe
