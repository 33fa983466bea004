// Tests of FNet's token types, and of heads other than the task's own.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "op_table.h"
#include "random_parameters.h"
#include "temporary_folder.h"
#include "train_support.h"
#include "weft/checkpoint.h"
#include "weft/fnet.h"

namespace weft::test {
namespace {

constexpr std::int64_t symbol_count = 9, sep = 5;

FnetConfig small(const std::string& head = "task", bool tied = true, std::int64_t separator = -1) {
  FnetConfig config;
  config.d_model = 6;
  config.d_ffn = 10;
  config.seq_len = 8;
  config.types = 3;
  config.eps = 1e-5;
  config.head = head;
  config.tied = tied;
  config.separator = separator;
  return config;
}

std::unique_ptr<Model> made(Task task, const FnetConfig& config, std::int64_t classes = 0) {
  auto model = make_model(model_spec(config, task, symbol_count, classes), init64);
  randomize(model->parameters());
  return model;
}

const Fnet& fnet(const std::unique_ptr<Model>& model) { return dynamic_cast<const Fnet&>(*model); }

bool has(const Model& model, const std::string& name) {
  const NamedParameters all = model.parameters();
  return std::any_of(all.begin(), all.end(), [&](const auto& named) { return named.first == name; });
}

const Tensor pair_of_texts = Tensor::from<std::int64_t>({1,   2,   sep, 4,   7, sep, 0, 0,   // two texts, padded
                                                         1,   2,   3,   sep, 4, 0,   0, 0,   // one
                                                         sep, sep, sep, 4,   7, 2,   0, 0,   // the first is empty
                                                         1,   2,   3,   4,   6, 7,   8, 0},  // none
                                                        {4, 8});
const Tensor their_types = Tensor::from<std::int64_t>({0, 0, 0, 1, 1, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,  //
                                                       0, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
                                                      {4, 8});

}  // namespace

TEST_CASE("FNet: token types, given or derived from the separator") {
  const auto plain = made(Task::masked_lm, small()), typed = made(Task::masked_lm, small("task", true, sep));
  const Tensor zeros = Tensor::zeros({4, 8}, DType::i64);
  CHECK(max_difference((*plain)(pair_of_texts), fnet(plain).run(pair_of_texts, zeros).words) == 0);
  CHECK(max_difference((*plain)(pair_of_texts), fnet(plain).run(pair_of_texts).words) == 0);
  CHECK(max_difference((*typed)(pair_of_texts), fnet(plain).run(pair_of_texts, their_types).words) == 0);
  CHECK(max_difference((*typed)(pair_of_texts), (*plain)(pair_of_texts)) > 1e-3);
  CHECK(max_difference(fnet(typed).run(pair_of_texts, zeros).words, (*plain)(pair_of_texts)) == 0);
  CHECK_THROWS_AS((void)fnet(plain).run(pair_of_texts, Tensor::full({4, 8}, 3, DType::i64)), Error);
  CHECK_THROWS_AS((void)(*typed)(Tensor::zeros({1, 9}, DType::i64)), Error);
  CHECK_THROWS_AS((void)(*typed)(Tensor::zeros({3}, DType::i64)), Error);
  const Function f = [&](const std::vector<Tensor>& in) { return (*typed)(in[0]); };
  CHECK(gradient_error(f, {pair_of_texts}, typed->parameters()) <= 1e-6);
}

TEST_CASE("FNet: the heads of pre-training equal compositions of operations") {
  const auto model = made(Task::masked_lm, small("next-sentence"));
  const FnetOutputs all = fnet(model).run(pair_of_texts, their_types);
  CHECK(all.hidden.shape() == Shape{4, 8, 6});
  CHECK(max_difference(all.hidden, fnet(model).encoder()(pair_of_texts, their_types)) == 0);
  const Tensor first = reshape(slice(all.hidden, 1, 0, 1), {4, 6});
  const Tensor pooled = activation(
      linear(first, value_of(*model, "pooler.dense.weight"), value_of(*model, "pooler.dense.bias")), Activation::tanh);
  CHECK(max_difference(all.pooled, pooled) < 1e-12);
  CHECK(max_difference(all.classes, linear(pooled, value_of(*model, "next_sentence.weight"),
                                           value_of(*model, "next_sentence.bias"))) < 1e-12);
  CHECK(all.classes.shape() == Shape{4, 2});
  CHECK(all.words.shape() == Shape{4, 8, symbol_count});
  const Function both = [&](const std::vector<Tensor>& in) {
    const FnetOutputs out = fnet(model).run(in[0], their_types);
    return concat({reshape(out.words, {-1}), reshape(out.classes, {-1})}, 0);
  };
  CHECK(gradient_error(both, {pair_of_texts}, model->parameters()) <= 1e-6);
  // A pooler in addition to the masked language model's head doesn't change that head.
  const auto with_pooler = made(Task::masked_lm, small("pooler"));
  const FnetOutputs two = fnet(with_pooler).run(pair_of_texts);
  CHECK(two.pooled.defined());
  CHECK_FALSE(two.classes.defined());
  CHECK(max_difference(two.words, (*with_pooler)(pair_of_texts)) == 0);
  const auto alone = made(Task::masked_lm, small());
  CHECK_FALSE(fnet(alone).run(pair_of_texts).pooled.defined());
  CHECK_FALSE(has(*alone, "pooler.dense.weight"));
}

TEST_CASE("FNet: classifiers of the next sentence, and models with only a pooler") {
  const auto next = made(Task::classifier, small("next-sentence"), 2);
  const FnetOutputs all = fnet(next).run(pair_of_texts);
  CHECK(max_difference(all.classes, (*next)(pair_of_texts)) == 0);
  CHECK_FALSE(all.words.defined());
  CHECK_FALSE(next->gives_features());
  const auto pooler = made(Task::classifier, small("pooler"), 6);
  CHECK(pooler->gives_features());
  CHECK(pooler->outputs() == 6);
  CHECK_FALSE(has(*pooler, "classifier.weight"));
  CHECK(max_difference(fnet(pooler).run(pair_of_texts).pooled, (*pooler)(pair_of_texts)) == 0);
  CHECK_THROWS_WITH(made(Task::classifier, small("next-sentence"), 3),
                    "[fnet] expected 2 classes, as many as a next-sentence head has, got 3");
  CHECK_THROWS_WITH(made(Task::classifier, small("pooler"), 3),
                    "[fnet] expected 6 classes, as many as the channels of the pooler, got 3");
  CHECK_THROWS_WITH(made(Task::masked_lm, small("both")),
                    "[fnet head] expected one of task, pooler, next-sentence, last, mean, got \"both\"");
  CHECK_THROWS_AS(made(Task::masked_lm, small("task", true, -2)), Error);
  FnetConfig one_type = small("task", true, sep);
  one_type.types = 1;
  CHECK_THROWS_WITH(made(Task::masked_lm, one_type), "[fnet] a separator needs 2 token types, got 1");
}

TEST_CASE("FNet: a separate decoder") {
  const auto model = made(Task::masked_lm, small("task", false));
  const auto tied = made(Task::masked_lm, small());
  CHECK(value_of(*model, "head.decoder.weight").shape() == Shape{symbol_count, 6});
  CHECK_FALSE(has(*model, "head.decoder.bias"));
  CHECK(parameter_count(model->parameters()) == parameter_count(tied->parameters()) + symbol_count * 6);
  const Tensor& word = value_of(*model, "encoder.embeddings.word.weight");
  CHECK(max_difference(word, value_of(*model, "head.decoder.weight")) > 1e-3);
  for (auto [name, parameter] : model->parameters())
    if (name == "head.decoder.weight") parameter.assign(word);
  for (auto [name, parameter] : tied->parameters()) parameter.assign(value_of(*model, name));
  CHECK(max_difference((*model)(pair_of_texts), (*tied)(pair_of_texts)) < 1e-12);
  const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
  CHECK(gradient_error(f, {pair_of_texts}, model->parameters()) <= 1e-6);
}

TEST_CASE("FNet: a classifier that reads [CLS] needs a layer") {
  FnetConfig config;
  config.layers = 0;
  CHECK_THROWS_WITH_AS(made(Task::classifier, config, 3), doctest::Contains("sees only the first token"), Error);
  config.head = "mean";
  CHECK_NOTHROW(made(Task::classifier, config, 3));
}

TEST_CASE("FNet: sinusoidal embeddings and a classifier of the last token equal compositions of operations") {
  FnetConfig config = small("last");
  config.embeddings = "sinusoidal";
  config.layers = 0;
  config.norm = "pre";
  const auto model = made(Task::classifier, config, 3);
  const auto own = [&](const char* name) { return value_of(*model, name); };
  // P[p] = sin(p / 10000^(2i/6)), cos(…)
  std::vector<double> places;
  for (int p = 0; p < 8; ++p)
    for (int i = 0; i < 3; ++i)
      for (const bool even : {true, false}) {
        const double angle = p / std::pow(10000.0, 2 * i / 6.0);
        places.push_back(even ? std::sin(angle) : std::cos(angle));
      }
  const Tensor positions = Tensor::from(places, {8, 6}), ids = pair_of_texts;
  const Tensor x = add(scale(embedding(ids, own("encoder.embeddings.word.weight")), std::sqrt(6.0)), positions);
  CHECK(max_difference(fnet(model).encoder().embeddings(ids), x) < 1e-12);
  CHECK(max_difference(fnet(model).encoder().embeddings(slice(ids, 1, 0, 3)), slice(x, 1, 0, 3)) < 1e-12);
  const Tensor hidden = layer_norm(x, 1, own("encoder.norm.weight"), own("encoder.norm.bias"), config.eps);
  const Tensor last = reshape(slice(hidden, 1, 7, 8), {4, 6});
  const Tensor want = linear(last, own("classifier.weight"), own("classifier.bias"));
  CHECK(max_difference((*model)(ids), want) < 1e-12);
  const FnetOutputs all = fnet(model).run(ids);
  CHECK(max_difference(all.classes, want) < 1e-12);
  CHECK_FALSE(all.pooled.defined());
  CHECK(model->parameters().size() == 5);  // the word embedding, norm and classifier
  CHECK_FALSE(model->gives_features());
}

TEST_CASE("FNet embeddings: initial words have deviation 0.02, or 1 / √d_model before sinusoidal positions") {
  for (const auto kind : {FnetEmbeddingsKind::bert, FnetEmbeddingsKind::sinusoidal}) {
    const FnetEmbeddings embeddings(1000, 8, 2, 64, init64, 1e-5, kind);
    const double squares = sum(square(embeddings.word.weight), {0, 1}).item();
    CHECK(std::sqrt(squares / 64000) == doctest::Approx(kind == FnetEmbeddingsKind::bert ? 0.02 : 0.125).epsilon(0.02));
  }
}

TEST_CASE("FNet: sinusoidal embeddings and a classifier of the last token: gradients, configs, errors") {
  FnetConfig config = small("last");
  config.embeddings = "sinusoidal";
  const auto model = made(Task::classifier, config, 3);
  const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
  CHECK(gradient_error(f, {slice(pair_of_texts, 1, 0, 3)}, model->parameters()) <= 1e-6);
  CHECK(model->config().find(R"("head":"last","embeddings":"sinusoidal"})") != std::string::npos);
  CHECK(model->config_for(Task::classifier) == model->config());
  CHECK(model->config_for(Task::masked_lm).find("head") == std::string::npos);
  CHECK(model->config_for(Task::masked_lm).find("sinusoidal") != std::string::npos);
  CHECK_THROWS_WITH(made(Task::masked_lm, config),
                    "[fnet] the head \"last\" is only for tasks with one output per row");
  CHECK_THROWS_WITH(fnet(model).run(pair_of_texts, their_types),
                    "[fnet] only embeddings of the kind bert support token types");
  CHECK_THROWS_WITH((*model)(Tensor::zeros({1, 9}, DType::i64)), "[fnet] expected sequences of 1 to 8 tokens, got 9");
  config.separator = sep;
  CHECK_THROWS_WITH(made(Task::classifier, config, 3),
                    "[fnet] a separator needs 2 token types, got sinusoidal embeddings, which have none");
  config.separator = -1;
  config.embeddings = "learned";
  CHECK_THROWS_WITH(made(Task::classifier, config, 3),
                    "[fnet embeddings] expected one of bert, sinusoidal, plain, got \"learned\"");
}

TEST_CASE("FNet: a config without the new fields is written as before") {
  const auto before = made(Task::masked_lm, small());
  CHECK(
      before->config() ==
      R"({"d_model":6,"d_ffn":10,"layers":2,"seq_len":8,"types":3,"norm":"post","activation":"gelu_tanh","eps":1e-05,)"
      R"("dropout":0.0})");
  const auto more = made(Task::masked_lm, small("next-sentence", false, sep));
  CHECK(doctest::String(more->config().c_str()) ==
        doctest::Contains(R"("head":"next-sentence","tied":false,"separator":5})"));
  CHECK(more->config_for(Task::masked_lm).find("head") == std::string::npos);
  CHECK(more->config_for(Task::masked_lm).find(R"("tied":false,"separator":5})") != std::string::npos);
  CHECK(more->config_for(Task::classifier).find("tied") == std::string::npos);
  CHECK(more->config_for(Task::classifier).find(R"("separator":5)") != std::string::npos);
}

TEST_CASE("FNet: models with more heads are saved, loaded for either purpose, and trained further") {
  const TemporaryFolder folder;
  const auto tokenizer = tokenizer_from_json(R"({"unit":"ids","size":9,"pad":3})");
  const Init init{Random(5)};
  for (const bool classifies : {false, true})
    for (const std::string head : {"pooler", "next-sentence"}) {
      CAPTURE(head);
      const Task task = classifies ? Task::classifier : Task::masked_lm;
      const std::int64_t classes = !classifies ? 0 : head == "pooler" ? 6 : 2;
      const auto model = make_model(model_spec(small(head, classifies, sep), task, symbol_count, classes), init);
      randomize(model->parameters());
      save_checkpoint(folder / "saved", *model, *tokenizer);
      for (const Purpose purpose : {Purpose::training, Purpose::inference}) {
        const Checkpoint loaded = load_checkpoint(folder / "saved", purpose);
        CHECK(max_difference((*loaded.model)(pair_of_texts), (*model)(pair_of_texts)) < 1e-5);
        CHECK(loaded.model->config() == model->config());
      }
      const auto next =
          make_model({"fnet", Task::classifier, symbol_count, 4, model->config_for(Task::classifier)}, init);
      const auto others = copy_parameters(load_checkpoint(folder / "saved"), *next, {"a", "b", "c", "d"});
      CHECK(others == std::vector<std::string>{"classifier.weight", "classifier.bias"});
      CHECK(max_difference(value_of(*next, "pooler.dense.weight"), value_of(*model, "pooler.dense.weight")) == 0);
    }
}

TEST_CASE("FNet: a classifier that reads the mean over tokens") {
  const auto model = made(Task::classifier, small("mean"), 3);
  const Tensor hidden = fnet(model).run(pair_of_texts).hidden;  // (4, 8, 6)
  const auto x = hidden.to_vector<double>();
  const auto ids = pair_of_texts.to_vector<std::int64_t>();
  std::vector<double> means(4 * 6, 0);
  const double counts[] = {6, 5, 6, 7};
  for (std::size_t token = 0; token < ids.size(); ++token)
    for (std::size_t c = 0; c < 6; ++c)
      if (ids[token] != 0) means[token / 8 * 6 + c] += x[token * 6 + c] / counts[token / 8];
  const Tensor want =
      linear(Tensor::from(means, {4, 6}), value_of(*model, "classifier.weight"), value_of(*model, "classifier.bias"));
  CHECK(max_difference((*model)(pair_of_texts), want) < 1e-12);
  const FnetOutputs all = fnet(model).run(pair_of_texts);
  CHECK(max_difference(all.classes, want) < 1e-12);
  CHECK_FALSE(all.pooled.defined());
  CHECK_FALSE(has(*model, "pooler.dense.weight"));
  CHECK_FALSE(model->gives_features());
  const Function f = [&](const std::vector<Tensor>& in) { return (*model)(in[0]); };
  CHECK(gradient_error(f, {slice(pair_of_texts, 0, 0, 2)}, model->parameters()) <= 1e-6);
  CHECK(model->config_for(Task::classifier) == model->config());
  CHECK(model->config_for(Task::masked_lm).find("head") == std::string::npos);
  CHECK_THROWS_WITH(made(Task::masked_lm, small("mean")),
                    "[fnet] the head \"mean\" is only for tasks with one output per row");
}

}  // namespace weft::test
