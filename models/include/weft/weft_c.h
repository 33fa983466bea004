/// \file
/// The interface for C (C99 or newer), and for every language that can call C. With this interface, a program can train
/// and load models, describe a model, run a model on tokens, classify texts, and continue texts. This interface is part
/// of the same library as the C++ interface.
///
/// - A function that can fail returns a weft_status. If this is not WEFT_OK, weft_last_error() says what the function
///   expected and what it got. No exception crosses this interface.
/// - A call that fails leaves its outputs unchanged, except counts. It also leaves models and streams unchanged. Two
///   functions may do a part of their work before they fail. weft_generate has then already passed symbols to its
///   callback, and the count says how many. weft_train may already have written files to its folder.
/// - A null pointer where a pointer is required, an invalid size or a buffer that is too small causes an error status,
///   never a crash. But no function can detect that a buffer is smaller than its `capacity` says.
/// - A function that writes to the caller's buffer takes a `capacity`, in elements, and a `count` (which may be NULL).
///   It sets the count to the number of elements needed, even if it returns WEFT_BUFFER_TOO_SMALL. To query only this
///   number, pass NULL and 0.
/// - Texts are UTF-8. A single `const char*` is a text that ends with a zero byte. Other texts come with their size in
///   bytes.
/// - Several threads may use a weft_model at the same time, except in weft_set_precision and weft_model_free. Only one
///   thread may use a weft_stream at a time, but several streams of one model may run at the same time. Any thread may
///   call every other function.
/// - The binary interface may change before version 1.0. The file tests/symbols/c_abi.txt records the current one.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "weft/version.h"
#include "weft/visibility.h"

WEFT_PUBLIC_BEGIN
#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call.
typedef enum weft_status {
  WEFT_OK = 0,                ///< success
  WEFT_INVALID_ARGUMENT = 1,  ///< a null pointer, or an invalid size or value
  WEFT_BUFFER_TOO_SMALL = 2,  ///< the caller's buffer is too small; `count` is the number of elements needed
  WEFT_FAILED = 3,            ///< a bad file, model, text or token, or not enough memory
  WEFT_CALLBACK_FAILED = 4    ///< a callback threw a C++ exception, which weft_last_error() quotes
} weft_status;

/// Returns "ok", "invalid argument", …, or "unknown status" for other values. The text stays valid.
const char* weft_status_name(weft_status status);

/// Returns the message of the last call in this thread that failed, or "" if none has. The library owns the text, which
/// stays valid until the next call in this thread that fails.
const char* weft_last_error(void);

/// Returns the library's version, such as "0.3.0". WEFT_VERSION is the version of the headers. The text stays valid.
const char* weft_version(void);

/// Sets the number of threads that the library's loops use in the whole process to `count`, 1 … 1024.
weft_status weft_set_default_threads(int count);
/// Sets the number of threads for all later calls from the current thread.
weft_status weft_set_threads(int count);
/// Returns the number of threads that the library's loops use in calls from the current thread; 0 if memory runs out.
int weft_threads(void);

/// A loaded model with its tokenizer.
typedef struct weft_model weft_model;

/// Loads the checkpoint in a folder, or the best checkpoint of the run in a folder, for inference. The weights stay in
/// the mapped file. While the model exists, other programs may replace or remove this file. They must not truncate the
/// file or write to it in place, because SIGBUS may then end the process. weft_load_options::copy removes this
/// restriction.
weft_status weft_load(const char* folder, weft_model** model);

/// Options for loading a model. Initialize them with WEFT_LOAD_OPTIONS_INIT, which sets every field to its default.
typedef struct weft_load_options {
  size_t struct_size;  ///< sizeof(weft_load_options)
  /// Default 0. If not 0, the weights are read into memory, so later changes of the file have no effect.
  int copy;
} weft_load_options;

/// The default options: weft_load_options options = WEFT_LOAD_OPTIONS_INIT;
#define WEFT_LOAD_OPTIONS_INIT \
  { sizeof(weft_load_options), 0 }

/// Like weft_load, but with options. If `options` is NULL, the defaults apply.
weft_status weft_load_with(const char* folder, const weft_load_options* options, weft_model** model);
/// Loads a model from the bytes of a checkpoint's model.safetensors. The function copies the bytes.
weft_status weft_load_memory(const void* bytes, size_t size, weft_model** model);
/// Frees the model. Its streams stay valid. NULL is a no-op.
void weft_model_free(weft_model* model);

/// Sets the precision of the computation: "f32", or "bf16" with products summed in f32. A loaded model uses "f32", or
/// "bf16" if its weights are quantized. No other thread may use the model during the call.
weft_status weft_set_precision(weft_model* model, const char* precision);

