// The two generations differ in how a primitive is described (2.x: an operation
// descriptor first) and in nothing else that is used here.
#include "kernels/dnnl_context.hpp"

#include "kernels/tensor.hpp"
#include "runtime/assert.hpp"

#include <fmt/format.h>
#include <oneapi/dnnl/dnnl.hpp>
#include <oneapi/dnnl/dnnl_version.h>

// libgomp's; oneDNN asks for the calling thread's value when a primitive is
// made. Declared here, because <omp.h> wants the compiler's OpenMP mode.
extern "C" void omp_set_num_threads(int count);

namespace troupe::kernels {

namespace {

dnnl::cpu_isa isa_limit(isa level) {
  switch (level) {
  case isa::scalar:
    return dnnl::cpu_isa::sse41;
  case isa::avx2:
    return dnnl::cpu_isa::avx2;
  case isa::avx512:
    return dnnl::cpu_isa::avx512_core;
  case isa::amx:
    break;
  }
  return dnnl::cpu_isa::avx512_core_amx;
}

const dnnl::engine& engine_limited_to(isa level) {
  static const dnnl::engine engine = [level] {
    // Fails when oneDNN was used before: then its own choice stands.
    static_cast<void>(dnnl::set_max_cpu_isa(isa_limit(level)));
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return engine;
}

dnnl::memory::dim dim(size_t n) {
  return static_cast<dnnl::memory::dim>(n);
}

/// Memory for the run under way on this thread; kept for the next one.
std::byte* scratch_of_thread(size_t bytes) {
  thread_local aligned_buffer memory;
  if (memory.size_bytes() < bytes)
    memory = aligned_buffer(bytes);
  return memory.data();
}

dnnl::matmul::primitive_desc describe(const dnnl::engine& engine,
                                      const dnnl::memory::desc& x,
                                      const dnnl::memory::desc& w,
                                      const dnnl::memory::desc& y) {
  dnnl::primitive_attr attr;
  attr.set_fpmath_mode(dnnl::fpmath_mode::strict);
  // Memory of the library's own belongs to the thread that made the primitive:
  // two threads that run it would share it.
  attr.set_scratchpad_mode(dnnl::scratchpad_mode::user);
#if DNNL_VERSION_MAJOR >= 3
  return {engine, x, w, y, attr};
#else
  return {dnnl::matmul::desc(x, w, y), attr, engine};
#endif
}

} // namespace

struct dnnl_tile::impl {
  dnnl::engine engine;
  dnnl::memory::desc x;
  dnnl::memory::desc weight;
  dnnl::memory::desc y;
  dnnl::memory::desc scratchpad;
  dnnl::memory::data_type type = dnnl::memory::data_type::f32;
  dnnl::matmul matmul;
};

dnnl_tile::dnnl_tile(const tile_shape& shape, std::shared_ptr<const impl> i)
  : shape_(shape), impl_(std::move(i)) {
}

std::optional<dnnl_tile> dnnl_tile::make(const tile_shape& shape,
                                         compute_options options,
                                         const dnnl_tile* like) {
  using memory = dnnl::memory;
  using tag = memory::format_tag;
  omp_set_num_threads(1);
  const bool is_bf16 = options.mode == numeric_mode::bf16;
  auto made = std::make_shared<impl>();
  made->engine = engine_limited_to(options.isa);
  made->type = is_bf16 ? memory::data_type::bf16 : memory::data_type::f32;
  made->x = memory::desc({dim(shape.rows), dim(shape.inputs)}, made->type,
                         memory::dims{dim(shape.x_stride), 1});
  made->y = memory::desc({dim(shape.rows), dim(shape.outputs)},
                         memory::data_type::f32, tag::ab);
  const memory::desc wanted =
    like != nullptr
      ? like->impl_->weight
      : memory::desc({dim(shape.inputs), dim(shape.outputs)}, made->type,
                     is_bf16 ? tag::BA16a64b2a : tag::any);
  try {
    const auto described = describe(made->engine, made->x, wanted, made->y);
    made->weight = described.weights_desc();
    made->scratchpad = described.scratchpad_desc();
    made->matmul = dnnl::matmul(described);
  } catch (const dnnl::error&) {
    return std::nullopt;
  }
  return dnnl_tile(shape, std::move(made));
}

size_t dnnl_tile::weight_bytes() const {
  return impl_->weight.get_size();
}

void dnnl_tile::pack(const void* weight, std::byte* out) const {
  using memory = dnnl::memory;
  omp_set_num_threads(1);
  const memory::desc dense({dim(shape_.inputs), dim(shape_.outputs)},
                           impl_->type, memory::format_tag::ba);
  memory from(dense, impl_->engine, const_cast<void*>(weight));
  memory to(impl_->weight, impl_->engine, out);
  dnnl::stream stream(impl_->engine);
  dnnl::reorder(from, to).execute(stream, from, to);
  stream.wait();
}

void dnnl_tile::run(const void* x, const std::byte* weight, float* y) const {
  using memory = dnnl::memory;
  omp_set_num_threads(1);
  const auto& engine = impl_->engine;
  const memory from(impl_->x, engine, const_cast<void*>(x));
  const memory w(impl_->weight, engine, const_cast<std::byte*>(weight));
  const memory to(impl_->y, engine, y);
  const memory scratchpad(impl_->scratchpad, engine,
                          scratch_of_thread(impl_->scratchpad.get_size()));
  dnnl::stream stream(engine);
  impl_->matmul.execute(stream, {{DNNL_ARG_SRC, from},
                                 {DNNL_ARG_WEIGHTS, w},
                                 {DNNL_ARG_DST, to},
                                 {DNNL_ARG_SCRATCHPAD, scratchpad}});
  stream.wait();
}

std::string dnnl_version_name() {
  const auto* version = dnnl::version();
  return fmt::format("{}.{}.{}", version->major, version->minor,
                     version->patch);
}

} // namespace troupe::kernels
