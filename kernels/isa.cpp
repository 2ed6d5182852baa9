// ISA detection: Highway knows up to AVX-512, AMX is asked for here.
#include "kernels/isa.hpp"

#include "runtime/assert.hpp"

#include <algorithm>
#include <array>
#include <cpuid.h>
#include <hwy/targets.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <xmmintrin.h>

namespace troupe::kernels {

namespace {

constexpr std::array<std::string_view, 4> isa_names{"scalar", "avx2", "avx512",
                                                    "amx"};
constexpr std::array<std::string_view, 2> mode_names{"bf16", "f32"};

template <class Enum, size_t N>
std::optional<Enum> find_name(const std::array<std::string_view, N>& names,
                              std::string_view name) {
  const auto found = std::ranges::find(names, name);
  if (found == names.end())
    return std::nullopt;
  return static_cast<Enum>(found - names.begin());
}

/// AMX with bf16: in the CPU (leaf 7), switched on by the operating system
/// (XCR0), and granted to this process.
bool ask_for_amx() {
  unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
  if (__get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) == 0)
    return false;
  constexpr unsigned amx_bf16 = 1u << 22, amx_tile = 1u << 24;
  if ((edx & amx_bf16) == 0 || (edx & amx_tile) == 0)
    return false;
  if (__get_cpuid(1, &eax, &ebx, &ecx, &edx) == 0 || (ecx & bit_OSXSAVE) == 0)
    return false;
  unsigned low = 0, high = 0;
  __asm__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  constexpr unsigned tile_state = 3u << 17;
  if ((low & tile_state) != tile_state)
    return false;
  // From asm/prctl.h of Linux 5.16; older headers lack the names.
  constexpr long arch_req_xcomp_perm = 0x1023, xfeature_tiledata = 18;
  return syscall(SYS_arch_prctl, arch_req_xcomp_perm, xfeature_tiledata) == 0;
}

bool highway_supports(isa level) {
  const auto targets = hwy::SupportedTargets();
  return (targets & (level == isa::avx2 ? HWY_AVX2 : HWY_AVX3)) != 0;
}

constexpr uint32_t flush_bits = 0x8040; // FTZ | DAZ

} // namespace

std::string_view to_string(isa level) {
  return isa_names.at(static_cast<size_t>(level));
}

std::optional<isa> isa_from_name(std::string_view name) {
  return find_name<isa>(isa_names, name);
}

std::string_view to_string(numeric_mode mode) {
  return mode_names.at(static_cast<size_t>(mode));
}

std::optional<numeric_mode> numeric_mode_from_name(std::string_view name) {
  return find_name<numeric_mode>(mode_names, name);
}

bool supported(isa level) {
  switch (level) {
  case isa::scalar:
    return true;
  case isa::avx2:
    return highway_supports(isa::avx2);
  case isa::avx512:
    return highway_supports(isa::avx512);
  case isa::amx:
    static const bool granted = ask_for_amx();
    return granted && highway_supports(isa::avx512);
  }
  return false;
}

isa best_isa() {
  for (auto level : {isa::amx, isa::avx512, isa::avx2})
    if (supported(level))
      return level;
  return isa::scalar;
}

void set_flush_denormals() {
  _mm_setcsr(_mm_getcsr() | flush_bits);
}

flush_denormals_scope::flush_denormals_scope() : saved_(_mm_getcsr()) {
  _mm_setcsr(saved_ | flush_bits);
}

flush_denormals_scope::~flush_denormals_scope() {
  _mm_setcsr(saved_);
}

} // namespace troupe::kernels