/// The description of a model. The model owns the texts.
typedef struct weft_info {
  size_t struct_size;        ///< set by the caller: sizeof(weft_info)
  const char* architecture;  ///< "gmlp", "tnn", "fnet", …
  const char* tokenizer;     ///< "characters", "words", …
  const char* config;        ///< the architecture's own fields, a JSON object
  const char* task;          ///< "causal-lm", "masked-lm", "classifier", …
  const char* precision;     ///< the precision of the computation: "f32" or "bf16"
  const char* stored;        ///< the format of its matrices: "f32", "bf16", "int8" or "int4"
  int64_t vocabulary;        ///< tokens are 0 … vocabulary - 1
  int64_t outputs;           ///< number of logits: symbols of the vocabulary, or classes
  int64_t labels;            ///< number of names of outputs, see weft_label; 0 for language models
  int64_t max_length;        ///< the maximum length of a sequence, in tokens; 0: no limit
  int64_t trained_length;    ///< the length of training sequences, or their maximum length, in tokens; 0: unknown
  int64_t pad_to;      ///< the length to which rows of texts are padded, for example by weft_classify; 0: no padding
  int64_t parameters;  ///< number of elements in all parameters
  int64_t steps;       ///< number of training steps
  double validation_loss;  ///< the validation loss after these steps, in nats; NaN if unknown
} weft_info;

/// Fills the struct that `info` points to. Set struct_size before the call.
weft_status weft_model_info(const weft_model* model, weft_info* info);
/// Stores the name of output `index`, 0 … labels - 1, in the variable that `name` points to. The model owns the text.
weft_status weft_label(const weft_model* model, int64_t index, const char** name);

/// Runs the model on `rows` sequences of `length` tokens each, stored one after the other in `tokens`. For a language
/// model or a tagger, the result is `outputs` logits for each token of each row. For a classifier, a regression or
/// another task with outputs for each row, the result is `outputs` numbers for each row. For these tasks, a gMLP or a
/// TNN treats tokens with the id 0 as padding and ignores them.
weft_status weft_run(const weft_model* model, const int64_t* tokens, int64_t rows, int64_t length, float* logits,
                     size_t capacity, size_t* count);

/// Converts a text of `size` bytes to tokens.
weft_status weft_encode(const weft_model* model, const char* text, size_t size, int64_t* tokens, size_t capacity,
                        size_t* count);
/// Converts tokens to a text that ends with a zero byte. `capacity` and the count are in bytes and include this zero
/// byte.
weft_status weft_decode(const weft_model* model, const int64_t* tokens, size_t tokens_count, char* text,
                        size_t capacity, size_t* count);

/// Computes the probability of each label for each text. The result has `outputs` numbers for each text, one text after
/// the other. The probabilities of a text have the same bits whatever other texts are in the call. The model must be a
/// classifier.
weft_status weft_classify(const weft_model* model, const char* const* texts, size_t texts_count, double* probabilities,
                          size_t capacity, size_t* count);

/// weft_train calls this after each step. If it returns anything except 0, the run saves and stops.
typedef int (*weft_progress_callback)(void* user, int64_t step, int64_t steps, double loss);

/// What weft_train makes and how it trains. Initialize it with WEFT_TRAIN_OPTIONS_INIT, which sets every field to its
/// default.
typedef struct weft_train_options {
  size_t struct_size;     ///< sizeof(weft_train_options)
  const char* arch;       ///< "tnn" (the default), "gmlp" or "fnet"
  const char* task;       ///< "classifier" (the default), "regression", "multilabel", "tagging", "retrieval"
  const char* config;     ///< the options of the architecture, a JSON object; NULL: the defaults
  const char* tokenizer;  ///< "words", "characters", "bytes", …; NULL: "words", or "whitespace" for tagging
  int64_t length;  ///< maximum length of a sequence, in tokens; 0 (the default): the architecture's maximum, or 64
  int64_t batch;   ///< number of rows in a step; default 32
  /// The length of the run, in steps. 0 (the default): the run has 5 epochs, but at least 1000 steps unless these are
  /// more than 100 epochs, and at most 20,000 steps unless one epoch is longer.
  int64_t steps;
  double learning_rate;  ///< the highest learning rate; default 1e-3
  /// The fraction of the rows that becomes the validation set, which selects the best checkpoint; default 0.1.
  double validation;
  uint64_t seed;                    ///< seed of the parameters, the batches and the split of the rows; default 1
  int overwrite;                    ///< default 0; if not 0, the new run replaces the run in the folder
  weft_progress_callback progress;  ///< default NULL
  void* user;                       ///< passed to `progress`
} weft_train_options;

/// The default options: weft_train_options options = WEFT_TRAIN_OPTIONS_INIT;
#define WEFT_TRAIN_OPTIONS_INIT \
  { sizeof(weft_train_options), "tnn", "classifier", NULL, NULL, 0, 32, 0, 1e-3, 0.1, 1, 0, NULL, NULL }

