// Tests of the requests that weft serve answers.
#include <doctest/doctest.h>

#include "command.h"
#include "temporary_folder.h"

#ifndef WEFT_HTTPLIB

namespace weft::test {

TEST_CASE("serve: without cpp-httplib, the command says what is missing") {
  CHECK(fails_with(weft("serve run"), 1, "this build has no server; build weft where cpp-httplib is installed"));
}

}  // namespace weft::test

#else

#include <cstring>
#include <future>
#include <thread>

#include "served.h"
#include "tools/serve/http_error.h"
#include "tools/serve/utf8_pieces.h"
#include "weft/classifier.h"
#include "weft/embed.h"
#include "weft/fill_mask.h"
#include "weft/predict.h"

namespace weft::test {
namespace {

// Returns the text that weft generate prints after the prompt.
std::string generated(const std::string& folder, const std::string& prompt, const std::string& options) {
  const Outcome outcome = weft("generate " + folder + " --prompt '" + prompt + "' " + options);
  CHECK(outcome.code == 0);
  return outcome.out.substr(prompt.size(), outcome.out.size() - prompt.size() - 1);
}

}  // namespace

TEST_CASE("serve: completions have the text of weft generate, with and without a stream") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const std::string text = generated(folder / "lm", "line 7", "--tokens 50 --seed 4 --temperature 0.7 --top-p 0.9");
  const std::string other = generated(folder / "lm", "fox", "--tokens 50 --seed 5 --temperature 0.7 --top-p 0.9");
  const Outcome outcome = serve(folder / "lm", [&](const Served& served) {
    const nlohmann::json request = {
        {"prompt", "line 7"}, {"max_tokens", 50}, {"seed", 4}, {"temperature", 0.7}, {"top_p", 0.9}};
    const Response one = post(served, "/v1/completions", request);
    REQUIRE(one.status == 200);
    CHECK(text_of(one) == text);
    CHECK(one.json.at("model") == "lm");
    CHECK(one.json.at("choices").at(0).at("finish_reason") == "length");
    CHECK(one.json.at("usage") ==
          nlohmann::json{{"prompt_tokens", 6}, {"completion_tokens", 50}, {"total_tokens", 56}});
    CHECK(text_of(stream(served, request)) == text);

    nlohmann::json several = request;
    several.update({{"prompt", {"line 7", "fox"}}, {"n", 2}, {"echo", true}, {"logprobs", 0}});
    const Response all = post(served, "/v1/completions", several);
    CHECK(text_of(all, 0) == "line 7" + text);
    CHECK(text_of(all, 3) == "fox" + other);
    CHECK(all.json.at("usage").at("prompt_tokens") == 9);
    const nlohmann::json logprobs = all.json.at("choices").at(0).at("logprobs");
    CHECK(logprobs.at("tokens").size() == 56);
    CHECK(logprobs.at("text_offset").at(6) == 6);
    CHECK(logprobs.at("token_logprobs").at(55) < 0);
    several["stream_options"] = {{"include_usage", true}};
    const std::vector<nlohmann::json> parts = stream(served, several);
    for (std::size_t i = 0; i < 4; ++i) CHECK(text_of(parts, i) == text_of(all, i));
    CHECK(parts.back().at("usage") == all.json.at("usage"));

    nlohmann::json stopped = request;
    stopped["stop"] = text.substr(10, 3);
    const Response stop = post(served, "/v1/completions", stopped);
    CHECK(text_of(stop) == text.substr(0, text.find(text.substr(10, 3))));
    CHECK(stop.json.at("choices").at(0).at("finish_reason") == "stop");
    CHECK(text_of(stream(served, stopped)) == text_of(stop));
    const Response none = post(served, "/v1/completions", {{"prompt", "fox"}, {"max_tokens", 0}, {"echo", true}});
    CHECK(text_of(none) == "fox");
    CHECK(metric(served, "weft_generated_tokens_total") != "0");
    CHECK(soon([&] { return metric(served, "weft_requests_total{path=\"/v1/completions\",status=\"200\"}") == "7"; }));
    CHECK(soon([&] { return metric(served, "weft_request_seconds_count{path=\"/v1/completions\"}") == "7"; }));
    CHECK(metric(served, "weft_request_seconds_sum{path=\"/v1/completions\"}") != "0");
  });
  CHECK(outcome.code == 0);
  CHECK(lines_of(outcome.out).size() == 1);
}

