#include "serve/metrics.h"

#include <cstdio>

namespace serve {
namespace {

std::string label(const std::string& name, const std::string& value) {
  std::string text = name + "=\"";
  for (const char c : value) {
    if (c == '\n') {
      text += "\\n";
      continue;
    }
    if (c == '"' || c == '\\') text += '\\';
    text += c;
  }
  return text + "\"";
}

std::string decimal(double value) {
  char text[32];
  std::snprintf(text, sizeof text, "%.9g", value);
  return text;
}

std::string line(const std::string& name, const std::string& labels, const std::string& value) {
  return name + (labels.empty() ? "" : "{" + labels + "}") + " " + value + "\n";
}

std::string head(const std::string& name, const std::string& type, const std::string& help) {
  return "# HELP " + name + " " + help + "\n# TYPE " + name + " " + type + "\n";
}

}  // namespace

void Histogram::add(double value) {
  for (std::size_t i = 0; i < bounds_.size(); ++i) counts_[i] += value <= bounds_[i] ? 1 : 0;
  ++count_;
  sum_ += value;
}

std::string Histogram::text(const std::string& name, const std::string& labels) const {
  std::string text;
  for (std::size_t i = 0; i < bounds_.size(); ++i)
    text += line(name + "_bucket", labels + "," + label("le", decimal(bounds_[i])), std::to_string(counts_[i]));
  text += line(name + "_bucket", labels + "," + label("le", "+Inf"), std::to_string(count_));
  return text + line(name + "_sum", labels, decimal(sum_)) + line(name + "_count", labels, std::to_string(count_));
}

void Metrics::count_request(const std::string& path, int status) {
  const std::lock_guard lock(mutex_);
  ++requests_[{path, status}];
}

void Metrics::add_request(const std::string& path, double seconds) {
  static const Histogram empty{{.001, .0025, .005, .01, .025, .05, .1, .25, .5, 1, 2.5, 5, 10, 30, 60}};
  const std::lock_guard lock(mutex_);
  request_seconds_.try_emplace(path, empty).first->second.add(seconds);
}

void Metrics::add(const std::string& model, Gauge gauge, std::int64_t change) {
  const std::lock_guard lock(mutex_);
  models_[model].gauges[gauge] += change;
}

void Metrics::add(const std::string& model, Counter counter, std::int64_t count) {
  const std::lock_guard lock(mutex_);
  models_[model].counters[counter] += count;
}

void Metrics::add_batch(const std::string& model, std::int64_t texts) {
  const std::lock_guard lock(mutex_);
  models_[model].batch.add(static_cast<double>(texts));
}

void Metrics::add_first_token(const std::string& model, double seconds) {
  const std::lock_guard lock(mutex_);
  models_[model].first_token.add(seconds);
}

void Metrics::add_next_token(const std::string& model, double seconds) {
  const std::lock_guard lock(mutex_);
  models_[model].next_token.add(seconds);
}

std::string Metrics::text() const {
  const std::lock_guard lock(mutex_);
  std::string text = head("weft_requests_total", "counter", "Requests by path and status.");
  for (const auto& [key, count] : requests_)
    text += line("weft_requests_total", label("path", key.first) + "," + label("status", std::to_string(key.second)),
                 std::to_string(count));
  text += head("weft_request_seconds", "histogram", "Time from a complete request to the end of its computation.");
  for (const auto& [path, seconds] : request_seconds_)
    text += seconds.text("weft_request_seconds", label("path", path));
  const auto numbers = [&](const std::string& name, const std::string& type, const std::string& help, auto value_of) {
    text += head(name, type, help);
    for (const auto& [model, of_model] : models_)
      text += line(name, label("model", model), std::to_string(value_of(of_model)));
  };
  numbers("weft_waiting_texts", "gauge", "Texts that wait for the model.",
          [](const OfModel& m) { return m.gauges[waiting]; });
  numbers("weft_running_texts", "gauge", "Texts that the model computes now.",
          [](const OfModel& m) { return m.gauges[running]; });
  numbers("weft_stream_bytes", "gauge", "Estimated memory of the texts that the model continues now.",
          [](const OfModel& m) { return m.gauges[stream_bytes]; });
  numbers("weft_prompt_tokens_total", "counter", "Symbols of prompts and other texts.",
          [](const OfModel& m) { return m.counters[prompt_tokens]; });
  numbers("weft_generated_tokens_total", "counter", "Generated symbols.",
          [](const OfModel& m) { return m.counters[generated_tokens]; });
  const auto histograms = [&](const std::string& name, const std::string& help, auto histogram_of) {
    text += head(name, "histogram", help);
    for (const auto& [model, of_model] : models_) text += histogram_of(of_model).text(name, label("model", model));
  };
  histograms("weft_batch_texts", "Texts that the model computed together.",
             [](const OfModel& m) -> const Histogram& { return m.batch; });
  histograms("weft_first_token_seconds", "Time from a request to the first symbol of a text.",
             [](const OfModel& m) -> const Histogram& { return m.first_token; });
  histograms("weft_next_token_seconds", "Time from one symbol of a text to the next.",
             [](const OfModel& m) -> const Histogram& { return m.next_token; });
  return text;
}

}  // namespace serve
