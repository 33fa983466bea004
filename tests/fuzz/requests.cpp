// The input: the path of a request to weft serve in the first line, and after it the body. Every answer must be a JSON
// object or a stream of such objects, and every refusal an error of the client.
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
  explicit Server(const std::string& fixtures) : settings(low_limits(fixtures, folder / "states")) {}

  static Settings low_limits(const std::string& fixtures, const std::string& states) {
    Settings low;
    low.models = {"lm=" + fixtures + "gmlp-causal-lm", "masked=" + fixtures + "fnet-masked-lm",
                  "labels=" + fixtures + "tnn-classifier"};
    low.states = states;
    low.max_states = low.max_batch = 4;
    low.max_queue = low.max_tokens = 8;
    low.max_prompt = 200;
    low.max_body = 4000;
    return low;
  }
};

void check(bool is_right) {
  if (!is_right) std::abort();
}

// Checks server-sent events.
void check_events(std::string all) {
  while (!all.empty()) {
    const std::size_t end = all.find("\n\n");
    check(all.starts_with("data: ") && end != std::string::npos);
    const std::string event = all.substr(6, end - 6);
    check(event == "[DONE]" || Json::parse(event).contains("choices"));
    all.erase(0, end + 2);
  }
}

void answer(Server& server, Reply (*of_path)(Call&), const std::string& text) {
  Body body(text);
  Call call{body, server.settings, server.models, server.states, server.metrics, Clock::now() + std::chrono::hours(1),
            [] {}};
  const Reply reply = of_path(call);
  if (!reply.stream) return check(reply.json.is_object() && Json::parse(json_text(reply.json)).size() > 0);
  std::size_t parts = text.size() % 5;  // the client goes away after this number of parts; 0: it reads all of them
  std::string events;
  reply.stream([&](const std::string& part) {
    events += part;
    return parts == 0 || --parts > 0;
  });
  check_events(events);
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
    check(Json::parse(error_text(error)).contains("error"));
    if (error.status < 500) return 0;
    std::fprintf(stderr, "%d %s\n", error.status, error.what());
    std::abort();
  }
  return 0;
}
