#include "runtime/template/budget.hpp"

namespace troupe::jinja {

void budget::step() {
  if (++steps_ > most_.steps_max)
    refuse(fmt::format("more than {} steps", most_.steps_max));
}

void budget::touch(size_t bytes) {
  bytes_ = bytes > most_.bytes_max ? most_.bytes_max + 1 : bytes_ + bytes;
  if (bytes_ > most_.bytes_max)
    refuse(fmt::format("more than {} bytes of work", most_.bytes_max));
}

bool budget::may_make_text(size_t bytes) {
  if (bytes > most_.text_bytes_max)
    refuse(fmt::format("a text of more than {} bytes", most_.text_bytes_max));
  return !failed();
}

bool budget::may_make_items(size_t items) {
  if (items > most_.items_max)
    refuse(fmt::format("a list of more than {} elements", most_.items_max));
  return !failed();
}

bool budget::may_nest(size_t depth) {
  if (depth > most_.depth_max)
    refuse(fmt::format("nesting deeper than {}", most_.depth_max));
  return !failed();
}

void budget::refuse(std::string what) {
  if (!failure_)
    failure_ =
      error{ec::out_of_memory, fmt::format("the template asks for {}", what)};
}

} // namespace troupe::jinja
