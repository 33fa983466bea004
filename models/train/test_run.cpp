#include <cmath>

#include "train/metrics.h"
#include "weft/trainer.h"

namespace weft {
using namespace detail;

std::optional<TestResult> test_run(const RunFolder& folder, const Data& data, const std::function<bool()>& stop) {
  const std::string path = checkpoint_folder(folder.path());
  const Checkpoint best = load_checkpoint(path, Purpose::inference);
  if (best.model->task() != data.task() || best.tokenizer->to_json() != data.tokenizer()->to_json())
    throw Error("[test] the checkpoint in \"" + path + "\" has a different task or tokenizer than the data");
  const std::optional<Evaluation> evaluation = evaluate(*best.model, data, stop);
  if (!evaluation) return std::nullopt;
  if (!std::isfinite(evaluation->loss))
    throw Error("[test] the loss of \"" + path + "\" is " + std::to_string(evaluation->loss));
  Metrics::add_test(metrics_path(folder.path()), best.info.step, *evaluation);
  return TestResult{best.info.step, *evaluation};
}

bool is_tested(const std::string& folder) { return Metrics::has_test(metrics_path(folder)); }

}  // namespace weft
