// Puts a text together within a budget: beyond the bound it stops growing, and
// the budget has failed.
#pragma once

#include "runtime/template/value.hpp"

namespace troupe::jinja {

class text_builder {
public:
  explicit text_builder(budget& spent) : spent_(spent) {
    // nop
  }

  void append(std::string_view bytes, origin from = origin::scaffolding) {
    if (grow(bytes.size()))
      text_.append(bytes, from);
  }

  void append(const marked_text& x) {
    if (grow(x.size()))
      text_.append(x);
  }

  /// A part of `x`, in bytes.
  void append(const marked_text& x, size_t begin, size_t length) {
    if (grow(length))
      text_.append(x, begin, length);
  }

  const marked_text& text() const {
    return text_;
  }

  marked_text take() {
    return std::move(text_);
  }

  value to_value() {
    spent_.touch(sizeof(marked_text));
    return value{std::move(text_)};
  }

  budget& spent() const {
    return spent_;
  }

private:
  bool grow(size_t bytes) {
    spent_.touch(bytes);
    return spent_.may_make_text(text_.size() + bytes);
  }

  budget& spent_;
  marked_text text_;
};

} // namespace troupe::jinja
