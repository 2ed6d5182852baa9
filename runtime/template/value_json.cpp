// See value_json.hpp; and `append_json` of value_text.hpp, which goes the other
// way.
#include "runtime/template/value_json.hpp"

#include "runtime/template/characters.hpp"
#include "runtime/template/value_text.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace troupe::jinja {

namespace {

using nlohmann::json;

/// A list or object of which the end has not come yet.
struct open_container {
  bool is_object = false;
  std::vector<value> items;
  dictionary members;
  std::string key;
};

/// Builds values while the parser reads; nothing is built beyond a fault.
class value_reader : public nlohmann::json_sax<json> {
public:
  explicit value_reader(origin from) : from_(from), spent_(no_limits()) {
    // nop
  }

  value take() {
    return std::move(root_);
  }

  std::string problem;

  bool null() override {
    return put(value{none{}});
  }
  bool boolean(bool x) override {
    return put(value{x});
  }
  bool number_integer(number_integer_t x) override {
    return put(value{int64_t{x}});
  }
  bool number_unsigned(number_unsigned_t x) override {
    if (x <= static_cast<uint64_t>(std::numeric_limits<int64_t>::max()))
      return put(value{static_cast<int64_t>(x)});
    problem =
      fmt::format("{}: whole numbers beyond 64 bits are not supported", x);
    return false;
  }
  bool number_float(number_float_t x, const string_t& text) override {
    if (text.find_first_of(".eE") != std::string::npos)
      return put(value{double{x}});
    problem =
      fmt::format("{}...: whole numbers beyond 64 bits are not supported",
                  text.substr(0, 24));
    return false;
  }
  bool string(string_t& x) override {
    return put(value{marked_text{x, from_}});
  }
  bool binary(binary_t&) override {
    return false; // JSON text has none
  }
  bool start_object(size_t) override {
    return open(true);
  }
  bool key(string_t& x) override {
    if (open_.back().members.find(std::string_view{x})) {
      problem =
        fmt::format("the key {} stands twice in one object", x.substr(0, 80));
      return false;
    }
    open_.back().key = x;
    return true;
  }
  bool end_object() override {
    auto members = std::move(open_.back().members);
    open_.pop_back();
    return put(make_dictionary(spent_, std::move(members)));
  }
  bool start_array(size_t) override {
    return open(false);
  }
  bool end_array() override {
    auto items = std::move(open_.back().items);
    open_.pop_back();
    return put(make_sequence(spent_, std::move(items)));
  }
  bool parse_error(size_t byte, const std::string&,
                   const json::exception& x) override {
    // The library's text begins "[json.exception.parse_error.101] ".
    std::string_view text = x.what();
    if (auto end = text.find("] "); end != std::string_view::npos)
      text.remove_prefix(end + 2);
    problem = fmt::format("at byte {}: {}", byte, text.substr(0, 200));
    return false;
  }

private:
  /// Whoever gives the text has bounded its bytes.
  static limits no_limits() {
    limits x;
    x.bytes_max = x.items_max = std::numeric_limits<size_t>::max() / 2;
    return x;
  }

  bool open(bool is_object) {
    if (open_.size() == json_depth_max) {
      problem = fmt::format("nested deeper than {}", json_depth_max);
      return false;
    }
    open_.emplace_back().is_object = is_object;
    return true;
  }

  bool put(value x) {
    if (open_.empty())
      root_ = std::move(x);
    else if (auto& into = open_.back(); into.is_object)
      into.members.set(value{marked_text{into.key, from_}}, std::move(x));
    else
      into.items.push_back(std::move(x));
    return true;
  }

