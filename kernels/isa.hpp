// Which instructions the kernels may use, and in which numbers they compute.
// In bf16 mode every ISA gives the same bits (docs/numerics.md); the choice is
// passed by value in `compute_options`, never kept in global state.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace troupe::kernels {

/// Ordered: a machine that supports one supports those before it.
enum class isa : uint8_t { scalar, avx2, avx512, amx };

std::string_view to_string(isa level);
std::optional<isa> isa_from_name(std::string_view name);

/// Returns whether this CPU and its operating system can run `level`. The
/// first question about amx asks the kernel for the permission to use tiles.
bool supported(isa level);

/// Returns the highest supported ISA.
isa best_isa();

/// The type of the rows that enter a linear layer, and of its weights. Sums
/// are f32 in both.
enum class numeric_mode : uint8_t { bf16, f32 };

std::string_view to_string(numeric_mode mode);
std::optional<numeric_mode> numeric_mode_from_name(std::string_view name);

/// What a kernel needs to know about the machine and the numbers.
struct compute_options {
  kernels::isa isa = best_isa();
  numeric_mode mode = numeric_mode::bf16;
};

/// Makes the calling thread treat denormals as zero, in and out (FTZ, DAZ).
/// Every thread that computes calls it once: bits depend on it.
void set_flush_denormals();

/// Flushes denormals while it lives, then restores what the thread had.
class flush_denormals_scope {
public:
  flush_denormals_scope();
  ~flush_denormals_scope();
  flush_denormals_scope(const flush_denormals_scope&) = delete;
  flush_denormals_scope& operator=(const flush_denormals_scope&) = delete;

private:
  uint32_t saved_;
};

} // namespace troupe::kernels
