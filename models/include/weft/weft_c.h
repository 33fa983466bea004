/// \file
/// weft for programs in C, C99 or newer, and for all that can call C: load a saved model, ask what it is, run it on tokens,
/// classify texts, continue them. It is part of the library, beside the C++ interface.
///
/// - A function that can fail gives a weft_status. Unless it is WEFT_OK, nothing was done, what it would set is as it was (but
///   for counts), and weft_last_error() says what was expected and what came. No exception crosses this interface.
/// - A null pointer where one is needed, a size that doesn't fit or a buffer that is too small is a status, never a crash.
///   A pointer that points to less than its function says can't be seen.
/// - What is put into a buffer of the caller's comes with a `capacity`, in elements, and a `count` (which may be NULL) that is
///   set to the elements needed, also with WEFT_BUFFER_TOO_SMALL: to ask for them, pass NULL and 0.
/// - Texts are UTF-8. Those that end with a zero byte are `const char*` alone; others come with their size.
/// - A weft_model may be used by several threads at once, but for weft_set_precision and weft_model_free. A weft_stream is used
///   by one thread at a time; several of one model may be used at once. Every other function may be called by any thread.
/// - Nothing is promised of the binary interface before 1.0; tests/symbols/c_abi.txt records it.
#pragma once
#include <stddef.h>
#include <stdint.h>

#include "weft/version.h"