  origin from_;
  budget spent_;
  std::vector<open_container> open_;
  value root_;
};

void append_json_text(text_builder& out, const marked_text& x,
                      bool ascii_only) {
  out.append("\"");
  auto bytes = x.bytes();
  for (size_t at = 0; at < bytes.size() && !out.spent().failed();) {
    static constexpr std::string_view plain = "\"\\\n\r\t\f\b";
    static constexpr std::string_view letters = "\"\\nrtfb";
    auto length = character_bytes(bytes[at]);
    auto point = static_cast<uint32_t>(character_at(bytes, at));
    auto from = x.from(at);
    if (auto i = plain.find(bytes[at]); i != std::string_view::npos)
      out.append(fmt::format("\\{}", letters[i]), from);
    else if (point < 0x20 || (ascii_only && point >= 0x7F && point < 0x10000))
      out.append(fmt::format("\\u{:04x}", point), from);
    else if (ascii_only && point >= 0x10000)
      out.append(fmt::format("\\u{:04x}\\u{:04x}",
                             0xD800 + ((point - 0x10000) >> 10),
                             0xDC00 + ((point - 0x10000) & 0x3FF)),
                 from);
    else
      out.append(x, at, length);
    at += length;
  }
  out.append("\"");
}

/// Writes one value and, through `level`, its indentation.
class json_writer {
public:
  json_writer(text_builder& out, const json_layout& layout)
    : out_(out), layout_(layout),
      separator_(layout.item_separator
                   ? *layout.item_separator
                   : std::string{layout.indent ? "," : ", "}) {
    // nop
  }

  result<void> write(const value& x) {
    if (x.is_text())
      append_json_text(out_, x.text(), layout_.ascii_only);
    else if (x.is<none>())
      out_.append("null");
    else if (x.is<bool>())
      out_.append(x.as<bool>() ? "true" : "false");
    else if (x.is<double>())
      write_float(x.as<double>());
    else if (x.is<int64_t>())
      return append_text(out_, x);
    else if (x.is<sequence_ptr>() &&
             x.as<sequence_ptr>()->form != sequence_form::iterator)
      return write_list(*x.as<sequence_ptr>());
    else if (x.is<dictionary_ptr>())
      return write_mapping(*x.as<dictionary_ptr>());
    else
      return fail(ec::invalid_argument, "{} cannot be written as JSON",
                  type_name(x));
    return {};
  }

private:
  void write_float(double x) {
    out_.append(std::isnan(x)   ? "NaN"
                : std::isinf(x) ? (x < 0 ? "-Infinity" : "Infinity")
                                : float_text(x));
  }

  void new_line() {
    if (!layout_.indent)
      return;
    out_.append("\n");
    for (size_t i = 0; i < level_; ++i)
      out_.append(*layout_.indent);
  }

  void begin_item(bool is_first) {
    if (!is_first)
      out_.append(separator_);
    new_line();
  }

  result<void> write_list(const sequence& x) {
    out_.append("[");
    ++level_;
    auto is_first = true;
    for (auto& item : x.items) {
      if (out_.spent().failed())
        break;
      begin_item(std::exchange(is_first, false));
      if (auto ok = write(item); !ok)
        return ok;
    }
    --level_;
    if (!x.items.empty())
      new_line();
    out_.append("]");
    return {};
  }

  result<void> write_mapping(const dictionary& x) {
    out_.append("{");
    ++level_;
    auto items = x.items();
    if (layout_.sorted_keys)
      std::stable_sort(items.begin(), items.end(), [](auto& a, auto& b) {
        return *hash_key(a.first) < *hash_key(b.first);
      });
    auto is_first = true;
    for (auto& [key, item] : items) {
      if (out_.spent().failed())
        break;
      begin_item(std::exchange(is_first, false));
      if (auto ok = write_key(key); !ok)
        return ok;
      out_.append(layout_.key_separator);
      if (auto ok = write(item); !ok)
        return ok;
    }
    --level_;
    if (!items.empty())
      new_line();
    out_.append("}");
    return {};
  }

  /// JSON's keys are strings; Python turns scalars into such.
  result<void> write_key(const value& key) {
    if (key.is_text())
      return write(key);
    if (key.is<sequence_ptr>())
      return fail(ec::invalid_argument, "{} cannot be a key of JSON",
                  type_name(key));
    out_.append("\"");
    if (auto ok = write(key); !ok)
      return ok;
    out_.append("\"");
    return {};
  }

  text_builder& out_;
  const json_layout& layout_;
  std::string separator_;
  size_t level_ = 0;
};

} // namespace

result<value> parse_json_value(std::string_view text, const std::string& name,
                               origin from) {
  value_reader reader{from};
  if (!json::sax_parse(text, &reader))
    return fail(ec::bad_format, "{}: not valid JSON: {}", name, reader.problem);
  return reader.take();
}

result<void> append_json(text_builder& out, const value& x,
                         const json_layout& layout) {
  return json_writer{out, layout}.write(x);
}

} // namespace troupe::jinja
