#include "runtime/model/model_family.hpp"

#include "config/toml_reader.hpp"
#include "runtime/assert.hpp"
#include "runtime/model/config_key_names.hpp"
#include "runtime/model/embedded_families.hpp"
#include "runtime/model/family_properties.hpp"
#include "runtime/model/size_expression.hpp"
#include "runtime/model/tensor_roles.hpp"

#include <algorithm>
#include <filesystem>
#include <fmt/ranges.h>
#include <system_error>

namespace troupe {

namespace {

/// A folder of families bigger than this is some other folder.
constexpr size_t family_files_max = 1000;

void read_keys(toml_section table, model_family& x) {
  for (auto name : config_key_names) {
    std::vector<std::string> paths;
    table.read_strings(name, paths);
    if (!paths.empty())
      x.keys.emplace(name, std::move(paths));
  }
}

void read_defaults(toml_section table, model_family& x) {
  for (auto name : config_key_names)
    if (table.has(name))
      if (auto value = table.read_scalar(name))
        x.defaults.emplace(name, std::move(*value));
}

void read_only(toml_section table, model_family& x) {
  for (auto& path : table.keys())
    if (auto value = table.read_scalar(path))
      x.only.emplace(path, std::move(*value));
}

/// A pattern may use {layer} and {expert} only where its role has them.
void check_pattern(toml_section& table, const tensor_role& role,
                   const tensor_pattern& pattern) {
  auto has = [&](std::string_view part) {
    return pattern.name.find(part) != std::string::npos;
  };
  auto demand = [&](std::string_view part, bool expected) {
    if (has(part) != expected)
      table.refuse(role.name, fmt::format("expected a name {} {}, found \"{}\"",
                                          expected ? "with" : "without", part,
                                          pattern.name));
  };
  demand("{layer}", role.scope != tensor_scope::model);
  demand("{expert}", role.scope == tensor_scope::expert);
  if (role.rank != 0 && pattern.shape.size() != role.rank)
    table.refuse(role.name, fmt::format("expected {} sizes, found {}",
                                        role.rank, pattern.shape.size()));
  for (auto& size : pattern.shape)
    if (!size_of_expression(size, {}))
      table.refuse(
        role.name,
        fmt::format("unknown size \"{}\"; expected [N*]SIZE[/N] with "
                    "one of: {}",
                    size, fmt::join(size_names(), ", ")));
}

void read_tensors(toml_section table, model_family& x) {
  for (auto& role : tensor_roles) {
    std::vector<std::string> parts;
    table.read_strings(role.name, parts);
    if (parts.empty())
      continue;
    tensor_pattern pattern;
    pattern.name = std::move(parts.front());
    pattern.shape.assign(std::make_move_iterator(parts.begin() + 1),
                         std::make_move_iterator(parts.end()));
    check_pattern(table, role, pattern);
    x.tensors.emplace(role.name, std::move(pattern));
  }
}

model_family read_family(toml_file& file) {
  model_family x;
  x.source = file.name();
  auto root = file.root();
  root.read("family", x.name, presence::required);
  root.read_strings("architectures", x.architectures, presence::required);
  root.read_strings("model_types", x.model_types);
  root.read("gguf", x.gguf);
  root.read_strings("ignored_tensors", x.ignored_tensors);
  read_keys(root.section("keys", presence::required), x);
  read_defaults(root.section("defaults"), x);
  read_only(root.section("only"), x);
  root.read("nested_config", x.nested_config);
  root.read("nested_prefix", x.nested_prefix);
  read_family_properties(root, x);
  read_tensors(root.section("tensors", presence::required), x);
  return x;
}

bool lists(const std::vector<std::string>& names, std::string_view x) {
  return std::find(names.begin(), names.end(), x) != names.end();
}

} // namespace

result<model_family> parse_model_family(std::string_view text,
                                        std::string name) {
  auto file = toml_file::parse(text, std::move(name));
  if (!file)
    return tl::unexpected(std::move(file).error());
  auto family = read_family(*file);
  if (auto finished = file->finish(); !finished)
    return tl::unexpected(std::move(finished).error());
  return family;
}

family_catalog family_catalog::built_in() {
  family_catalog result;
  for (auto& file : embedded_families()) {
    auto family = parse_model_family(file.text, std::string{file.file});
    TROUPE_ASSERT(family.has_value());
    result.families_.emplace(family->name, std::move(*family));
  }
  return result;
}

result<family_catalog> family_catalog::with_folder(const std::string& folder) {
  namespace fs = std::filesystem;
  std::error_code problem;
  std::vector<std::string> paths;
  for (fs::directory_iterator i{folder, problem}, end; !problem && i != end;
       i.increment(problem)) {
    if (i->path().extension() == ".toml")
      paths.push_back(i->path().string());
    if (paths.size() > family_files_max)
      return fail(ec::invalid_argument, "{}: more than {} family files", folder,
                  family_files_max);
  }
  if (problem)
    return fail(ec::io, "{}: cannot list model families: {}", folder,
                problem.message());
  // The order of a folder is arbitrary; messages should not be.
  std::sort(paths.begin(), paths.end());
  auto result = built_in();
  for (auto& path : paths) {
    auto file = toml_file::read(path);
    if (!file)
      return tl::unexpected(std::move(file).error());
    auto family = read_family(*file);
    if (auto finished = file->finish(); !finished)
      return tl::unexpected(std::move(finished).error());
    result.families_.insert_or_assign(family.name, std::move(family));
  }
  return result;
}

const model_family* family_catalog::find(std::string_view architecture,
                                         std::string_view model_type) const {
  for (auto& [name, family] : families_)
    if (lists(family.architectures, architecture))
      return &family;
  for (auto& [name, family] : families_)
    if (lists(family.model_types, model_type))
      return &family;
  return nullptr;
}

const model_family* family_catalog::find(std::string_view family_name) const {
  auto i = families_.find(std::string{family_name});
  return i == families_.end() ? nullptr : &i->second;
}

std::vector<std::string> family_catalog::names() const {
  std::vector<std::string> result;
  for (auto& [name, family] : families_)
    result.push_back(name);
  return result;
}

} // namespace troupe
