// See operators.hpp: Python's `format % values`, the common conversions.
#include "runtime/template/characters.hpp"
#include "runtime/template/operators.hpp"
#include "runtime/template/value_text.hpp"

#include <algorithm>

namespace troupe::jinja {

namespace {

constexpr size_t width_max = 1000;

/// One "%-5.2f".
struct conversion {
  std::string flags;
  size_t width = 0;
  std::optional<size_t> precision;
  char letter = 's';
  std::string key; ///< Of "%(key)s".
};

class percent_formatter {
public:
  percent_formatter(const marked_text& format, const value& x, budget& spent)
    : format_(format), given_(x), out_(spent) {
    // nop
  }

  result<value> run() {
    auto bytes = format_.bytes();
    while (at_ < bytes.size() && !out_.spent().failed()) {
      auto next = std::min(bytes.find('%', at_), bytes.size());
      out_.append(format_, at_, next - at_);
      at_ = next;
      if (at_ == bytes.size())
        break;
      if (auto ok = convert(); !ok)
        return tl::unexpected(std::move(ok.error()));
    }
    auto is_mapping = given_.is<dictionary_ptr>();
    if (!is_mapping && used_ < (is_tuple() ? tuple().size() : size_t{1}))
      return fail(ec::invalid_argument,
                  "\"%\": more values than the format asks for");
    return out_.to_value();
  }

private:
  /// Only a tuple is several values; a list is one.
  bool is_tuple() const {
    return given_.is<sequence_ptr>() &&
           given_.as<sequence_ptr>()->form == sequence_form::tuple;
  }

  const std::vector<value>& tuple() const {
    return given_.as<sequence_ptr>()->items;
  }

  char peek() const {
    return at_ < format_.size() ? format_.bytes()[at_] : '\0';
  }

  result<size_t> number() {
    size_t x = 0;
    for (; peek() >= '0' && peek() <= '9'; ++at_) {
      x = 10 * x + static_cast<size_t>(peek() - '0');
      if (x > width_max)
        return fail(ec::invalid_argument, "\"%\": a width beyond {}",
                    width_max);
    }
    return x;
  }

  result<conversion> read() {
    conversion x;
    ++at_;
    if (peek() == '(') {
      auto end = format_.bytes().find(')', at_);
      if (end == std::string_view::npos)
        return fail(ec::invalid_argument, "\"%(\" without its \")\"");
      x.key = format_.bytes().substr(at_ + 1, end - at_ - 1);
      at_ = end + 1;
    }
    for (; peek() != '\0' &&
           std::string_view{"-+ 0#"}.find(peek()) != std::string_view::npos;
         ++at_)
      if (x.flags.find(peek()) == std::string::npos)
        x.flags.push_back(peek());
    auto width = number();
    if (!width)
      return tl::unexpected(std::move(width.error()));
    x.width = *width;
    if (peek() == '.') {
      ++at_;
      auto precision = number();
      if (!precision)
        return tl::unexpected(std::move(precision.error()));
      x.precision = *precision;
    }
    if (at_ == format_.size())
      return fail(ec::invalid_argument, "\"%\" ends without its letter");
    x.letter = format_.bytes()[at_++];
    return x;
  }

  result<value> next_value(const conversion& x) {
    if (!x.key.empty()) {
      auto found = given_.is<dictionary_ptr>()
                     ? given_.as<dictionary_ptr>()->find(x.key)
                     : nullptr;
      if (!found)
        return fail(ec::invalid_argument, "\"%({})\": no such value", x.key);
      return *found;
    }
    auto i = used_++;
    if (!is_tuple() && i == 0)
      return given_;
    if (!is_tuple() || i >= tuple().size())
      return fail(ec::invalid_argument,
                  "\"%\": fewer values than the format asks for");
    return tuple()[i];
  }

  result<void> convert() {
    auto found = read();
    if (!found)
      return tl::unexpected(std::move(found.error()));
    if (found->letter == '%') {
      out_.append("%");
      return {};
    }
    auto x = next_value(*found);
    if (!x)
      return tl::unexpected(std::move(x.error()));
    if (found->letter == 's' || found->letter == 'r')
      return put_text(*found, *x);
    return put_number(*found, *x);
  }

  result<void> put_text(const conversion& how, const value& x) {
    text_builder part{out_.spent()};
    auto ok = how.letter == 'r' ? append_repr(part, x) : append_text(part, x);
    if (!ok)
      return ok;
    auto text = part.take();
    if (how.precision)
      text = text.slice(0, offset_of_character(text.bytes(), *how.precision));
    auto length = count_characters(text.bytes());
    auto blanks = std::string(how.width > length ? how.width - length : 0, ' ');
    auto is_left = how.flags.find('-') != std::string::npos;
    if (!is_left)
      out_.append(blanks);
    out_.append(text);
    if (is_left)
      out_.append(blanks);
    return {};
  }

  result<void> put_number(const conversion& how, const value& x) {
    static constexpr std::string_view of_integers = "dixXo";
    static constexpr std::string_view of_floats = "fFeEgG";
    auto number = number_of(x);
    auto is_integer = of_integers.find(how.letter) != std::string_view::npos;
    if (!is_integer && of_floats.find(how.letter) == std::string_view::npos)
      return fail(ec::unsupported, "\"%{}\": expected one of srdixXofFeEgG",
                  how.letter);
    if (!number)
      return fail(ec::invalid_argument, "\"%{}\": expected a number, found {}",
                  how.letter, type_name(x));
    if (is_integer && !(*number > -9.2e18 && *number < 9.2e18))
      return fail(ec::invalid_argument, "\"%{}\": a number beyond 64 bits",
                  how.letter);
    if (is_integer) {
      auto whole = integer_of(x).value_or(static_cast<int64_t>(*number));
      out_.append(fmt::format(fmt::runtime(spec_of(how, "")), whole));
    } else {
      auto precision = fmt::format(".{}", how.precision.value_or(6));
      out_.append(fmt::format(fmt::runtime(spec_of(how, precision)), *number));
    }
    return {};
  }

  /// The conversion in the words of fmt.
  static std::string spec_of(const conversion& how,
                             std::string_view precision) {
    auto has = [&](char x) { return how.flags.find(x) != std::string::npos; };
    auto letter = how.letter == 'i' ? 'd' : how.letter;
    return fmt::format("{{:{}{}{}{}{}{}{}}}", has('-') ? "<" : "",
                       has('+')   ? "+"
                       : has(' ') ? " "
                                  : "",
                       has('#') ? "#" : "", has('0') && !has('-') ? "0" : "",
                       how.width > 0 ? std::to_string(how.width) : "",
                       precision, letter);
  }

  const marked_text& format_;
  const value& given_;
  text_builder out_;
  size_t at_ = 0;
  size_t used_ = 0;
};

} // namespace

result<value> format_percent(const marked_text& format, const value& x,
                             budget& spent) {
  return percent_formatter{format, x, spent}.run();
}

} // namespace troupe::jinja
