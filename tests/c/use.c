/* A program in C99 that uses everything in weft/weft_c.h. */
#include "use.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char failure[512];

static void expect(int right, int line, const char* what) {
  if (!right && failure[0] == '\0')
    snprintf(failure, sizeof failure, "use.c:%d: %s; %s", line, what, weft_last_error());
}
#define EXPECT(condition) expect((condition) ? 1 : 0, __LINE__, #condition)

const char* c_failure(void) { return failure; }

/* Collects text until it has `enough` pieces. If `enough` is 0, it collects all pieces. */
typedef struct collected {
  char* text;
  size_t size, capacity;
  int pieces, enough;
} collected;

static int collect(void* user, const char* text, size_t size) {
  collected* all = (collected*)user;
  EXPECT(strlen(text) == size);
  if (all->size + size + 1 <= all->capacity) {
    memcpy(all->text + all->size, text, size + 1);
    all->size += size;
  }
  ++all->pieces;
  return all->enough > 0 && all->pieces == all->enough ? -7 : 0;
}

static void use_stream(const weft_model* model, c_language_answers* answers) {
  const size_t half = answers->tokens_count / 2;
  weft_stream *stream = NULL, *copy = NULL;
  EXPECT(weft_stream_new(model, &stream) == WEFT_OK && stream != NULL);
  EXPECT(weft_stream_append(stream, answers->tokens, half, NULL, 0, &answers->stream_count) == WEFT_OK);
  EXPECT(weft_stream_copy(stream, &copy) == WEFT_OK && copy != NULL);
  EXPECT(weft_stream_append(stream, answers->tokens + half, answers->tokens_count - half, answers->stream_logits, 512,
                            NULL) == WEFT_OK);
  EXPECT(weft_stream_append(copy, answers->tokens, 1, answers->copy_logits, answers->stream_count, NULL) == WEFT_OK);
  weft_stream_free(copy);
  weft_stream_free(stream);
}

/* The same text as weft_generate, one symbol per call. */
static void use_steps(const weft_model* model, const char* prompt, const weft_generate_options* options,
                      const c_language_answers* answers) {
  char all[sizeof answers->generated] = "";
  weft_generation* generation = NULL;
  const char* text = "";
  size_t size = 0, whole = 0;
  int64_t symbols = 0;
  EXPECT(weft_generation_new(model, prompt, options, &generation) == WEFT_OK && generation != NULL);
  while (weft_generation_next(generation, &text, &size) == WEFT_OK && text != NULL && whole + size < sizeof all) {
    EXPECT(strlen(text) == size);
    memcpy(all + whole, text, size + 1);
    whole += size;
    ++symbols;
  }
  EXPECT(text == NULL && size == 0 && symbols == answers->symbols && strcmp(all, answers->generated) == 0);
  EXPECT(weft_generation_next(generation, &text, NULL) == WEFT_OK && text == NULL);
  weft_generation_free(generation);
}

/* Expects that the call fails with the status `expected` and a message that contains `what`. */
#define REFUSED(expected, what, call)                                     \
  do {                                                                    \
    const weft_status got = call;                                         \
    EXPECT(got == (expected) && strstr(weft_last_error(), what) != NULL); \
  } while (0)

/* The options of a program that was compiled with weft 0.2, with no byte behind them. */
static void use_older_options(const weft_model* model, const char* prompt, weft_generate_options options,
                              const c_language_answers* answers) {
  const size_t size = offsetof(weft_generate_options, speculate);
  weft_generate_options* older = malloc(size);
  EXPECT(older != NULL);
  if (older == NULL) return;
  options.struct_size = size;
  memcpy(older, &options, size);
  use_steps(model, prompt, older, answers);
  older->struct_size = size - 1;
  REFUSED(WEFT_INVALID_ARGUMENT, "WEFT_GENERATE_OPTIONS_INIT",
          weft_generate(model, prompt, older, collect, NULL, NULL));
  free(older);
}

static void use_generation(const weft_model* model, const char* prompt, c_language_answers* answers) {
  const char* stops[] = {"\n\n\n"};
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  collected all, some;
  memset(&all, 0, sizeof all);
  all.text = answers->generated;
  all.capacity = sizeof answers->generated;
  some = all;
  some.text = answers->stopped;
  some.enough = 3;
  options.tokens = 20;
  options.temperature = 0.8;
  options.top_k = 12;
  options.top_p = 0.95;
  options.seed = 7;
  options.stop = stops;
  options.stop_count = 1;
  EXPECT(weft_generate(model, prompt, &options, collect, &all, &answers->symbols) == WEFT_OK);
  EXPECT(all.pieces == answers->symbols);
  EXPECT(weft_generate(model, prompt, &options, collect, &some, &answers->stopped_symbols) == WEFT_OK);
  use_steps(model, prompt, &options, answers);
  options.speculate = 1;
  use_steps(model, prompt, &options, answers);
  use_older_options(model, prompt, options, answers);
}

