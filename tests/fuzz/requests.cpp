// The input: the path of a request to weft serve in the first line, and after it the body. Every answer must be JSON,
// and every refusal an error of the client.
#include <cstdio>
#include <map>

#include "serve/call.h"
#include "target.h"
#include "temporary_folder.h"

namespace {

using namespace serve;

const std::map<std::string, Reply (*)(Call&)> paths = {
    {"/v1/completions", completions}, {"/v1/embeddings", embeddings}, {"/classify", classify},
    {"/fill-mask", fill_mask},        {"/predict", predict},          {"/tokenize", tokenize},
    {"/detokenize", detokenize},
};

// The server without its HTTP part. All limits are low, so that an answer takes a few milliseconds.
struct Server {
  TemporaryFolder folder;
  Settings settings;
  Metrics metrics;
  Models models{settings, metrics};
  States states{settings};

  Server() : Server(std::string(WEFT_FIXTURES) + "/") {}

 private:
  explicit Server(const std::string& fixtures)
      : settings{.models = {"lm=" + fixtures + "gmlp-causal-lm", "masked=" + fixtures + "fnet-masked-lm",
                            "labels=" + fixtures + "tnn-classifier"},
                 .states = folder / "states",
                 .max_states = 4,
                 .max_batch = 4,
                 .max_queue = 8,
                 .max_tokens = 8,
                 .max_prompt = 200,
                 .max_body = 4000} {}
};

void check_json(const Json& json) {
  if (Json::parse(json_text(json), nullptr, false).is_discarded()) std::abort();
}

void answer(Server& server, Reply (*of_path)(Call&), const std::string& text) {
  Body body(text);
  Call call{body,          server.settings, server.models,
            server.states, server.metrics,  Clock::now() + std::chrono::seconds(20),
            [] {}};
  const Reply reply = of_path(call);
  if (!reply.stream) return check_json(reply.json);
  std::size_t parts = text.size() % 5;  // sometimes the client goes away early
  reply.stream([&](const std::string&) { return parts != 1 && (parts == 0 || --parts > 0); });
}

}  // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Server server;
  const std::string text = weft::test::text_of(data, size);
  const std::size_t end = text.find('\n');
  const auto path = paths.find(text.substr(0, end));
  if (path == paths.end() || end == std::string::npos) return 0;
  const std::string body = text.substr(end + 1);
  if (std::ssize(body) > server.settings.max_body) return 0;
  try {
    answer(server, path->second, body);
  } catch (const std::exception& thrown) {
    const HttpError error = http_error(thrown);
    check_json(error_json(error));
    if (error.status < 500) return 0;
    std::fprintf(stderr, "%d %s\n", error.status, error.what());
    std::abort();
  }
  return 0;
}
