/// \file
/// The interface for C (C99 or newer) and for every language that can call C. It trains a model, loads a saved
/// one, describes it, runs it on tokens, classifies texts and continues them. It is part of the library, beside the C++ interface.
///
/// - A function that can fail returns a weft_status. Unless this is WEFT_OK, the call did nothing, its outputs are
///   unchanged (except counts), and weft_last_error() says what was expected and what was given. No exception crosses
///   this interface.
/// - A null pointer where one is needed, a size that doesn't fit, or a buffer that is too small gives a status, never a
///   crash. A pointer to less memory than its function requires can't be detected.
/// - A function that writes to the caller's buffer takes a `capacity`, in elements, and a `count` (which may be NULL).
///   It sets the count to the number of elements needed, also with WEFT_BUFFER_TOO_SMALL. To query only this number,
///   pass NULL and 0.
/// - Texts are UTF-8. A text that ends with a zero byte is a single `const char*`; other texts come with their size.
/// - Several threads may use a weft_model at once, except for weft_set_precision and weft_model_free. Only one thread
///   may use a weft_stream at a time; several streams of one model may be used at once. Any thread may call every other
///   function.
/// - The binary interface may change before 1.0; tests/symbols/c_abi.txt records it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "weft/version.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// The result of a call.
typedef enum weft_status {
  WEFT_OK = 0,                ///< it succeeded
  WEFT_INVALID_ARGUMENT = 1,  ///< a null pointer, a size or a value that doesn't fit the call
  WEFT_BUFFER_TOO_SMALL = 2,  ///< the caller's buffer is too small; `count` has the elements it needs
  WEFT_FAILED = 3,            ///< a bad file, model, text or token; or no memory
  WEFT_CALLBACK_FAILED = 4    ///< a callback in C++ threw an exception, which weft_last_error() quotes
} weft_status;

/// "ok", "invalid argument", …; "unknown status" for other values. The text stays valid.
const char* weft_status_name(weft_status status);

/// The message of this thread's last call that failed; "" if none has. It belongs to the library and stays valid until
/// the thread's next weft call that fails.
const char* weft_last_error(void);

/// The library's version, "0.1.0"; WEFT_VERSION is that of the headers. The text stays valid.
const char* weft_version(void);

/// Sets how many threads weft's loops use, for the whole process: 1 … 1024.
weft_status weft_set_default_threads(int count);
/// The same for calls from the current thread, from now on.
weft_status weft_set_threads(int count);
/// How many threads the loops of the calling thread use; 0 if memory runs out.
int weft_threads(void);

/// A loaded model with its tokenizer.
typedef struct weft_model weft_model;

/// Loads a checkpoint's folder, or the best checkpoint of a run's folder, for inference. The weights stay in the file.
/// The file may be replaced or removed meanwhile, but it must not be truncated or written in place: that ends the
/// process by SIGBUS. weft_load_options can avoid this.
weft_status weft_load(const char* folder, weft_model** model);

/// How a model is loaded. Initialize it with WEFT_LOAD_OPTIONS_INIT, so that every field has its default.
typedef struct weft_load_options {
  size_t struct_size;  ///< sizeof(weft_load_options)
  /// Default 0. If not 0, the weights are read into memory, and nothing that happens to the file later matters.
  int copy;
} weft_load_options;

/// The default options: weft_load_options options = WEFT_LOAD_OPTIONS_INIT;
#define WEFT_LOAD_OPTIONS_INIT \
  { sizeof(weft_load_options), 0 }

/// weft_load with options (NULL: the defaults).
weft_status weft_load_with(const char* folder, const weft_load_options* options, weft_model** model);
/// Loads a model from the bytes of a checkpoint's model.safetensors, which are copied.
weft_status weft_load_memory(const void* bytes, size_t size, weft_model** model);
/// Frees the model. Its streams may still exist. NULL is a no-op.
void weft_model_free(weft_model* model);

