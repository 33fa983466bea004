// Golden kinds: rpe, tno, glu, gtu, tnn_layer. The cases in own/ were computed with tnn-pytorch in f64
// (github.com/Doraemonzzz/tnn-pytorch). In addition to the required keys, they have that package's options under its
// names.
#include "golden.h"
#include "weft/tnn.h"

namespace weft::golden {
namespace {

// A config object. If no code reads one of its keys, Refused is thrown.
class Keys {
 public:
  explicit Keys(const nlohmann::json& object) : object_(object) {
    if (!object.is_object()) throw Refused("config is not an object: " + object.dump());
  }

  template <class T>
  T get(const std::string& key) {
    if (!object_.contains(key)) throw Refused("config has no key \"" + key + "\"");
    return get<T>(key, T());
  }
  template <class T>
  T get(const std::string& key, const T& fallback) {
    read_.insert(key);
    if (!object_.contains(key)) return fallback;
    try {
      return object_.at(key).get<T>();
    } catch (const nlohmann::json::exception&) {
      throw Refused("config key \"" + key + "\" has a value of the wrong type: " + object_.at(key).dump());
    }
  }
  std::int64_t size(const std::string& key) {
    const auto value = get<nlohmann::json>(key);
    if (!value.is_number_integer()) throw Refused("config key \"" + key + "\" is no whole number: " + value.dump());
    return value.get<std::int64_t>();
  }
  Activation act(const std::string& key) { return activation_from_name(get<std::string>(key)); }
  void finish() const {
    for (const auto& [key, value] : object_.items())
      if (!read_.count(key)) throw Refused("unknown config key \"" + key + "\"");
  }

 private:
  const nlohmann::json& object_;
  std::set<std::string> read_;
};

void read_rpe(Keys& keys, TnnConfig& options) {
  options.rpe_act = keys.get<std::string>("act");
  if (options.rpe_act != "relu" && options.rpe_act != "silu")
    throw Refused("act \"" + options.rpe_act + "\": expected relu or silu");
  options.rpe_layers = keys.size("layers");
  options.rpe_residual = keys.get<bool>("residual");
  options.norm_type = keys.get<std::string>("norm_type", "layernorm");
  options.bias = keys.get<bool>("bias", true);
}

// Returns whether the case is causal.
bool read_tno(Keys& keys, TnnConfig& options) {
  read_rpe(keys, options);
  options.rpe_dim = keys.size("rpe_dim");
  options.use_decay = keys.get<bool>("use_decay");
  options.use_multi_decay = keys.get<bool>("use_multi_decay", false);
  options.gamma = keys.get<double>("gamma");
  options.par_type = keys.size("par_type");
  options.act_type = keys.get<std::string>("act_type", "none");
  options.normalize = keys.get<bool>("normalize", false);
  return keys.get<bool>("causal");
}

// Returns whether the case is causal. A case has one kind of norm and one bias setting for the whole layer.
bool read_gtu(const nlohmann::json& object, std::int64_t& embed_dim, TnnConfig& options) {
  Keys keys(object);
  options.heads = keys.size("num_heads");
  options.act = keys.get<std::string>("act_fun");
  options.expand_ratio = keys.get<double>("expand_ratio");
  options.use_norm = keys.get<bool>("use_norm", false);
  const auto tno = keys.get<nlohmann::json>("tno");
  Keys tno_keys(tno);
  const bool causal = read_tno(tno_keys, options);
  tno_keys.finish();
  embed_dim = keys.size("embed_dim");
  keys.finish();
  return causal;
}

// Applies a Module with the case's parameters to in.x.
template <class Module>
Tensor apply(Case& c, const Module& module) {
  c.load(parameters_of(module));
  return module(c.input("x"));
}

const Kind rpe_kind{"rpe", [](Case& c) {
                      Keys keys(c.config_object());
                      TnnConfig options;
                      read_rpe(keys, options);
                      options.rpe_dim = keys.size("dim");
                      const std::int64_t outdim = keys.size("outdim");
                      keys.finish();
                      return apply(c, Rpe(outdim, options, {Random(0), c.dtype()}));
                    }};

const Kind tno_kind{"tno", [](Case& c) {
                      Keys keys(c.config_object());
                      TnnConfig options;
                      const bool causal = read_tno(keys, options);
                      const std::int64_t h = keys.size("h"), dim = keys.size("dim");
                      keys.finish();
                      return apply(c, Tno(h, dim, options, causal, {Random(0), c.dtype()}));
                    }};

const Kind glu_kind{"glu", [](Case& c) {
                      Keys keys(c.config_object());
                      const std::int64_t d1 = keys.size("d1"), d2 = keys.size("d2");
                      const Activation act_fun = keys.act("act_fun"), fina_act = keys.act("fina_act");
                      const bool bias = keys.get<bool>("bias", true);
                      keys.finish();
                      return apply(c, Glu(d1, d2, act_fun, {Random(0), c.dtype()}, bias, fina_act));
                    }};

const Kind gtu_kind{"gtu", [](Case& c) {
                      TnnConfig options;
                      std::int64_t embed_dim = 0;
                      const bool causal = read_gtu(c.config_object(), embed_dim, options);
                      return apply(c, Gtu(embed_dim, options, causal, {Random(0), c.dtype()}));
                    }};

const Kind layer_kind{"tnn_layer", [](Case& c) {
                        Keys keys(c.config_object());
                        TnnConfig options;
                        const std::int64_t dim = keys.size("dim");
                        options.glu_dim = keys.size("glu_dim");
                        options.glu_act = keys.get<std::string>("glu_act");
                        options.prenorm = keys.get<bool>("prenorm", true);
                        const auto gtu = keys.get<nlohmann::json>("gtu");
                        keys.finish();
                        std::int64_t embed_dim = 0;
                        const bool causal = read_gtu(gtu, embed_dim, options);
                        if (embed_dim != dim) throw Refused("embed_dim of \"gtu\" is not dim");
                        return apply(c, TnnLayer(dim, options, causal, {Random(0), c.dtype()}));
                      }};

}  // namespace
}  // namespace weft::golden
