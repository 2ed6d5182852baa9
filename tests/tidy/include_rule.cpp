// Who may include what.
#include "tests/tidy/cpp_text.hpp"
#include "tests/tidy/rules.hpp"

#include <algorithm>
#include <array>
#include <span>

namespace troupe::tidy {

namespace {

/// A library that only some places may include.
struct fence {
  std::string_view include;
  std::span<const std::string_view> allowed; // prefixes of paths; may be empty
  std::string_view message;
};

constexpr std::array<std::string_view, 5> caf_places{
  "actors/", "tests/cluster/", "tests/chaos/", "tests/unit/actors/",
  "tests/support/"};
constexpr std::array<std::string_view, 2> dnnl_places{"kernels/dnnl_",
                                                      "kernels/matmul"};
constexpr std::array<std::string_view, 1> toml_places{"config/"};

constexpr std::array fences{
  fence{"caf/all.hpp", {}, "include the precise CAF headers"},
  fence{"caf/", caf_places, "CAF belongs into actors/ and its tests"},
  fence{"boost/test/included/", {}, "link Boost.Test instead"},
  fence{"dnnl", dnnl_places, "oneDNN stays behind dnnl_context and matmul"},
  fence{"oneapi/", dnnl_places, "oneDNN stays behind dnnl_context and matmul"},
  fence{"toml++/", toml_places, "TOML is read by config/ alone"},
};

/// A folder of the product; it may include those of lower rank, and itself.
struct layer {
  std::string_view folder;
  int rank;
};

// Longest first: the first match counts.
constexpr std::array layers{
  layer{"runtime/placement/", 1},
  layer{"runtime/template/", 1},
  layer{"runtime/server/", 4},
  layer{"runtime/engine/", 3},
  layer{"runtime/model/", 2},
  layer{"runtime/trace/", 1},
  layer{"runtime/cli/", 6},
  layer{"runtime/", 0},
  layer{"kernels/", 1},
  layer{"config/", 1},
  layer{"actors/", 5},
};

const layer* layer_of(std::string_view path) {
  const auto i = std::find_if(layers.begin(), layers.end(), [&](const auto& x) {
    return path.starts_with(x.folder);
  });
  return i == layers.end() ? nullptr : &*i;
}

bool begins_with_any(std::string_view path,
                     std::span<const std::string_view> prefixes) {
  return std::any_of(prefixes.begin(), prefixes.end(),
                     [&](auto x) { return path.starts_with(x); });
}

void check_fences(const source_file& file, const include_line& include,
                  findings& bad) {
  for (const auto& x : fences) {
    if (!include.path.starts_with(x.include))
      continue;
    if (!begins_with_any(file.path, x.allowed))
      bad.push_back({file.path, include.line, std::string{x.message}});
    return;
  }
}

void check_layers(const source_file& file, const include_line& include,
                  findings& bad) {
  const auto* own = layer_of(file.path);
  const auto* other = layer_of(include.path);
  if (own && other && own != other && other->rank >= own->rank)
    bad.push_back({file.path, include.line,
                   std::string{own->folder} + " does not stand above " +
                     std::string{other->folder}});
}

/// Returns whether a test includes a helper of its own folder by name alone.
bool is_beside(const source_tree& tree, const source_file& file,
               const std::string& name) {
  const auto folder = file.path.substr(0, file.path.rfind('/') + 1);
  return file.path.starts_with("tests/") && tree.exists(folder + name);
}

} // namespace

findings include_rules(const source_tree& tree) {
  findings bad;
  for (const auto& file : tree.files()) {
    if (!is_cpp(file))
      continue;
    for (const auto& include : find_includes(file.text)) {
      check_fences(file, include, bad);
      if (!include.is_quoted)
        continue;
      check_layers(file, include, bad);
      if (!tree.exists(include.path) && !is_beside(tree, file, include.path))
        bad.push_back(
          {file.path, include.line,
           "\"" + include.path + "\" does not exist; paths start at the root"});
    }
  }
  return bad;
}

} // namespace troupe::tidy
