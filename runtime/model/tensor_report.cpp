#include "runtime/model/tensor_report.hpp"

#include "runtime/assert.hpp"
#include "runtime/model/name_groups.hpp"

#include <algorithm>

namespace troupe {

namespace {

void append_groups(std::vector<std::string>& out,
                   const std::vector<std::string>& names,
                   std::string_view what) {
  for (auto& x : group_names(names))
    out.push_back(x.count == 1 ? fmt::format("{}: {}", x.pattern, what)
                               : fmt::format("{}: {}, {} tensors", x.pattern,
                                             what, x.count));
}

void append_count(std::string& out, size_t count, std::string_view what) {
  if (count > 0)
    out += fmt::format("{} {} {}", out.empty() ? "" : ",", count, what);
}

} // namespace

void tensor_report::missing(std::string name) {
  missing_.push_back(std::move(name));
}

void tensor_report::left_over(std::string name) {
  left_over_.push_back(std::move(name));
}

void tensor_report::misfit(misfit_tensor x) {
  misfits_.push_back(std::move(x));
}

void tensor_report::compare_size(const std::string& size, uint64_t expected,
                                 uint64_t found) {
  auto& x = sizes_[size];
  x.expected = expected;
  ++x.found[found];
}

void tensor_report::found_layer(uint64_t layer) {
  ++layers_[layer];
}

std::vector<std::string> tensor_report::hints(uint64_t num_layers,
                                              const size_names& names) const {
  std::vector<std::string> out;
  auto name_of = [&](const std::string& size) {
    auto x = names.find(size);
    return x == names.end() ? size : x->second;
  };
  for (auto& [size, record] : sizes_) {
    // One odd tensor is the tensor's fault, many that agree are config.json's.
    auto most =
      std::max_element(record.found.begin(), record.found.end(),
                       [](auto& a, auto& b) { return a.second < b.second; });
    if (most->first != record.expected)
      out.push_back(fmt::format(
        "{} is {} in config.json, but {} of {} tensors "
        "with it have {}",
        name_of(size), record.expected, most->second,
        [&] {
          size_t all = 0;
          for (auto& x : record.found)
            all += x.second;
          return all;
        }(),
        most->first));
  }
  if (!layers_.empty() && layers_.rbegin()->first + 1 != num_layers)
    out.push_back(fmt::format("{} is {} in config.json, but the tensors end "
                              "with layer {} (counted from 0)",
                              name_of("num_layers"), num_layers,
                              layers_.rbegin()->first));
  return out;
}

std::vector<std::string> tensor_report::lines() const {
  std::vector<std::string> out;
  // Equal but for their numbers, file included: one line.
  std::map<std::string, std::vector<const misfit_tensor*>> groups;
  for (auto& x : misfits_)
    groups[name_shape(x.name) + x.expected + '\0' + x.found].push_back(&x);
  for (auto& [key, group] : groups) {
    std::vector<std::string> names;
    for (auto* x : group)
      names.push_back(x->name);
    auto& first = *group.front();
    out.push_back(fmt::format(
      "{}: {}: expected {}, found {}{}", first.file,
      group_names(names).front().pattern, first.expected, first.found,
      names.size() == 1 ? "" : fmt::format(", {} tensors", names.size())));
  }
  append_groups(out, missing_, "missing");
  append_groups(out, left_over_, "left over");
  return out;
}

error tensor_report::as_error(const std::string& folder, uint64_t num_layers,
                              const size_names& names) const {
  TROUPE_ASSERT(!good());
  std::string counts;
  append_count(counts, missing_.size(), "missing");
  append_count(counts, misfits_.size(), "of another shape or type");
  append_count(counts, left_over_.size(), "left over");
  auto text =
    fmt::format("{}: the tensors do not fit config.json:{}", folder, counts);
  auto causes = hints(num_layers, names);
  for (auto& x : causes)
    text += "\n" + x;
  if (!causes.empty())
    text += "\nis config.json of another model, or of another version?";
  auto all = lines();
  for (size_t i = 0; i < all.size() && i < lines_max; ++i)
    text += "\n" + all[i];
  if (all.size() > lines_max)
    text +=
      fmt::format("\nand {} more kinds of tensors", all.size() - lines_max);
  return {ec::shape_mismatch, std::move(text)};
}

} // namespace troupe
