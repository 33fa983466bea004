// Tests of what a completion of weft serve can ask for: prompts as symbols, several texts for a prompt, probabilities,
// and saved states.
#include <doctest/doctest.h>

#ifdef WEFT_HTTPLIB

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "served.h"
#include "weft/generate.h"
#include "weft/tokenizer.h"

namespace weft::test {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

json choice_of(const Response& response, std::size_t i = 0) { return response.json.at("choices").at(i); }

std::vector<std::int64_t> symbols_of(const Served& served, const std::string& text) {
  return post(served, "/tokenize", {{"text", text}}).json.at("tokens");
}

// Writes a language model of bytes, with random parameters.
void write_byte_model(const std::string& folder) {
  const auto tokenizer = learn_tokenizer("bytes", std::string());
  const auto model = make_model({"tnn", Task::causal_lm, tokenizer->size(), 0, R"({"d_model":16,"layers":1})"},
                                {Random(3), DType::f32, nullptr});
  std::uint64_t seed = 1;
  for (auto [name, parameter] : model->parameters()) {
    const Tensor& value = parameter.value();
    parameter.assign(Random(seed++).uniform(value.shape(), -0.5, 0.5, value.dtype()));
  }
  save_checkpoint(folder, *model, *tokenizer);
}

// Sets the time of a file's last change.
void make_older(const std::string& path, std::chrono::hours age) {
  fs::last_write_time(path, fs::file_time_type::clock::now() - age);
}

}  // namespace

