// Tokens to text, one by one: only whole characters leave it, and what leaves
// it is final. Bytes that a model fell back to are held until their run ends,
// since one bad byte changes what all of them mean.
#pragma once

#include "runtime/ids.hpp"
#include "runtime/model/tokenizer.hpp"

#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace troupe {

/// What becomes of bytes that are no text.
enum class ill_formed : uint8_t {
  repair, ///< U+FFFD, as the decoder of the file counts them.
  keep,   ///< They stay as they are.
};

/// The text of one growing list of ids.
class decode_stream {
public:
  explicit decode_stream(std::shared_ptr<const tokenizer_tables> tables,
                         special_output special, ill_formed bad);

  /// Appends to `out` what is certain now that `id` is there.
  void push(token_id id, std::string& out);

  /// Ends the text: appends what was held back. Then a new text may begin.
  void flush(std::string& out);

private:
  /// How far one step on the whole text is.
  struct progress {
    size_t taken = 0;     // characters off the start
    bool started = false; // past the start
    std::string held;     // perhaps to be taken off the end
  };

  void end_run(std::string& out);
  void put_token(std::string_view token, std::string& out);
  void put_bytes(std::string_view bytes, std::string& out);
  void put_text(std::string_view text, std::string& out);
  std::string strip(size_t step, std::string text);

  std::shared_ptr<const tokenizer_tables> tables_;
  special_output special_;
  ill_formed bad_;
  bool any_token_ = false;
  std::string run_;     // bytes fallen back to
  std::string pending_; // bytes of a character that is not complete
  std::vector<progress> progress_;
};

} // namespace troupe
