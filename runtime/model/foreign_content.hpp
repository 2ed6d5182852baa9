// What a file of a model folder is instead of what it should be, told from its
// first bytes. Half of all broken checkpoints are no checkpoints: a pointer
// that was never resolved, a login page, another program's format.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace troupe {

/// As many first bytes as `foreign_content` makes use of.
inline constexpr size_t content_head_bytes = 512;

enum class wanted_content { safetensors, json };

/// What a file that begins with `head` is, and what to do, as in "it is a Git
/// LFS pointer to 123 bytes: run git lfs pull". Empty when it may be what is
/// wanted, or when there is no idea.
std::string foreign_content(std::string_view head, wanted_content wanted);

/// The beginning of `head` in quotes if it is text; else empty. Servers answer
/// with a sentence where a file was asked for.
std::string quoted_text(std::string_view head);

} // namespace troupe
