#include "runtime/template/value_text.hpp"

#include "runtime/template/characters.hpp"

#include <charconv>
#include <cmath>

namespace troupe::jinja {

std::string float_text(double x) {
  if (std::isnan(x))
    return "nan";
  if (std::isinf(x))
    return x < 0 ? "-inf" : "inf";
  char buffer[64];
  auto size = std::abs(x) < 1e16 && (std::abs(x) >= 1e-4 || x == 0.0)
                ? std::to_chars(buffer, buffer + sizeof buffer, x,
                                std::chars_format::fixed)
                : std::to_chars(buffer, buffer + sizeof buffer, x,
                                std::chars_format::scientific);
  std::string out{buffer, size.ptr};
  // Python says that it is a float; an exponent says so too.
  return out.find_first_of(".e") == std::string::npos ? out + ".0" : out;
}

namespace {

void append_escaped(text_builder& out, const marked_text& x, size_t at) {
  auto point = character_at(x.bytes(), at);
  auto from = x.from(at);
  if (point == '\n' || point == '\r' || point == '\t')
    out.append(point == '\n' ? "\\n" : point == '\r' ? "\\r" : "\\t", from);
  else if (is_printable(point))
    out.append(x, at, character_bytes(x.bytes()[at]));
  else if (point < 0x100)
    out.append(fmt::format("\\x{:02x}", static_cast<uint32_t>(point)), from);
  else if (point < 0x10000)
    out.append(fmt::format("\\u{:04x}", static_cast<uint32_t>(point)), from);
  else
    out.append(fmt::format("\\U{:08x}", static_cast<uint32_t>(point)), from);
}

void append_quoted(text_builder& out, const marked_text& x) {
  auto bytes = x.bytes();
  auto is_double = bytes.find('\'') != std::string_view::npos &&
                   bytes.find('"') == std::string_view::npos;
  auto quote = is_double ? '"' : '\'';
  out.append({&quote, 1});
  for (size_t at = 0; at < bytes.size() && !out.spent().failed();
       at += character_bytes(bytes[at])) {
    if (bytes[at] == quote || bytes[at] == '\\')
      out.append("\\", x.from(at));
    append_escaped(out, x, at);
  }
  out.append({&quote, 1});
}

result<void> append_sequence(text_builder& out, const sequence& x) {
  auto is_tuple = x.form == sequence_form::tuple;
  out.append(is_tuple ? "(" : "[");
  for (size_t i = 0; i < x.items.size() && !out.spent().failed(); ++i) {
    if (i > 0)
      out.append(", ");
    if (auto ok = append_repr(out, x.items[i]); !ok)
      return ok;
  }
  if (is_tuple && x.items.size() == 1)
    out.append(",");
  out.append(is_tuple ? ")" : "]");
  return {};
}

result<void> append_mapping(text_builder& out, const dictionary& x) {
  out.append("{");
  auto is_first = true;
  for (auto& [key, item] : x.items()) {
    if (out.spent().failed())
      break;
    if (!std::exchange(is_first, false))
      out.append(", ");
    if (auto ok = append_repr(out, key); !ok)
      return ok;
    out.append(": ");
    if (auto ok = append_repr(out, item); !ok)
      return ok;
  }
  out.append("}");
  return {};
}

} // namespace

result<void> append_repr(text_builder& out, const value& x) {
  if (x.is_text()) {
    append_quoted(out, x.text());
    return {};
  }
  if (x.is<undefined>()) {
    out.append("Undefined");
    return {};
  }
  return append_text(out, x);
}

result<void> append_text(text_builder& out, const value& x) {
  if (x.is_text())
    out.append(x.text());
  else if (x.is<none>())
    out.append("None");
  else if (x.is<bool>())
    out.append(x.as<bool>() ? "True" : "False");
  else if (x.is<int64_t>())
    out.append(fmt::format("{}", x.as<int64_t>()));
  else if (x.is<double>())
    out.append(float_text(x.as<double>()));
  else if (x.is<sequence_ptr>())
    return append_sequence(out, *x.as<sequence_ptr>());
  else if (x.is<dictionary_ptr>())
    return append_mapping(out, *x.as<dictionary_ptr>());
  else if (!x.is<undefined>())
    return fail(ec::invalid_argument, "{} cannot be printed", type_name(x));
  return {};
}

result<marked_text> to_text(const value& x, budget& spent) {
  if (x.is_text()) {
    spent.touch(x.text().size());
    return x.text();
  }
  text_builder out{spent};
  if (auto ok = append_text(out, x); !ok)
    return tl::unexpected(std::move(ok.error()));
  return out.take();
}

} // namespace troupe::jinja