TEST_CASE("serve: a prompt of symbols is the same as its text") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm", [](const Served& served) {
    const std::vector<std::int64_t> line = symbols_of(served, "line 7"), fox = symbols_of(served, "fox");
    json request = {{"prompt", {"line 7", "fox"}}, {"max_tokens", 20}, {"seed", 3}, {"echo", true}};
    const Response texts = post(served, "/v1/completions", request);
    request["prompt"] = {line, fox};
    const Response symbols = post(served, "/v1/completions", request);
    REQUIRE(symbols.status == 200);
    for (std::size_t i = 0; i < 2; ++i) CHECK(text_of(symbols, i) == text_of(texts, i));
    CHECK(symbols.json.at("usage") == texts.json.at("usage"));
    request["prompt"] = line;
    CHECK(text_of(post(served, "/v1/completions", request)) == text_of(texts));
    request["seed"] = -3;
    const Response negative = post(served, "/v1/completions", request);
    CHECK(negative.status == 200);
    CHECK(text_of(post(served, "/v1/completions", request)) == text_of(negative));
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: fields that are null count as absent, and the description says so") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const nlohmann::json schemas = get(served, "/openapi.json").json.at("components").at("schemas");
    nlohmann::json request = {{"prompt", "line 7"}, {"temperature", 0}};
    const std::string text = text_of(post(served, "/v1/completions", request));
    for (const auto& [field, schema] : schemas.at("CompletionRequest").at("properties").items()) {
      const nlohmann::json& shape = schema.contains("$ref") ? schemas.at("Model") : schema;
      CAPTURE(std::string(field));
      CHECK(contains(shape.dump(), "\"null\""));
      if (!request.contains(field)) request[field] = nullptr;
    }
    for (const auto& [name, schema] : schemas.items())
      for (const std::string field : {"dimensions", "encoding_format", "threshold", "top"}) {
        CAPTURE(std::string(name));
        CAPTURE(field);
        if (name.ends_with("Request") && schema.at("properties").contains(field))
          CHECK(contains(schema.at("properties").at(field).dump(), "\"null\""));
      }
    CHECK(text_of(post(served, "/v1/completions", request)) == text);
    request["stream_options"] = {{"include_usage", nullptr}};
    CHECK(text_of(post(served, "/v1/completions", request)) == text);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: several texts for a prompt read it once, and have the seeds that follow") {
  const TemporaryFolder folder;
  for (const char* arch : {"tnn", "gmlp"}) write_language_model(folder / arch, 1, arch);
  const Outcome outcome =
      serve((folder / "tnn") + " " + (folder / "gmlp") + " --max-batch 3", [](const Served& served) {
        for (const char* arch : {"tnn", "gmlp"}) {
          const json request = {{"model", arch}, {"prompt", "line 7"}, {"max_tokens", 20}, {"seed", 3}};
          json several = request;
          several["n"] = 5;
          const Response all = post(served, "/v1/completions", several);
          for (int k = 0; k < 5; ++k) {
            json one = request;
            one["seed"] = 3 + k;
            CHECK(text_of(post(served, "/v1/completions", one)) == text_of(all, static_cast<std::size_t>(k)));
          }
          CHECK(all.json.at("usage").at("prompt_tokens") == 6);
          CHECK(contains(get(served, "/metrics").text,
                         "weft_prompt_tokens_total{model=\"" + std::string(arch) + "\"} 36\n"));  // 6 requests
        }
      });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: the probabilities of a prompt and of its continuation are those of the library") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm", 1, "gmlp");
  const Checkpoint checkpoint = load_checkpoint(folder / "lm", Purpose::inference);
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const json request = {{"prompt", "line 7"}, {"max_tokens", 3}, {"temperature", 0}, {"echo", true}, {"logprobs", 4}};
    const json whole = choice_of(post(served, "/v1/completions", request)).at("logprobs");
    REQUIRE(whole.at("tokens").size() == 9);
    std::string text;
    for (const std::string token : whole.at("tokens")) text += token;
    CHECK(text == text_of(post(served, "/v1/completions", request)));
    CHECK(whole.at("text_offset") == json{0, 1, 2, 3, 4, 5, 6, 7, 8});
    CHECK(whole.at("token_logprobs").at(0).is_null());
    CHECK(whole.at("top_logprobs").at(0).is_null());
    const std::vector<std::int64_t> symbols = symbols_of(served, text);
    const auto scored = score_text(*checkpoint.model, *checkpoint.tokenizer, symbols, 4);
    for (std::size_t i = 1; i < 9; ++i) {
      CHECK(whole.at("token_logprobs").at(i).get<double>() ==
            doctest::Approx(scored[i - 1].symbol.log_probability).epsilon(1e-4));
      const json top = whole.at("top_logprobs").at(i);
      CHECK(top.size() == 4);
      for (const SymbolProbability& p : scored[i - 1].most_probable)
        CHECK(top.at(checkpoint.tokenizer->decode(p.id)).get<double>() ==
              doctest::Approx(p.log_probability).epsilon(1e-4));
    }
    json prompt_alone = request;
    prompt_alone.update({{"max_tokens", 0}, {"logprobs", 0}});
    const json of_prompt = choice_of(post(served, "/v1/completions", prompt_alone));
    CHECK(of_prompt.at("text") == "line 7");
    CHECK(of_prompt.at("logprobs").at("token_logprobs").size() == 6);
    CHECK(of_prompt.at("logprobs").at("top_logprobs").is_null());
    json too_long = request;
    too_long["prompt"] = std::string(static_cast<std::size_t>(checkpoint.model->max_length()) + 1, 'o');
    CHECK(contains(post(served, "/v1/completions", too_long).error(), "with echo and logprobs, expected at most"));
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: symbols that are parts of characters have different names, and offsets count whole characters") {
  const TemporaryFolder folder;
  write_byte_model(folder / "bytes");
  const Outcome outcome = serve(folder / "bytes", [](const Served& served) {
    const json request = {
        {"prompt", "a\u00e9\u20ac b"}, {"max_tokens", 5}, {"seed", 1}, {"echo", true}, {"logprobs", 20}};
    const json whole = choice_of(post(served, "/v1/completions", request)).at("logprobs");
    CHECK(whole.at("tokens").at(1) == "bytes:\\xc3");
    const std::vector<std::size_t> expected{0, 1, 1, 2, 2, 2, 3, 4, 5};
    const std::vector<std::size_t> offsets = whole.at("text_offset");
    CHECK(std::vector<std::size_t>(offsets.begin(), offsets.begin() + 9) == expected);
    CHECK(std::is_sorted(offsets.begin(), offsets.end()));
    for (std::size_t i = 1; i < whole.at("tokens").size(); ++i) {
      const json top = whole.at("top_logprobs").at(i);
      CHECK(top.size() == 20);
      const std::string token = whole.at("tokens").at(i);
      if (top.contains(token)) CHECK(top.at(token) == whole.at("token_logprobs").at(i));
    }
    const std::vector<json> parts = stream(served, request);
    CHECK(parts.front().at("choices").at(0).at("logprobs").at("tokens").at(0) == "a");
    CHECK(text_of(parts) == text_of(post(served, "/v1/completions", request)));
    json large = request;
    large.update({{"n", 128}, {"max_tokens", 100}});
    const Response refused = post(served, "/v1/completions", large);
    CHECK(refused.status == 400);
    CHECK(contains(refused.error(), "at most 262144 log probabilities"));
    CHECK(contains(refused.error(), "got one for 290304"));  // 128 (8 + 100) 21
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: the state of an empty prompt contains what the model has read, and long states are shortened") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome =
      serve((folder / "lm") + " --max-prompt 20 --states " + (folder / "states"), [](const Served& served) {
        json request = {{"prompt", ""}, {"max_tokens", 5}, {"temperature", 0},
                        {"save", true}, {"echo", true},    {"logprobs", 0}};
        const Response first = post(served, "/v1/completions", request);
        CHECK(first.json.at("usage").at("prompt_tokens") == 1);
        CHECK(choice_of(first).at("logprobs").at("tokens").size() == 5);
        CHECK(choice_of(first).at("logprobs").at("text_offset").at(0) == 0);
        request["state"] = choice_of(first).at("state");
        const Response next = post(served, "/v1/completions", request);
        CHECK(next.json.at("usage").at("prompt_tokens") == 6);
        const json whole = {{"prompt", ""}, {"max_tokens", 10}, {"temperature", 0}};
        CHECK(text_of(first) + text_of(next) == text_of(post(served, "/v1/completions", whole)));
        request["prompt"] = {"a", "b"};
        CHECK(contains(post(served, "/v1/completions", request).error(),
                       "state: expected one prompt to go on with, got 2"));
        request.update({{"prompt", std::string(18, 'o')}, {"max_tokens", 9}});
        const Response longest = post(served, "/v1/completions", request);
        CHECK(longest.json.at("usage").at("prompt_tokens") == 24);
        request.update({{"prompt", ""}, {"state", choice_of(longest).at("state")}});
        CHECK(post(served, "/v1/completions", request).json.at("usage").at("prompt_tokens") == 20);
      });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a text goes on from a saved state, even after a restart") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  write_language_model(folder / "other", 2);
  const std::string states = folder / "states", arguments = (folder / "lm") + " --max-states 2 --states " + states;
  const json first = {{"prompt", "line 7"}, {"max_tokens", 4}, {"temperature", 0}, {"save", true}};
  const json next = {{"prompt", "fox"}, {"max_tokens", 9}, {"temperature", 0}};
  std::string id, expected;
  Outcome outcome = serve(arguments, [&](const Served& served) {
    const Response saved = post(served, "/v1/completions", first);
    id = choice_of(saved).at("state");
    CHECK(stream(served, first).back().at("choices").at(0).contains("state"));
    json whole = next;
    whole["prompt"] = "line 7" + text_of(saved) + "fox";
    expected = text_of(post(served, "/v1/completions", whole));
  });
  CHECK(outcome.code == 0);
  make_older(states + "/" + id + ".json", std::chrono::hours(5));
  outcome = serve(arguments + " " + (folder / "other"), [&](const Served& served) {
    json request = next;
    request.update({{"state", id}, {"model", "lm"}, {"echo", true}, {"logprobs", 0}});
    const Response found = post(served, "/v1/completions", request);
    CHECK(text_of(found) == "fox" + expected);
    CHECK(choice_of(found).at("logprobs").at("tokens").size() == 12);
    CHECK(choice_of(found).at("logprobs").at("token_logprobs").at(0).is_number());
    CHECK(found.json.at("usage").at("prompt_tokens") == 13);

    json wrong = request;
    wrong["model"] = "other";
    CHECK(contains(post(served, "/v1/completions", wrong).error(), "expected a state of the model \"other\", got"));
    for (const std::string unknown : {"", "../lm/config", "0123456789abcdef0123456789abcdef"}) {
      wrong = request;
      wrong["state"] = unknown;
      const Response response = post(served, "/v1/completions", wrong);
      CHECK(response.status == 404);
      CHECK(contains(response.error(), "there is no such state"));
    }
    // The state was used just now, so the other one is deleted, although it is younger.
    json again = first;
    again["model"] = "lm";
    const std::string newest = choice_of(post(served, "/v1/completions", again)).at("state");
    CHECK(fs::exists(states + "/" + newest + ".json"));
    CHECK((fs::status(states).permissions() & ~fs::perms::owner_all) == fs::perms::none);
    CHECK(std::distance(fs::directory_iterator(states), {}) == 2);
    CHECK(fs::exists(states + "/" + id + ".json"));
    std::ofstream(states + "/" + id + ".json") << "{\"model\": 3";
    CHECK(post(served, "/v1/completions", request).status == 404);
    std::ofstream(states + "/" + id + ".json") << R"({"model": "lm", "vocabulary": 3, "symbols": [1]})";
    CHECK(contains(post(served, "/v1/completions", request).error(), "the model's tokenizer has changed"));
    const std::string size = std::to_string(load_checkpoint(folder / "lm").tokenizer->size());
    for (const auto& damaged : std::vector<std::string>{"[[]]", "[-1]", "[" + size + "]", "7"}) {
      std::ofstream(states + "/" + id + ".json")
          << R"({"model": "lm", "vocabulary": )" + size + R"(, "symbols": )" + damaged + "}";
      CHECK(post(served, "/v1/completions", request).status == 404);
    }
    fs::remove(states + "/" + id + ".json");
    fs::create_symlink(id + ".json", states + "/" + id + ".json");  // a file that exists, but can't be opened
    const Response unread = post(served, "/v1/completions", request);
    CHECK(unread.status == 503);
    CHECK(contains(unread.error(), "the server can't read the state"));
    fs::remove_all(states);
    const Response unsaved = post(served, "/v1/completions", again);
    CHECK(unsaved.status == 507);
    CHECK(contains(unsaved.error(), "the server can't save the state"));
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a single model is described by its name") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const Outcome outcome = serve("'a b/c=" + (folder / "lm") + "'", [](const Served& served) {
    const json listed = get(served, "/v1/models").json.at("data").at(0);
    CHECK(listed.at("id") == "a b/c");
    CHECK(get(served, "/v1/models/a%20b/c").json == listed);
    CHECK(get(served, "/v1/models/c").status == 404);
    CHECK(get(served, "/v1/models/").status == 404);
  });
  CHECK(outcome.code == 0);
}

}  // namespace weft::test

#endif