#pragma GCC visibility push(default)
#ifdef __cplusplus
extern "C" {
#endif

/// How a call went.
typedef enum weft_status {
  WEFT_OK = 0,                ///< it did what it says
  WEFT_INVALID_ARGUMENT = 1,  ///< a null pointer, a size or a value that doesn't fit the call
  WEFT_BUFFER_TOO_SMALL = 2,  ///< the caller's buffer; `count` has the elements it needs
  WEFT_FAILED = 3,            ///< a file, a model, a text, a token that is not as it should be; no memory
  WEFT_CALLBACK_FAILED = 4    ///< a callback in C++ threw an exception, which weft_last_error() quotes
} weft_status;

/// "ok", "invalid argument", …; "unknown status" of what is none. It stays.
const char* weft_status_name(weft_status status);

/// What the last call of this thread that failed said; "" if none has. It stays until the thread's next call of weft that
/// fails, and belongs to the library.
const char* weft_last_error(void);

/// The library's version, "0.1.0"; WEFT_VERSION is that of the headers. It stays.
const char* weft_version(void);

/// How many threads weft's loops use, for the whole process: 1 … 1024.
weft_status weft_set_default_threads(int count);
/// The same for what the calling thread asks for, from now on.
weft_status weft_set_threads(int count);
/// How many threads the calling thread's loops use; 0 if there is no memory to tell.
int weft_threads(void);

/// A loaded model with its tokenizer.
typedef struct weft_model weft_model;

/// Loads a checkpoint's folder, or the best checkpoint of a run's, for inference. The weights stay in the file, which may be
/// replaced or removed meanwhile, but not be cut or written in place, which ends the process by SIGBUS: see weft_load_options.
weft_status weft_load(const char* folder, weft_model** model);

/// How a model is loaded. To be made by WEFT_LOAD_OPTIONS_INIT, so that what is not set has its usual value.
typedef struct weft_load_options {
  size_t struct_size;  ///< sizeof(weft_load_options)
  int copy;  ///< not 0: the weights are read into memory, and nothing that happens to the file later matters; 0
} weft_load_options;

/// The usual options: weft_load_options options = WEFT_LOAD_OPTIONS_INIT;
#define WEFT_LOAD_OPTIONS_INIT \
  { sizeof(weft_load_options), 0 }

/// weft_load with options (NULL: the usual ones).
weft_status weft_load_with(const char* folder, const weft_load_options* options, weft_model** model);
/// Loads the bytes of a checkpoint's model.safetensors, which are copied.
weft_status weft_load_memory(const void* bytes, size_t size, weft_model** model);
/// Gives it back; streams of it may be there still. NULL is nothing.
void weft_model_free(weft_model* model);

/// What the model computes in: "f32", or "bf16", products added in f32; at first what it was saved for. No other thread may use
/// it meanwhile.
weft_status weft_set_precision(weft_model* model, const char* precision);

/// What a model is. Its texts belong to the model.
typedef struct weft_info {
  size_t struct_size;        ///< set by the caller: sizeof(weft_info)
  const char* architecture;  ///< "gmlp", "tnn", "fnet", …
  const char* tokenizer;     ///< "characters", "words", …
  const char* config;        ///< the architecture's own fields, a JSON object
  const char* task;          ///< "causal-lm", "masked-lm", "classifier"
  const char* precision;     ///< what it computes in: "f32" or "bf16"
  const char* stored;        ///< what its matrices are kept in: "f32", "bf16" or "int8"
  int64_t vocabulary;        ///< tokens are 0 … vocabulary - 1
  int64_t outputs;           ///< logits: symbols of the vocabulary, or classes
  int64_t labels;            ///< names of classes, see weft_label; of language models 0
  int64_t max_length;        ///< the longest sequence it takes, in tokens; 0: any
  int64_t trained_length;    ///< of the sequences it was trained on; of a classifier the longest; 0: unknown
  int64_t pad_to;            ///< of a classifier: the length that weft_classify fills rows up to; 0: their own
  int64_t parameters;        ///< how many numbers were trained
  int64_t steps;             ///< of training
  double validation_loss;    ///< nats, at that step; not a number: unknown
} weft_info;

/// Fills in *info, of which struct_size is set.
weft_status weft_model_info(const weft_model* model, weft_info* info);
/// The name of output `index`, 0 … labels - 1. It belongs to the model.
weft_status weft_label(const weft_model* model, int64_t index, const char** name);

/// tokens: `rows` sequences of `length` tokens each, one after the other -> their logits: for each token of each row `outputs`
/// numbers (language models), or for each row (classifiers, where token 0 is padding).
weft_status weft_run(const weft_model* model, const int64_t* tokens, int64_t rows, int64_t length, float* logits,
                     size_t capacity, size_t* count);

/// The tokens of a text of `size` bytes.
weft_status weft_encode(const weft_model* model, const char* text, size_t size, int64_t* tokens, size_t capacity,
                        size_t* count);
/// The text of tokens, in bytes, with a zero byte behind it that *count counts.
weft_status weft_decode(const weft_model* model, const int64_t* tokens, size_t tokens_count, char* text,
                        size_t capacity, size_t* count);

/// The probability of each label for each text, `outputs` numbers a text, one text after the other. A text's are the same
/// alone and beside others, to the bit. Of a classifier alone.
weft_status weft_classify(const weft_model* model, const char* const* texts, size_t texts_count, double* probabilities,
                          size_t capacity, size_t* count);

/// A text that grows token by token, of a causal language model.
typedef struct weft_stream weft_stream;

/// An empty text. It keeps the model, which may be freed before; weft_set_precision ends it.
weft_status weft_stream_new(const weft_model* model, weft_stream** stream);
/// A text that goes on from where `stream` is, by itself.
weft_status weft_stream_copy(const weft_stream* stream, weft_stream** copy);
/// Appends `tokens_count` >= 1 tokens; many at once cost one pass. The logits, `vocabulary` numbers, are those for the token
/// after them; NULL with a capacity of 0: they are not wanted. If the buffer is too small nothing is appended.
weft_status weft_stream_append(weft_stream* stream, const int64_t* tokens, size_t tokens_count, float* logits,
                               size_t capacity, size_t* count);
/// Gives it back. NULL is nothing.
void weft_stream_free(weft_stream* stream);

/// How a text is continued. To be made by WEFT_GENERATE_OPTIONS_INIT, so that what is not set has its usual value.
typedef struct weft_generate_options {
  size_t struct_size;       ///< sizeof(weft_generate_options)
  int64_t tokens;           ///< how many symbols at most; 200
  double temperature;       ///< divides the logits; 0: always the most likely symbol; 1
  int64_t top_k;            ///< choose among the k most likely; 0: among all; 0
  double top_p;             ///< of these among the most likely that have this probability together; 1
  uint64_t seed;            ///< of the choices: with the same model, prompt and options they are the same; 1
  const char* const* stop;  ///< texts before the first of which it ends; NULL
  size_t stop_count;        ///< how many they are; 0
} weft_generate_options;

/// The usual options: weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
#define WEFT_GENERATE_OPTIONS_INIT \
  { sizeof(weft_generate_options), 200, 1.0, 0, 1.0, 1, NULL, 0 }

/// Is given the text of a new symbol, of `size` bytes with a zero byte behind them, which it must not keep; it may be empty,
/// and of some tokenizers (bytes) a part of a character. Gives 0 to go on; anything else ends the text there. It may call weft,
/// but must return: neither longjmp nor the end of its thread may leave it. What it throws, in C++, ends the text, too.
typedef int (*weft_text_callback)(void* user, const char* text, size_t size);

/// Continues `prompt` (which is not given out again) until there are as many symbols as the options say (NULL: the usual ones),
/// a text to stop at comes, or the callback ends it, which is no failure. *count (may be NULL): how many symbols there were, also
/// after a failure. The callback is called by the calling thread, each time with `user`. Of a causal language model alone.
weft_status weft_generate(const weft_model* model, const char* prompt, const weft_generate_options* options,
                          weft_text_callback callback, void* user, int64_t* count);

#ifdef __cplusplus
}
#endif
#pragma GCC visibility pop