/// Trains a model on `rows` texts with a label each. The function saves the run in a folder. You can pass this folder
/// to weft_load and to the `weft` command. For classification, a label is the name of a class. For regression, it is
/// one or more numbers, separated by blanks. For multilabel, it is names separated by "|". For tagging, it is tags
/// separated by blanks. For retrieval, it is the text that belongs to the row's text.
weft_status weft_train(const char* const* texts, const char* const* labels, size_t rows,
                       const weft_train_options* options, const char* folder);

/// A text that grows token by token. Only causal language models have streams.
typedef struct weft_stream weft_stream;

/// Makes a new, empty text. The stream shares the model, so you may free the model first. A stream can't continue after
/// a call of weft_set_precision.
weft_status weft_stream_new(const weft_model* model, weft_stream** stream);
/// Makes a separate text that continues from the current state of `stream`.
weft_status weft_stream_copy(const weft_stream* stream, weft_stream** copy);
/// Appends `tokens_count` >= 1 tokens. Many tokens in one call cost one forward pass. The result is `vocabulary` logits
/// for the next token. If you don't need the logits, pass NULL with a capacity of 0. If the buffer is too small,
/// nothing is appended.
weft_status weft_stream_append(weft_stream* stream, const int64_t* tokens, size_t tokens_count, float* logits,
                               size_t capacity, size_t* count);
/// Frees the stream. NULL is a no-op.
void weft_stream_free(weft_stream* stream);

/// How weft_generate continues a text. Initialize it with WEFT_GENERATE_OPTIONS_INIT, which sets every field to its
/// default.
typedef struct weft_generate_options {
  size_t struct_size;  ///< sizeof(weft_generate_options)
  int64_t tokens;      ///< maximum number of symbols; default 200
  double temperature;  ///< divides the logits; 0: always the most likely symbol; default 1
  int64_t top_k;       ///< samples from the k most probable symbols; 0: from all; default 0
  /// Among the symbols that top_k allows, samples from the most probable ones whose probabilities add up to top_p;
  /// default 1.
  double top_p;
  uint64_t seed;            ///< the same model, prompt, options and seed give the same text; default 1
  const char* const* stop;  ///< generation ends before the first occurrence of one of these texts; default NULL
  size_t stop_count;        ///< number of texts in `stop`; default 0
  /// If not 0, guesses the next symbols from repetitions in the text, and checks several guesses in one reading of the
  /// weights. The text is the same, bit for bit. Default 0. The struct of weft 0.2 lacks this field.
  int speculate;
} weft_generate_options;

/// The default options: weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
#define WEFT_GENERATE_OPTIONS_INIT \
  { sizeof(weft_generate_options), 200, 1.0, 0, 1.0, 1, NULL, 0, 0 }

/// Receives the text of a new symbol: `size` bytes followed by a zero byte, valid only during the call. The text may be
/// empty. With the tokenizer "bytes", for example, the text may be only a part of a character. Return 0 to continue, or
/// any other value to end the text here. The callback may call weft, but it must return normally: it must not call
/// longjmp or end its thread. A C++ exception also ends the text.
typedef int (*weft_text_callback)(void* user, const char* text, size_t size);

/// Continues `prompt`. The output does not repeat the prompt. Generation ends after the maximum number of symbols
/// (`options->tokens`; if `options` is NULL, the defaults apply), before a stop text, or when the callback returns a
/// value other than 0. None of these is a failure. The count is set to the number of new symbols, even after a failure;
/// `count` may be NULL. The calling thread calls `callback`, and passes `user` to it. The model must be a causal
/// language model.
weft_status weft_generate(const weft_model* model, const char* prompt, const weft_generate_options* options,
                          weft_text_callback callback, void* user, int64_t* count);

/// A text that grows by one symbol per call, for programs that can't wait inside a call. Only one thread may use a
/// weft_generation at a time.
typedef struct weft_generation weft_generation;

/// Reads the prompt. The generation then has the text of weft_generate with the same arguments, bit for bit. It shares
/// the model, so you may free the model first. If `options` is NULL, the defaults apply. The model must be a causal
/// language model.
weft_status weft_generation_new(const weft_model* model, const char* prompt, const weft_generate_options* options,
                                weft_generation** generation);
/// Stores the text of the next symbol and its size in bytes in the variables that `text` and `size` point to. `size`
/// may be NULL. The text ends with a zero byte and may be empty; see weft_text_callback. At the end, the text is NULL
/// and the size is 0. The generation owns the text, which stays valid until the next call.
weft_status weft_generation_next(weft_generation* generation, const char** text, size_t* size);
/// Frees the generation. NULL is a no-op.
void weft_generation_free(weft_generation* generation);

#ifdef __cplusplus
}
#endif
WEFT_PUBLIC_END
