#include "runtime/template/marked_text.hpp"

namespace troupe::jinja {

marked_text::marked_text(std::string_view bytes, origin from) {
  append(bytes, from);
}

void marked_text::append(std::string_view bytes, origin from) {
  bytes_.append(bytes);
  marks_.append(bytes.size(), static_cast<char>(from));
}

void marked_text::append(const marked_text& x) {
  bytes_.append(x.bytes_);
  marks_.append(x.marks_);
}

void marked_text::append(const marked_text& x, size_t begin, size_t length) {
  bytes_.append(x.bytes_, begin, length);
  marks_.append(x.marks_, begin, length);
}

marked_text marked_text::slice(size_t begin, size_t length) const {
  marked_text out;
  out.append(*this, begin, length);
  return out;
}

std::vector<marked_piece> marked_text::pieces() const {
  std::vector<marked_piece> out;
  size_t begin = 0;
  while (begin < bytes_.size()) {
    auto end = marks_.find_first_not_of(marks_[begin], begin);
    end = end == std::string::npos ? bytes_.size() : end;
    out.push_back({bytes().substr(begin, end - begin), from(begin)});
    begin = end;
  }
  return out;
}

} // namespace troupe::jinja
