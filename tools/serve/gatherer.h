// Computes the results of texts from several requests in one call. One thread computes. Texts that arrive meanwhile
// wait, and the next call takes all of them.
#pragma once
#include <atomic>
#include <condition_variable>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "serve/answer.h"
#include "serve/metrics.h"
#include "serve/settings.h"

namespace serve {

template <class Input, class Result>
class Gatherer {
 public:
  using Compute = std::function<std::vector<Result>(const std::vector<Input>&)>;

  // The settings and the metrics must outlive the object.
  Gatherer(std::string name, Compute compute, const Settings& settings, Metrics& metrics)
      : name_(std::move(name)), compute_(std::move(compute)), settings_(settings), metrics_(metrics) {
    thread_ = std::thread([this] { run(); });
  }
  ~Gatherer() {
    {
      const std::lock_guard lock(mutex_);
      ended_ = true;
    }
    changed_.notify_all();
    thread_.join();
  }
  Gatherer(const Gatherer&) = delete;
  Gatherer& operator=(const Gatherer&) = delete;

  // Waits for the results. Checks from time to time whether the client still waits. Throws an HttpError if the client has
  // gone away, if the queue is full or if the time is over, or the error of the computation.
  std::vector<Result> operator()(std::vector<Input> inputs, Clock::time_point until,
                                 const std::function<void()>& check) {
    const std::shared_ptr<Job> job = add(std::move(inputs));
    std::future<std::vector<Result>> results = job->results.get_future();
    try {
      while (results.wait_for(std::chrono::milliseconds(200)) != std::future_status::ready) {
        check();
        if (Clock::now() >= until)
          throw HttpError(504, "timeout", "the model \"" + name_ + "\" did not answer in time");
      }
    } catch (const HttpError&) {
      job->is_abandoned = true;
      throw;
    }
    return results.get();
  }

 private:
  struct Job {
    std::vector<Input> inputs;
    std::promise<std::vector<Result>> results;
    std::atomic<bool> is_abandoned = false;  // whether nobody waits for the results
  };
  using Jobs = std::vector<std::shared_ptr<Job>>;

  std::shared_ptr<Job> add(std::vector<Input> inputs) {
    const std::lock_guard lock(mutex_);
    const auto count = std::ssize(inputs);
    if (texts_ + count > settings_.max_queue) throw queue_full(name_, settings_);
    waiting_.push_back(std::make_shared<Job>());
    waiting_.back()->inputs = std::move(inputs);
    texts_ += count;
    metrics_.add(name_, Metrics::waiting, count);
    changed_.notify_one();
    return waiting_.back();
  }

  void run() {
    for (;;) {
      Jobs jobs;
      {
        std::unique_lock lock(mutex_);
        changed_.wait(lock, [&] { return ended_ || !waiting_.empty(); });
        if (ended_) return;  // whoever waits for a result also keeps the model, so nobody does
        jobs.swap(waiting_);
        metrics_.add(name_, Metrics::waiting, -std::exchange(texts_, 0));
      }
      std::erase_if(jobs, [](const std::shared_ptr<Job>& job) { return job->is_abandoned.load(); });
      if (jobs.empty()) continue;
      std::int64_t count = 0;
      for (const std::shared_ptr<Job>& job : jobs) count += std::ssize(job->inputs);
      metrics_.add(name_, Metrics::running, count);
      if (jobs.size() == 1 || !compute_together(jobs))
        for (const std::shared_ptr<Job>& job : jobs) compute_alone(*job);
      metrics_.add(name_, Metrics::running, -count);
    }
  }

  // Returns false if the call fails, for example because of one of the texts. Then no job has its results.
  bool compute_together(Jobs& jobs) {
    std::vector<std::vector<Result>> results;  // of each job
    try {
      std::vector<Input> inputs;
      for (const std::shared_ptr<Job>& job : jobs) inputs.insert(inputs.end(), job->inputs.begin(), job->inputs.end());
      metrics_.add_batch(name_, std::ssize(inputs));
      std::vector<Result> all = compute_(inputs);
      auto next = std::make_move_iterator(all.begin());
      for (const std::shared_ptr<Job>& job : jobs) {
        const auto end = next + std::ssize(job->inputs);
        results.emplace_back(next, end);
        next = end;
      }
    } catch (const std::exception&) {
      return false;
    }
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i]->results.set_value(std::move(results[i]));
    return true;
  }

  void compute_alone(Job& job) {
    try {
      metrics_.add_batch(name_, std::ssize(job.inputs));
      job.results.set_value(compute_(job.inputs));
    } catch (...) {
      job.results.set_exception(std::current_exception());
    }
  }

  const std::string name_;
  const Compute compute_;
  const Settings& settings_;
  Metrics& metrics_;
  std::mutex mutex_;
  std::condition_variable changed_;
  Jobs waiting_;
  std::int64_t texts_ = 0;  // the number of waiting texts
  bool ended_ = false;
  std::thread thread_;
};

}  // namespace serve
