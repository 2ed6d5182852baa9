// Text that knows of each character whether the template's author or the
// caller wrote it. All strings of a template are such texts, so a message that
// spells a control token is still known as a message in the prompt.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace troupe::jinja {

/// Who wrote a character.
enum class origin : uint8_t {
  scaffolding, ///< The template: its text, its literals, what it computes.
  content,     ///< The caller: messages, tools, documents, variables.
};

/// A run of characters of one origin, within a marked text.
struct marked_piece {
  std::string_view text;
  origin from = origin::scaffolding;
};

class marked_text {
public:
  marked_text() = default;

  /// @pre `bytes` is valid UTF-8.
  marked_text(std::string_view bytes, origin from);

  std::string_view bytes() const {
    return bytes_;
  }

  size_t size() const {
    return bytes_.size();
  }

  bool empty() const {
    return bytes_.empty();
  }

  /// Who wrote the byte at `index`.
  origin from(size_t index) const {
    return static_cast<origin>(marks_[index]);
  }

  void append(std::string_view bytes, origin from);
  void append(const marked_text& x);

  /// Appends `length` bytes of `x` from `begin` on. @pre they begin and end
  /// between characters.
  void append(const marked_text& x, size_t begin, size_t length);

  /// A part, in bytes.
  marked_text slice(size_t begin, size_t length) const;

  /// The text cut where the author changes. None is empty. They are views: the
  /// text must outlive them.
  std::vector<marked_piece> pieces() const;

private:
  std::string bytes_;
  std::string marks_; ///< An `origin` for each byte.
};

} // namespace troupe::jinja