/// Sets the precision of the computation: "f32", or "bf16" with products added in f32. A loaded model has the precision
/// it was saved for. No other thread may use the model meanwhile.
weft_status weft_set_precision(weft_model* model, const char* precision);

/// The description of a model. Its texts belong to the model.
typedef struct weft_info {
  size_t struct_size;        ///< set by the caller: sizeof(weft_info)
  const char* architecture;  ///< "gmlp", "tnn", "fnet", …
  const char* tokenizer;     ///< "characters", "words", …
  const char* config;        ///< the architecture's own fields, a JSON object
  const char* task;          ///< "causal-lm", "masked-lm", "classifier"
  const char* precision;     ///< the precision of the computation: "f32" or "bf16"
  const char* stored;        ///< the format of its matrices: "f32", "bf16" or "int8"
  int64_t vocabulary;        ///< tokens are 0 … vocabulary - 1
  int64_t outputs;           ///< number of logits: symbols of the vocabulary, or classes
  int64_t labels;            ///< number of class names, see weft_label; 0 for language models
  int64_t max_length;        ///< the longest sequence it takes, in tokens; 0: any
  int64_t trained_length;    ///< of the training sequences; for a classifier the longest; 0: unknown
  int64_t pad_to;            ///< for a classifier: the length that weft_classify pads rows to; 0: no padding
  int64_t parameters;        ///< number of trained values
  int64_t steps;             ///< training steps
  double validation_loss;    ///< in nats, at that step; NaN if unknown
} weft_info;

/// Fills *info. Set struct_size before the call.
weft_status weft_model_info(const weft_model* model, weft_info* info);
/// The name of output `index`, 0 … labels - 1. It belongs to the model.
weft_status weft_label(const weft_model* model, int64_t index, const char** name);

/// Runs the model. tokens: `rows` sequences of `length` tokens each, one after the other. The logits are `outputs`
/// numbers for each token of each row (language models), or for each row (classifiers, where token 0 is padding).
weft_status weft_run(const weft_model* model, const int64_t* tokens, int64_t rows, int64_t length, float* logits,
                     size_t capacity, size_t* count);

/// The tokens of a text of `size` bytes.
weft_status weft_encode(const weft_model* model, const char* text, size_t size, int64_t* tokens, size_t capacity,
                        size_t* count);
/// The text of tokens, in bytes, followed by a zero byte, which *count includes.
weft_status weft_decode(const weft_model* model, const int64_t* tokens, size_t tokens_count, char* text,
                        size_t capacity, size_t* count);

/// The probability of each label for each text, `outputs` numbers for a text, one text after the other. A text gives
/// the same bits alone and beside others. Only for classifiers.
weft_status weft_classify(const weft_model* model, const char* const* texts, size_t texts_count, double* probabilities,
                          size_t capacity, size_t* count);

/// Called after each step of weft_train. Any return value except 0 stops the run after saving it.
typedef int (*weft_progress_callback)(void* user, int64_t step, int64_t steps, double loss);

/// What weft_train makes and how it trains. Initialize it with WEFT_TRAIN_OPTIONS_INIT, so that every field has its
/// default.
typedef struct weft_train_options {
  size_t struct_size;     ///< sizeof(weft_train_options)
  const char* arch;       ///< "gmlp", "tnn" (the default), "fnet"
  const char* task;       ///< "classifier" (the default), "regression", "multilabel", "tagging", "retrieval"
  const char* config;     ///< options of the architecture, a JSON object; NULL: its defaults
  const char* tokenizer;  ///< "words", "characters", "bytes", …; NULL: words, or for tagging whitespace
  int64_t length;         ///< of sequences, in tokens; 0 (the default): the architecture's, or 64
  int64_t batch;          ///< rows of a step; default 32
  int64_t steps;          ///< of the run; 0 (the default): 5 epochs, at least 1000 steps, but at most 100 epochs
  double learning_rate;   ///< the highest; default 1e-3
  double validation;      ///< the share of the rows that chooses the best checkpoint; default 0.1
  uint64_t seed;          ///< of parameters, batches and the validation rows; default 1
  int overwrite;          ///< default 0. If not 0, a run that is in the folder is replaced
  weft_progress_callback progress;  ///< default NULL
  void* user;                       ///< what `progress` gets
} weft_train_options;

