#include "runtime/trace/metrics.hpp"

#include "runtime/assert.hpp"

#include <map>
#include <mutex>
#include <prometheus/counter.h>
#include <prometheus/family.h>
#include <prometheus/gauge.h>
#include <prometheus/histogram.h>
#include <prometheus/registry.h>
#include <prometheus/text_serializer.h>
#include <utility>
#include <variant>
#include <vector>

namespace troupe {

namespace {

using label_values = std::vector<std::string>;

/// A family of the library, and the series of it that were asked for.
struct family_entry {
  std::variant<prometheus::Family<prometheus::Counter>*,
               prometheus::Family<prometheus::Gauge>*,
               prometheus::Family<prometheus::Histogram>*>
    family;
  std::map<label_values, void*> series;
};

size_t label_count(const metric_family& x) {
  size_t n = 0;
  while (n < x.labels.size() && !x.labels[n].empty())
    ++n;
  return n;
}

family_entry register_family(prometheus::Registry& registry,
                             const metric_family& x) {
  auto in = [&](auto builder) {
    return &builder.Name(std::string{x.name})
              .Help(std::string{x.help})
              .Register(registry);
  };
  switch (x.kind) {
  case metric_kind::counter:
    return {in(prometheus::BuildCounter()), {}};
  case metric_kind::gauge:
    return {in(prometheus::BuildGauge()), {}};
  case metric_kind::histogram:
    return {in(prometheus::BuildHistogram()), {}};
  }
  TROUPE_ASSERT(!"a metric kind without a name");
}

void* add_series(family_entry& entry, const metric_family& row,
                 const label_values& values) {
  std::map<std::string, std::string> labels;
  for (size_t i = 0; i < values.size(); ++i)
    labels.emplace(row.labels[i], values[i]);
  if (auto* counters = std::get_if<0>(&entry.family))
    return &(*counters)->Add(labels);
  if (auto* gauges = std::get_if<1>(&entry.family))
    return &(*gauges)->Add(labels);
  prometheus::Histogram::BucketBoundaries bounds(row.buckets.begin(),
                                                 row.buckets.end());
  return &std::get<2>(entry.family)->Add(labels, std::move(bounds));
}

} // namespace

struct metrics::implementation {
  prometheus::Registry registry;
  std::vector<family_entry> families;
  std::mutex mutex;
};

metrics::metrics() : impl_(std::make_unique<implementation>()) {
  for (const auto& row : metric_families()) {
    impl_->families.push_back(register_family(impl_->registry, row));
    // A family without labels is there from the start, as zero.
    if (label_count(row) == 0)
      at(row.id);
  }
}

metrics::~metrics() = default;

metrics::series metrics::at(metric id,
                            std::initializer_list<std::string_view> values) {
  const auto& row = metric_families()[static_cast<size_t>(id)];
  TROUPE_ASSERT(values.size() == label_count(row));
  label_values key{values.begin(), values.end()};
  std::lock_guard guard{impl_->mutex};
  auto& entry = impl_->families[static_cast<size_t>(id)];
  auto found = entry.series.find(key);
  if (found == entry.series.end() && entry.series.size() >= series_max) {
    for (auto& value : key)
      value = "other";
    found = entry.series.find(key);
  }
  if (found == entry.series.end())
    found = entry.series.emplace(key, add_series(entry, row, key)).first;
  series result;
  result.kind_ = row.kind;
  result.target_ = found->second;
  return result;
}

std::string metrics::text() const {
  return prometheus::TextSerializer{}.Serialize(impl_->registry.Collect());
}

void metrics::series::add(double x) const {
  TROUPE_ASSERT(kind_ != metric_kind::histogram);
  if (kind_ == metric_kind::counter)
    static_cast<prometheus::Counter*>(target_)->Increment(x);
  else
    static_cast<prometheus::Gauge*>(target_)->Increment(x);
}

void metrics::series::set(double x) const {
  TROUPE_ASSERT(kind_ == metric_kind::gauge);
  static_cast<prometheus::Gauge*>(target_)->Set(x);
}

void metrics::series::observe(double x) const {
  TROUPE_ASSERT(kind_ == metric_kind::histogram);
  static_cast<prometheus::Histogram*>(target_)->Observe(x);
}

} // namespace troupe