void c_use_language_model(const char* folder, const char* prompt, c_language_answers* answers) {
  weft_model* model = NULL;
  size_t count = 0;
  EXPECT(weft_load(folder, &model) == WEFT_OK && model != NULL);
  if (model == NULL) return;
  answers->info.struct_size = sizeof answers->info;
  EXPECT(weft_model_info(model, &answers->info) == WEFT_OK);
  EXPECT(strcmp(answers->info.task, "causal-lm") == 0 && strcmp(answers->info.precision, "f32") == 0);
  EXPECT(strlen(answers->info.config) > 2 && strcmp(answers->info.stored, "f32") == 0);

  EXPECT(weft_encode(model, prompt, strlen(prompt), NULL, 0, &answers->tokens_count) == WEFT_BUFFER_TOO_SMALL);
  EXPECT(weft_encode(model, prompt, strlen(prompt), answers->tokens, 64, NULL) == WEFT_OK);
  EXPECT(weft_decode(model, answers->tokens, answers->tokens_count, NULL, 0, &count) == WEFT_BUFFER_TOO_SMALL);
  EXPECT(weft_decode(model, answers->tokens, answers->tokens_count, answers->decoded, count, &count) == WEFT_OK);
  EXPECT(count == strlen(answers->decoded) + 1);

  EXPECT(weft_run(model, answers->tokens, 1, (int64_t)answers->tokens_count, NULL, 0, &answers->logits_count) ==
         WEFT_BUFFER_TOO_SMALL);
  EXPECT(weft_run(model, answers->tokens, 1, (int64_t)answers->tokens_count, answers->logits, answers->logits_count,
                  NULL) == WEFT_OK);
  use_stream(model, answers);
  use_generation(model, prompt, answers);
  weft_model_free(model);
}

void c_use_classifier(const void* bytes, size_t size, const char* const* texts, size_t texts_count,
                      c_class_answers* answers) {
  const int64_t rows[] = {1, 2, 3, 3, 2, 1};
  weft_model* model = NULL;
  int64_t i;
  EXPECT(weft_load_memory(bytes, size, &model) == WEFT_OK && model != NULL);
  if (model == NULL) return;
  answers->info.struct_size = sizeof answers->info;
  EXPECT(weft_model_info(model, &answers->info) == WEFT_OK);
  EXPECT(answers->info.labels <= 8);
  for (i = 0; i < answers->info.labels; ++i) {
    const char* name = NULL;
    EXPECT(weft_label(model, i, &name) == WEFT_OK);
    snprintf(answers->labels[i], sizeof answers->labels[i], "%s", name);
  }
  EXPECT(weft_classify(model, texts, texts_count, answers->probabilities, 256, &answers->count) == WEFT_OK);
  EXPECT(weft_classify(model, NULL, 0, NULL, 0, NULL) == WEFT_OK);
  EXPECT(weft_run(model, rows, 2, 3, answers->logits, 256, &answers->logits_count) == WEFT_OK);
  weft_model_free(model);
}