/// The default options: weft_train_options options = WEFT_TRAIN_OPTIONS_INIT;
#define WEFT_TRAIN_OPTIONS_INIT \
  { sizeof(weft_train_options), "tnn", "classifier", NULL, NULL, 0, 32, 0, 1e-3, 0.1, 1, 0, NULL, NULL }

/// Trains a model on `rows` texts with a label each, and saves the run in a folder, which weft_load and the command
/// take. Labels are names. Those of a regression are numbers with blanks between them, several labels have a "|" between
/// them, tags have blanks, and the label of a retrieval is the text that belongs to the row's text.
weft_status weft_train(const char* const* texts, const char* const* labels, size_t rows,
                       const weft_train_options* options, const char* folder);

/// A text that grows token by token. Only for causal language models.
typedef struct weft_stream weft_stream;

/// A new, empty text. It keeps the model, so the model may be freed first. weft_set_precision ends it.
weft_status weft_stream_new(const weft_model* model, weft_stream** stream);
/// A separate text that continues from the current state of `stream`.
weft_status weft_stream_copy(const weft_stream* stream, weft_stream** copy);
/// Appends `tokens_count` >= 1 tokens; many at once cost one pass. The logits, `vocabulary` numbers, are for the token
/// after them; pass NULL with a capacity of 0 if you don't need them. If the buffer is too small, nothing is appended.
weft_status weft_stream_append(weft_stream* stream, const int64_t* tokens, size_t tokens_count, float* logits,
                               size_t capacity, size_t* count);
/// Frees the stream. NULL is a no-op.
void weft_stream_free(weft_stream* stream);

/// How a text is continued. Initialize it with WEFT_GENERATE_OPTIONS_INIT, so that every field has its default.
typedef struct weft_generate_options {
  size_t struct_size;       ///< sizeof(weft_generate_options)
  int64_t tokens;           ///< maximum number of symbols; default 200
  double temperature;       ///< divides the logits; 0: always the most likely symbol; default 1
  int64_t top_k;            ///< choose among the k most likely; 0: among all; default 0
  double top_p;             ///< of these, among the most likely that have this probability together; default 1
  uint64_t seed;            ///< the same model, prompt, options and seed give the same text; default 1
  const char* const* stop;  ///< generation ends before the first of these texts; default NULL
  size_t stop_count;        ///< their number; default 0
} weft_generate_options;

/// The default options: weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
#define WEFT_GENERATE_OPTIONS_INIT \
  { sizeof(weft_generate_options), 200, 1.0, 0, 1.0, 1, NULL, 0 }

/// Receives the text of a new symbol, `size` bytes followed by a zero byte, which is valid only during the call. It may
/// be empty, and with some tokenizers (bytes) it is a part of a character. Return 0 to continue; any other value ends
/// the text there. The callback may call weft, but it must return: neither longjmp nor the end of its thread may leave
/// it. A C++ exception also ends the text.
typedef int (*weft_text_callback)(void* user, const char* text, size_t size);

/// Continues `prompt`, which is not repeated in the output. It ends when there are as many symbols as the options say
/// (NULL: the defaults), when a stop text occurs, or when the callback ends it, which is no failure. *count (may be
/// NULL) is the number of new symbols, also after a failure. The calling thread calls the callback, each time with
/// `user`. Only for causal language models.
weft_status weft_generate(const weft_model* model, const char* prompt, const weft_generate_options* options,
                          weft_text_callback callback, void* user, int64_t* count);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
