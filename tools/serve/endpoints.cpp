#include "serve/endpoints.h"

namespace serve {
namespace {

Json described(const ServedModel& model) {
  return {{"id", model.name()},
          {"object", "model"},
          {"created", static_cast<std::int64_t>(model.loaded())},
          {"owned_by", "weft"},
          {"task", weft::task_name(model.checkpoint().model->task())},
          {"paths", model.paths()}};
}

std::string list_models(const Query& query) {
  Json data = Json::array();
  for (const auto& model : query.models.all()) data.push_back(described(*model));
  return json_text({{"object", "list"}, {"data", data}});
}

std::string describe_model(const Query& query) { return json_text(described(*query.models.find(query.rest))); }

std::string health(const Query& query) { return json_text({{"status", "ok"}, {"models", query.models.state()}}); }

Reply reload(Call& call) {
  call.body.check_all_read();
  return {call.models.reload()};
}

}  // namespace

const std::vector<Endpoint>& endpoints() {
  static const std::vector<Endpoint> all = {
      {"/v1/completions", "POST", true, completions},
      {"/v1/embeddings", "POST", true, embeddings},
      {"/classify", "POST", true, classify},
      {"/fill-mask", "POST", true, fill_mask},
      {"/predict", "POST", true, predict},
      {"/tokenize", "POST", true, tokenize},
      {"/detokenize", "POST", true, detokenize},
      {"/admin/reload", "POST", true, reload},
      {"/v1/models", "GET", true, nullptr, list_models},
      {"/v1/models/", "GET", true, nullptr, describe_model},
      {"/metrics", "GET", true, nullptr, [](const Query& query) { return query.metrics.text(); },
       "text/plain; version=0.0.4; charset=utf-8"},
      {"/health", "GET", false, nullptr, health},
      {"/openapi.json", "GET", false, nullptr, [](const Query&) { return std::string(openapi_json); }},
      {"/", "GET", false, nullptr, [](const Query&) { return std::string(page_html); }, "text/html; charset=utf-8"},
  };
  return all;
}

}  // namespace serve
