// Golden kinds: rpe, tno, glu, gtu, tnn_layer. The cases in own/ were computed with tnn-pytorch
// (github.com/Doraemonzzz/tnn-pytorch, in f64); beyond the keys that a case must have they have that package's options
// under its names.
#include "golden.h"
#include "weft/tnn.h"

namespace weft::golden {
namespace {

// A config object that is Refused if it has a key nobody reads.
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

void read_rpe(Keys& keys, RpeOptions& options) {
  const auto act = keys.get<std::string>("act");
  if (act != "relu" && act != "silu") throw Refused("act \"" + act + "\": expected relu or silu");
  options.act = activation_from_name(act);
  options.layers = keys.size("layers");
  options.residual = keys.get<bool>("residual");
  options.norm_type = norm_type_from_name(keys.get<std::string>("norm_type", "layernorm"));
  options.bias = keys.get<bool>("bias", true);
}

void read_tno(Keys& keys, TnoOptions& options) {
  read_rpe(keys, options.rpe);
  options.rpe.dim = keys.size("rpe_dim");
  options.causal = keys.get<bool>("causal");
  options.use_decay = keys.get<bool>("use_decay");
  options.use_multi_decay = keys.get<bool>("use_multi_decay", false);
  options.gamma = keys.get<double>("gamma");
  options.par_type = keys.size("par_type");
  options.act_type = activation_from_name(keys.get<std::string>("act_type", "none"));
  options.normalize = keys.get<bool>("normalize", false);
}

// Gives embed_dim.
std::int64_t read_gtu(const nlohmann::json& object, GtuOptions& options) {
  Keys keys(object);
  options.num_heads = keys.size("num_heads");
  options.act_fun = keys.act("act_fun");
  options.expand_ratio = keys.get<double>("expand_ratio");
  options.use_norm = keys.get<bool>("use_norm", false);
  const auto tno = keys.get<nlohmann::json>("tno");
  Keys tno_keys(tno);
  read_tno(tno_keys, options.tno);
  tno_keys.finish();
  options.norm_type = options.tno.rpe.norm_type;  // the cases have one norm and one bias for a whole layer
  options.bias = options.tno.rpe.bias;
  const std::int64_t embed_dim = keys.size("embed_dim");
  keys.finish();
  return embed_dim;
}

// Module with the case's parameters, applied to in.x.
template <class Module>
Tensor apply(Case& c, const Module& module) {
  NamedParameters parameters;
  module.collect("", parameters);
  c.load(parameters);
  return module(c.input("x"));
}

const Kind rpe_kind{"rpe", [](Case& c) {
                      Keys keys(c.config_object());
                      RpeOptions options;
                      read_rpe(keys, options);
                      options.dim = keys.size("dim");
                      const std::int64_t outdim = keys.size("outdim");
                      keys.finish();
                      return apply(c, Rpe(outdim, options, {Random(0), c.dtype()}));
                    }};

const Kind tno_kind{"tno", [](Case& c) {
                      Keys keys(c.config_object());
                      TnoOptions options;
                      read_tno(keys, options);
                      const std::int64_t h = keys.size("h"), dim = keys.size("dim");
                      keys.finish();
                      return apply(c, Tno(h, dim, options, {Random(0), c.dtype()}));
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
                      GtuOptions options;
                      const std::int64_t embed_dim = read_gtu(c.config_object(), options);
                      return apply(c, Gtu(embed_dim, options, {Random(0), c.dtype()}));
                    }};

const Kind layer_kind{"tnn_layer", [](Case& c) {
                        Keys keys(c.config_object());
                        TnnLayerOptions options;
                        const std::int64_t dim = keys.size("dim");
                        options.glu_dim = keys.size("glu_dim");
                        options.glu_act = keys.act("glu_act");
                        options.prenorm = keys.get<bool>("prenorm", true);
                        const auto gtu = keys.get<nlohmann::json>("gtu");
                        keys.finish();
                        if (read_gtu(gtu, options.gtu) != dim) throw Refused("embed_dim of \"gtu\" is not dim");
                        options.norm_type = options.gtu.norm_type;
                        options.bias = options.gtu.bias;
                        return apply(c, TnnLayer(dim, options, {Random(0), c.dtype()}));
                      }};

}  // namespace
}  // namespace weft::golden