TEST_CASE("serve: requests at the same time get the same texts as alone") {
  const TemporaryFolder folder;
  for (const char* arch : {"tnn", "gmlp"}) write_language_model(folder / arch, 1, arch);
  const Outcome outcome =
      serve((folder / "tnn") + " " + (folder / "gmlp") + " --max-batch 5", [](const Served& served) {
        for (const char* arch : {"tnn", "gmlp"}) {
          const auto complete = [&](int k) {
            const std::string prompt = std::string(static_cast<std::size_t>(1 + k % 7), 'o');
            return text_of(post(served, "/v1/completions",
                                {{"model", arch}, {"prompt", prompt}, {"max_tokens", 20 + 7 * k}, {"seed", k}}));
          };
          std::vector<std::future<std::string> > together;
          for (int k = 0; k < 8; ++k) together.push_back(std::async(std::launch::async, complete, k));
          for (int k = 0; k < 8; ++k) CHECK(together[static_cast<std::size_t>(k)].get() == complete(k));
        }
      });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: vectors, labels, gaps, numbers and tags are those of the library") {
  const TemporaryFolder folder;
  const std::pair<const char*, Task> tasks[] = {{"class", Task::classifier},
                                                {"mask", Task::masked_lm},
                                                {"numbers", Task::regression},
                                                {"labels", Task::multilabel},
                                                {"tags", Task::tagging}};
  std::string arguments;
  for (const auto& [name, task] : tasks) {
    const SmallTask small = small_task("gmlp", task);
    CheckpointInfo info;
    info.length = 16;
    if (task_source(task) == Source::rows) info.labels = {"O", "B-x", "I-x"};
    save_checkpoint(folder / name, *small.model, *small.data->tokenizer(), info);
    arguments += std::string(name) + "=" + (folder / name) + " ";
  }
  const auto load = [&](const char* name) { return load_checkpoint(folder / name, Purpose::inference); };
  const Outcome outcome = serve(arguments, [&](const Served& served) {
    const std::string a = "red green and 3", b = "south", masked = "the qu[mask]ck fox";
    const Classifier classifier(load("class"));
    const Response classes = post(served, "/classify", {{"model", "class"}, {"texts", {a, b}}, {"top", 0}});
    REQUIRE(classes.status == 200);
    const auto best = classifier.best(classifier.probabilities(b), 0);
    for (std::size_t i = 0; i < best.size(); ++i)
      CHECK(classes.json.at("results").at(1).at("labels").at(i) ==
            nlohmann::json{{"label", best[i].label}, {"probability", best[i].probability}});
    CHECK(post(served, "/classify", {{"model", "class"}, {"text", b}}).json.at("result").at("labels").size() == 1);
    const std::vector<float> vector = Embedder(load("class"))({a}).to_vector<float>();
    const Response vectors = post(served, "/v1/embeddings", {{"model", "class"}, {"input", {b, a}}});
    CHECK(vectors.json.at("data").at(1).at("embedding").get<std::vector<float> >() == vector);
    CHECK(vectors.json.at("usage").at("prompt_tokens") > 0);
    const Response coded =
        post(served, "/v1/embeddings", {{"model", "class"}, {"input", a}, {"encoding_format", "base64"}});
    const nlohmann::json symbols_of_a = post(served, "/tokenize", {{"model", "class"}, {"text", a}}).json.at("tokens");
    const nlohmann::json inputs[] = {symbols_of_a, nlohmann::json::array({symbols_of_a}),
                                     nlohmann::json::array({symbols_of_a, b})};
    for (const nlohmann::json& input : inputs) {
      const Response of_symbols = post(served, "/v1/embeddings", {{"model", "class"}, {"input", input}});
      CHECK(of_symbols.json.at("data").at(0).at("embedding").get<std::vector<float> >() == vector);
      CHECK(of_symbols.json.at("data").size() == (input == inputs[2] ? 2 : 1));
    }
    const std::pair<const char*, const char*> wrong_inputs[] = {
        {"3", "input: expected texts or lists of integers, got 3"},
        {"[]", "input: expected a text or a list of texts, got nothing"},
        {"[[]]", "input: expected at least one symbol, got an empty list"},
        {"[1.5]", "input: expected a list of integers from 0 to "},
        {"[[0], [-1]]", "input: expected a list of integers from 0 to "},
        {"[[0], 3]", "input: expected texts or lists of integers, got 3"}};
    for (const auto& [input, message] : wrong_inputs) {
      const Response refused =
          post(served, "/v1/embeddings", std::string(R"({"model": "class", "input": )") + input + "}");
      CHECK(refused.status == 400);
      CHECK(contains(refused.error(), message));
    }
    CHECK(soon([&] { return metric(served, "weft_request_seconds_count{path=\"/classify\"}") == "2"; }));
    CHECK(coded.json.at("data").at(0).at("embedding").get<std::string>().size() == (vector.size() * 4 + 2) / 3 * 4);
    const FilledText filled = fill_mask(load("mask"), masked, 2);
    const nlohmann::json gaps =
        post(served, "/fill-mask", {{"model", "mask"}, {"text", masked}, {"top", 2}}).json.at("result");
    CHECK(gaps.at("text") == filled.text);
    CHECK(gaps.at("gaps").at(0).at(1).at("probability") == filled.gaps[0][1].probability);
    const auto predicted = [&](const char* name) {
      return post(served, "/predict", {{"model", name}, {"text", a}}).json.at("result");
    };
    CHECK(predicted("numbers").at("numbers").at("B-x") == Predictor(load("numbers")).numbers(a)[1]);
    const auto with_threshold = [&](const nlohmann::json& threshold) {
      return post(served, "/predict", {{"model", "numbers"}, {"text", a}, {"threshold", threshold}}).status;
    };
    CHECK(with_threshold(nullptr) == 200);
    CHECK(with_threshold(0.5) == 400);
    CHECK(predicted("labels").at("labels").size() == Predictor(load("labels")).labels(a).size());
    CHECK(predicted("tags").at("words").at(0).at("tag") == Predictor(load("tags")).tags(a)[0].second);
    const nlohmann::json tokens = post(served, "/tokenize", {{"model", "mask"}, {"text", "fox –"}}).json;
    CHECK(tokens.at("count") == 5);
    CHECK(post(served, "/detokenize", {{"model", "mask"}, {"tokens", tokens.at("tokens")}}).json.at("text") == "fox –");
    CHECK(get(served, "/v1/models").json.at("data").size() == 5);
    CHECK(get(served, "/openapi.json").json.at("paths").contains("/classify"));
    CHECK(contains(get(served, "/").text, "<title>weft</title>"));
    // 0 stands for all symbols, and so does every number above theirs.
    const std::int64_t symbols = load("mask").model->vocabulary();
    const auto fill = [&](const std::string& text, std::int64_t top) {
      return post(served, "/fill-mask", {{"model", "mask"}, {"text", text}, {"top", top}});
    };
    const std::size_t most = fill_mask(load("mask"), "[mask]", 0).gaps[0].size();
    for (const std::int64_t top : {std::int64_t{0}, symbols + 1, INT64_MAX})
      CHECK(fill("[mask]", top).json.at("result").at("gaps").at(0).size() == most);
    CHECK(contains(fill("[mask]", -1).error(), "top: expected an integer (at least 0), got -1"));
    std::string many;
    const std::int64_t too_many = 100000 / symbols + 1;
    for (std::int64_t i = 0; i < too_many; ++i) many += "[mask] ";
    const Response costly = fill(many, 0);
    CHECK(costly.status == 400);
    CHECK(contains(costly.error(), "expected at most 100000 predictions, got " + std::to_string(too_many) +
                                       " gaps with " + std::to_string(symbols) + " predictions each"));
    const Response wrong = post(served, "/v1/completions", {{"model", "tags"}, {"prompt", "a"}});
    CHECK(wrong.status == 404);
    CHECK(contains(wrong.error(), "has the task tagging and does not answer /v1/completions; it answers "));
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a wrong request gets an error that says what was expected") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const std::string options = " --max-tokens 100 --max-prompt 50 --max-body 9000 --max-queue 1";
  const Outcome outcome = serve((folder / "lm") + options, [](const Served& served) {
    struct Case {
      std::string body;
      int status;
      std::string message;
    };
    const Case cases[] = {
        {"{", 400, "the body is not JSON"},
        {"[]", 400, "expected a JSON object as the body, got []"},
        {"{\"prompt\": \"\xff\"}", 400, "ill-formed UTF-8"},
        {std::string(4000, '[') + std::string(4000, ']'), 400, "nested more than 16 levels deep"},
        {R"({"prompt": 3})", 400, "prompt: expected a text or a list of integers, got 3"},
        {R"({"prompt": []})", 400, "prompt: expected at least one text"},
        {R"({"prompt": "a\u0000"})", 400, "without zero bytes"},
        {"{\"prompt\": \"" + std::string(51, 'a') + "\"}", 400, "expected a text of at most 50 bytes, got 51"},
        {R"({"prompt": []})", 400, "prompt: expected at least one text, got an empty list"},
        {R"({"prompt": [[]]})", 400, "prompt: expected at least one symbol, got an empty list"},
        {R"({"prompt": [1, "a"]})", 400, "prompt: expected a list of integers from 0 to "},
        {R"({"prompt": [1, -1]})", 400, "got -1"},
        {"{\"prompt\": [0" +
             [] {
               std::string s;
               for (int i = 0; i < 50; ++i) s += ", 0";
               return s;
             }() +
             "]}",
         400, "prompt: expected at most 50 symbols, got 51"},
        {R"({"logprobs": 21})", 400, "logprobs: expected an integer (0 to 20), got 21"},
        {R"({"state": "00"})", 400, "this server saves no states; it was started without --states"},
        {R"({"save": true})", 400, "this server saves no states; it was started without --states"},
        {R"({"max_tokens": 101})", 400, "max_tokens: expected an integer (0 to 100), got 101"},
        {R"({"max_tokens": 1.5})", 400, "max_tokens: expected an integer (0 to 100), got 1.5"},
        {R"({"temperature": -1})", 400, "temperature: expected a number (at least 0), got -1"},
        {R"({"top_p": 0})", 400, "top_p: expected a number (above 0, at most 1), got 0"},
        {R"({"stop": ["a", ""]})", 400, "stop: expected texts of 1 to 256 bytes, got one of 0"},
        {"{\"stop\": \"" + std::string(257, 'a') + "\"}", 400,
         "stop: expected texts of 1 to 256 bytes, got one of 257"},
        {R"({"temperature": 1e999})", 400, "the body is not JSON"},
        {R"({"stream": 1})", 400, "stream: expected true or false, got 1"},
        {R"({"best_of": 3})", 400, "best_of: weft does not support this field"},
        {R"({"tempratur": 3})", 400, "there is no field \"tempratur\""},
        {R"({"model": "x"})", 404, "there is no model \"x\"; there is lm"},
        {R"({"n": 2})", 400, "n: the number of texts is 2, but at most 1 may wait for a model"},
        {std::string(9001, ' '), 413, "expected a body of at most 9000 bytes"},
    };
    for (const Case& wrong : cases) {
      CAPTURE(wrong.message);
      const Response response = post(served, "/v1/completions", wrong.body);
      CHECK(response.status == wrong.status);
      CHECK(contains(response.error(), wrong.message));
    }
    httplib::Client client = served.client();
    CHECK(client.Post("/v1/completions", "{}", "text/plain")->status == 415);
    CHECK(client.Post("/v1/completions", {{"Content-Length", "2x"}}, "{}", "application/json")->status == 400);
    CHECK(client.Post("/v1/completions", {{"Range", "bytes=0-3"}}, "{}", "application/json")->status == 400);
    CHECK(client.Post("/nothing", "{}", "application/json")->status == 404);
    CHECK(client.Get("/v1/completions")->get_header_value("Allow") == "POST");
    CHECK(client.Delete("/health")->get_header_value("Allow") == "GET, HEAD");
    CHECK(client.Delete("/health")->status == 405);
    CHECK(post(served, "/v1/completions", std::string(R"({"max_tokens": 2.0})")).status == 200);
    CHECK(client.Get("/v1/completions")->status == 405);
    const auto endless = [](std::size_t, httplib::DataSink& sink) { return sink.write("          ", 10); };
    const auto endless_body = client.Post("/v1/completions", endless, "application/json");  // in chunks
    CHECK((!endless_body || endless_body->status == 413));
    CHECK(post(served, "/v1/completions", {{"max_tokens", 1}}).status == 200);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: a full queue refuses requests") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const std::string options = " --max-tokens 1000000 --max-batch 1 --max-queue 1";
  const Outcome outcome = serve((folder / "lm") + options, [](const Served& served) {
    std::future<Response> second;
    stream(served, {{"max_tokens", 1000000}}, [&](std::size_t) {  // keeps the model busy
      second = std::async(std::launch::async, [&] { return post(served, "/v1/completions", {{"max_tokens", 1}}); });
      while (metric(served, "weft_waiting_texts") != "1") std::this_thread::sleep_for(std::chrono::milliseconds(5));
      httplib::Client client = served.client();
      const auto third = client.Post("/v1/completions", "{}", "application/json");
      CHECK(third->status == 429);
      CHECK(third->has_header("Retry-After"));
      CHECK(contains(third->body, "the queue of the model \\\"lm\\\" is full (--max-queue 1)"));
      return false;
    });
    CHECK(second.get().status == 200);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: with a key, only the page and the state are open") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const auto check = [](const Served& served) {
    httplib::Client client = served.client();
    CHECK(client.Get("/health")->status == 200);
    CHECK(client.Get("/v1/models")->status == 401);
    for (const char* wrong : {"Bearer secre", "Bearer secret1", "secret", "Basic secret", ""})
      CHECK(client.Get("/v1/models", {{"Authorization", wrong}})->status == 401);
    CHECK(client.Get("/v1/models", {{"Authorization", "Bearer secret"}})->status == 200);
  };
  CHECK(serve((folder / "lm") + " --api-key secret", check).code == 0);
  ::setenv("WEFT_API_KEY", "secret", 1);
  CHECK(serve(folder / "lm", check).code == 0);
  ::unsetenv("WEFT_API_KEY");
}

TEST_CASE("serve: an error of the computation has the status of its kind") {
  CHECK(serve::http_error(OutOfMemory("[generate] out of memory")).status == 503);
  CHECK(serve::http_error(std::bad_alloc()).status == 503);
  CHECK(serve::http_error(Error("[tokenizer] a wrong text")).status == 400);
  CHECK(serve::http_error(std::runtime_error("anything else")).status == 500);
}

TEST_CASE("serve: a model whose logits are not finite is not the client's fault, and others go on") {
  const TemporaryFolder folder;
  write_language_model(folder / "lm");
  const SmallTask small = small_task("tnn", Task::causal_lm);
  for (auto [name, parameter] : small.model->parameters())
    parameter.assign(Tensor::full(parameter.value().shape(), 1e30, parameter.value().dtype()));
  save_checkpoint(folder / "broken", *small.model, *small.data->tokenizer());
  const Outcome outcome = serve((folder / "lm") + " " + (folder / "broken"), [](const Served& served) {
    const Response broken =
        post(served, "/v1/completions", {{"model", "broken"}, {"prompt", "fox"}, {"max_tokens", 3}});
    CHECK(broken.status == 500);
    CHECK(contains(broken.error(), "logits are not finite"));
    CHECK(post(served, "/v1/completions", {{"model", "lm"}, {"prompt", "fox"}}).status == 200);
  });
  CHECK(outcome.code == 0);
}

TEST_CASE("serve: bytes that arrive in pieces become valid UTF-8") {
  const std::string r = "\xEF\xBF\xBD";
  const std::pair<std::string, std::string> cases[] = {
      {"a–\xF0\x9F\x98\x80z", "a–\xF0\x9F\x98\x80z"},
      {"\xFFz\xC0\xAF", r + "z" + r + r},
      {"\xE2\x80", r},
      {"\xE2\x28\xA1", r + "(" + r},
      {"\xED\xA0\x80", r + r + r},
      {"\xF0\x9F\x98\xE2\x80\x93", r + "–"},
      {"\xF4\x90\x80\x80", r + r + r + r},
  };
  for (const auto& [given, text] : cases) {
    const std::string& bytes = given;  // lambdas of clang 14 can't capture structured bindings
    CAPTURE(bytes);
    CHECK(::serve::valid_utf8(bytes) == text);
    for (std::size_t cut = 0; cut <= bytes.size(); ++cut) {
      ::serve::Utf8Pieces pieces;
      std::string joined;
      for (const std::string& part : {bytes.substr(0, cut), bytes.substr(cut)}) {
        const std::string piece = pieces.add(part);
        CHECK(::serve::valid_utf8(piece) == piece);
        joined += piece;
      }
      CHECK(joined + pieces.finish() == text);
    }
  }
}

}  // namespace weft::test

#endif
