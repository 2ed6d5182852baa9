// Which Highway targets the kernels are compiled for, and how a caller's `isa`
// picks one. Include it before any <hwy/...> header.
//   isa::scalar        the compiler's baseline, slow, with std::fma: same bits
//   isa::avx2          AVX2 + FMA
//   isa::avx512, amx   AVX-512
// Elsewhere than on x86 there is one target, the compiler's baseline.
#pragma once

#include "kernels/isa.hpp"

#if defined(__x86_64__)
// Better targets have lower bits: only AVX-512, AVX2 and the baseline remain.
#define HWY_DISABLED_TARGETS ((HWY_AVX3 - 1) | HWY_SSE4 | HWY_SSSE3)
#endif

// The function `name`, compiled for the target that `level` asks for. To be
// used in namespace troupe::kernels, in the HWY_ONCE part of a file.
#if defined(__x86_64__)
#define TROUPE_SIMD_PICK(level, name)                                          \
  ((level) >= ::troupe::kernels::isa::avx512 ? &N_AVX3::name                   \
   : (level) == ::troupe::kernels::isa::avx2 ? &N_AVX2::name                   \
                                             : &HWY_STATIC_DISPATCH(name))
#else
#define TROUPE_SIMD_PICK(level, name)                                          \
  ((void)(level), &HWY_STATIC_DISPATCH(name))
#endif