static void misuse_models(weft_model* lm, weft_model* classes, const char* folder) {
  int64_t tokens[] = {1, 2, 3}, beyond[] = {1, 1000000};
  float logits[4096];
  double probabilities[8];
  const char *texts[] = {"red", NULL}, *name = NULL;
  weft_model* none = NULL;
  size_t count = 0;
  weft_info info;
  REFUSED(WEFT_INVALID_ARGUMENT, "weft_load: folder is NULL", weft_load(NULL, &none));
  REFUSED(WEFT_INVALID_ARGUMENT, "weft_load: model is NULL", weft_load(folder, NULL));
  REFUSED(WEFT_FAILED, "no/such/folder", weft_load("no/such/folder", &none));
  REFUSED(WEFT_INVALID_ARGUMENT, "bytes is NULL", weft_load_memory(NULL, 3, &none));
  REFUSED(WEFT_FAILED, "[safetensors] \"memory\"", weft_load_memory("not a file", 10, &none));
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_load_memory("", 0, NULL));
  EXPECT(none == NULL);
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_set_precision(NULL, "f32"));
  REFUSED(WEFT_INVALID_ARGUMENT, "precision is NULL", weft_set_precision(lm, NULL));
  REFUSED(WEFT_FAILED, "\"f16\"", weft_set_precision(lm, "f16"));

  info.struct_size = sizeof info - 1;
  REFUSED(WEFT_INVALID_ARGUMENT, "expected sizeof(weft_info)", weft_model_info(lm, &info));
  REFUSED(WEFT_INVALID_ARGUMENT, "info is NULL", weft_model_info(lm, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_model_info(NULL, &info));
  REFUSED(WEFT_INVALID_ARGUMENT, "expected the index of one of 3 labels, got 3", weft_label(classes, 3, &name));
  REFUSED(WEFT_INVALID_ARGUMENT, "labels, got -1", weft_label(classes, -1, &name));
  REFUSED(WEFT_INVALID_ARGUMENT, "one of 0 labels", weft_label(lm, 0, &name));
  REFUSED(WEFT_INVALID_ARGUMENT, "name is NULL", weft_label(classes, 0, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_label(NULL, 0, &name));

  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_run(NULL, tokens, 1, 3, logits, 4096, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "tokens is NULL", weft_run(lm, NULL, 1, 3, logits, 4096, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "got (0, 3)", weft_run(lm, tokens, 0, 3, logits, 4096, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "got (1, -3)", weft_run(lm, tokens, 1, -3, logits, 4096, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "elements", weft_run(lm, tokens, INT64_MAX, INT64_MAX, logits, 4096, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "logits is NULL, but its capacity is 4096",
          weft_run(lm, tokens, 1, 3, NULL, 4096, &count));
  logits[0] = 123.0f;
  REFUSED(WEFT_BUFFER_TOO_SMALL, "room for 2", weft_run(lm, tokens, 1, 3, logits, 2, &count));
  EXPECT(logits[0] == 123.0f && count > 3);
  REFUSED(WEFT_FAILED, "1000000", weft_run(lm, beyond, 1, 2, logits, 4096, NULL));

  REFUSED(WEFT_FAILED, "expected a classifier", weft_classify(lm, texts, 1, probabilities, 8, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "texts[1] is NULL", weft_classify(classes, texts, 2, probabilities, 8, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "texts is NULL, expected 1", weft_classify(classes, NULL, 1, probabilities, 8, NULL));
  REFUSED(WEFT_BUFFER_TOO_SMALL, "expected 3", weft_classify(classes, texts, 1, probabilities, 2, &count));
  EXPECT(count == 3);
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_classify(NULL, texts, 1, probabilities, 8, NULL));
  texts[0] = "\xff";
  REFUSED(WEFT_FAILED, "UTF-8", weft_classify(classes, texts, 1, probabilities, 8, NULL));
}

static void misuse_texts(weft_model* lm, weft_model* classes) {
  int64_t tokens[] = {1, 2, 3}, beyond[] = {-1};
  float logits[512];
  char text[8];
  size_t count = 0;
  weft_stream* stream = NULL;
  REFUSED(WEFT_INVALID_ARGUMENT, "text is NULL", weft_encode(lm, NULL, 3, tokens, 3, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_encode(NULL, "red", 3, tokens, 3, NULL));
  REFUSED(WEFT_BUFFER_TOO_SMALL, "tokens has room for 3", weft_encode(lm, "line", 4, tokens, 3, &count));
  EXPECT(count == 4 && tokens[0] == 1);
  REFUSED(WEFT_FAILED, "UTF-8", weft_encode(lm, "\xff\xff", 2, tokens, 3, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "tokens is NULL", weft_decode(lm, NULL, 1, text, 8, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_decode(NULL, tokens, 1, text, 8, NULL));
  REFUSED(WEFT_BUFFER_TOO_SMALL, "text has room for 3", weft_decode(lm, tokens, 3, text, 3, NULL));
  REFUSED(WEFT_FAILED, "-1", weft_decode(lm, beyond, 1, text, 8, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "more than any memory", weft_decode(lm, tokens, SIZE_MAX / 8 + 1, text, 8, NULL));
  EXPECT(weft_encode(lm, NULL, 0, NULL, 0, &count) == WEFT_OK && count == 0);
  EXPECT(weft_decode(lm, NULL, 0, text, 8, &count) == WEFT_OK && count == 1 && text[0] == '\0');

  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_stream_new(NULL, &stream));
  REFUSED(WEFT_INVALID_ARGUMENT, "stream is NULL", weft_stream_new(lm, NULL));
  REFUSED(WEFT_FAILED, "classifier", weft_stream_new(classes, &stream));
  EXPECT(stream == NULL && weft_stream_new(lm, &stream) == WEFT_OK);
  REFUSED(WEFT_INVALID_ARGUMENT, "stream is NULL", weft_stream_append(NULL, tokens, 3, NULL, 0, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "tokens is NULL", weft_stream_append(stream, NULL, 3, NULL, 0, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "at least one token", weft_stream_append(stream, tokens, 0, NULL, 0, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "more than any memory",
          weft_stream_append(stream, tokens, SIZE_MAX / 8 + 1, NULL, 0, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "more than any memory", weft_encode(lm, "red", SIZE_MAX, tokens, 3, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "logits is NULL", weft_stream_append(stream, tokens, 3, NULL, 512, NULL));
  REFUSED(WEFT_BUFFER_TOO_SMALL, "logits has room for 1", weft_stream_append(stream, tokens, 3, logits, 1, &count));
  EXPECT(count > 1);
  REFUSED(WEFT_FAILED, "-1", weft_stream_append(stream, beyond, 1, logits, 512, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "copy is NULL", weft_stream_copy(stream, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "stream is NULL", weft_stream_copy(NULL, &stream));
  weft_stream_free(stream);
}

static void misuse_generation(weft_model* lm, weft_model* classes) {
  const char* stops[] = {"", NULL};
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  collected all;
  int64_t count = 99;
  weft_generation* generation = NULL;
  const char* text = "";
  memset(&all, 0, sizeof all);
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_generation_new(NULL, "a", NULL, &generation));
  REFUSED(WEFT_INVALID_ARGUMENT, "prompt is NULL", weft_generation_new(lm, NULL, NULL, &generation));
  REFUSED(WEFT_INVALID_ARGUMENT, "generation is NULL", weft_generation_new(lm, "l", NULL, NULL));
  REFUSED(WEFT_FAILED, "UTF-8", weft_generation_new(lm, "\xff", NULL, &generation));
  REFUSED(WEFT_FAILED, "classifier", weft_generation_new(classes, "red", NULL, &generation));
  REFUSED(WEFT_INVALID_ARGUMENT, "generation is NULL", weft_generation_next(NULL, &text, NULL));
  EXPECT(generation == NULL && weft_generation_new(lm, "l", NULL, &generation) == WEFT_OK);
  REFUSED(WEFT_INVALID_ARGUMENT, "text is NULL", weft_generation_next(generation, NULL, NULL));
  weft_generation_free(generation);
  REFUSED(WEFT_INVALID_ARGUMENT, "model is NULL", weft_generate(NULL, "a", NULL, collect, &all, &count));
  EXPECT(count == 0);
  REFUSED(WEFT_INVALID_ARGUMENT, "prompt is NULL", weft_generate(lm, NULL, NULL, collect, &all, NULL));
  REFUSED(WEFT_INVALID_ARGUMENT, "callback is NULL", weft_generate(lm, "l", NULL, NULL, &all, NULL));
  REFUSED(WEFT_FAILED, "UTF-8", weft_generate(lm, "\xff", NULL, collect, &all, NULL));
  REFUSED(WEFT_FAILED, "classifier", weft_generate(classes, "red", NULL, collect, &all, NULL));
  options.struct_size = 8;
  REFUSED(WEFT_INVALID_ARGUMENT, "WEFT_GENERATE_OPTIONS_INIT", weft_generate(lm, "l", &options, collect, &all, NULL));
  options.struct_size = sizeof options;
  options.top_p = 0;
  REFUSED(WEFT_FAILED, "top_p", weft_generate(lm, "l", &options, collect, &all, NULL));
  options.top_p = 1;
  options.stop_count = 1;
  REFUSED(WEFT_INVALID_ARGUMENT, "options->stop is NULL", weft_generate(lm, "l", &options, collect, &all, NULL));
  options.stop = stops;
  REFUSED(WEFT_FAILED, "empty", weft_generate(lm, "l", &options, collect, &all, NULL));
  stops[0] = "x";
  options.stop_count = 2;
  REFUSED(WEFT_INVALID_ARGUMENT, "options->stop[1] is NULL", weft_generate(lm, "l", &options, collect, &all, NULL));
  EXPECT(all.pieces == 0);
}

void c_make_mistakes(const char* language_model, const char* classifier) {
  weft_model *lm = NULL, *classes = NULL;
  EXPECT(weft_load(language_model, &lm) == WEFT_OK);
  EXPECT(weft_load(classifier, &classes) == WEFT_OK);
  if (lm == NULL || classes == NULL) return;
  misuse_models(lm, classes, language_model);
  misuse_texts(lm, classes);
  misuse_generation(lm, classes);
  weft_model_free(classes);
  weft_model_free(lm);

  weft_model_free(NULL);
  weft_stream_free(NULL);
  weft_generation_free(NULL);
  REFUSED(WEFT_FAILED, "1024", weft_set_threads(0));
  REFUSED(WEFT_FAILED, "1024", weft_set_default_threads(1025));
  EXPECT(strcmp(weft_status_name(WEFT_BUFFER_TOO_SMALL), "buffer too small") == 0);
  EXPECT(strcmp(weft_status_name((weft_status)77), "unknown status") == 0);
  EXPECT(strcmp(weft_version(), WEFT_VERSION) == 0);
}
