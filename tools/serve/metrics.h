// What the server counts, for GET /metrics.
#pragma once
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

namespace serve {

class Histogram {
 public:
  explicit Histogram(std::vector<double> bounds) : bounds_(std::move(bounds)), counts_(bounds_.size()) {}
  void add(double value);
  // Returns the lines in the text format of Prometheus. `labels` is like "model=\"…\"".
  std::string text(const std::string& name, const std::string& labels) const;

 private:
  std::vector<double> bounds_;        // upper bounds, ascending
  std::vector<std::int64_t> counts_;  // values up to each bound
  std::int64_t count_ = 0;
  double sum_ = 0;
};

// Thread-safe.
class Metrics {
 public:
  enum Gauge { waiting, running, stream_bytes };
  enum Counter { prompt_tokens, generated_tokens };

  void count_request(const std::string& path, int status);
  void add_request(const std::string& path, double seconds);
  void add(const std::string& model, Gauge gauge, std::int64_t change);
  void add(const std::string& model, Counter counter, std::int64_t count);
  void add_batch(const std::string& model, std::int64_t texts);
  void add_first_token(const std::string& model, double seconds);
  void add_next_token(const std::string& model, double seconds);

  // Returns all values in the text format of Prometheus (prometheus.io/docs/instrumenting/exposition_formats).
  std::string text() const;

 private:
  struct OfModel {
    std::int64_t gauges[3] = {}, counters[2] = {};
    Histogram batch{{1, 2, 4, 8, 16, 32, 64, 128, 256}};
    Histogram first_token{{.005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}};
    Histogram next_token{{.0001, .00025, .0005, .001, .0025, .005, .01, .025, .05, .1, .25, .5, 1}};
  };

  mutable std::mutex mutex_;
  std::map<std::pair<std::string, int>, std::int64_t> requests_;
  std::map<std::string, Histogram> request_seconds_;  // by path
  std::map<std::string, OfModel> models_;
};

}  // namespace serve
