// Results that a C program gets from weft. tests/c/interface.cpp compares them with the C++ interface.
#pragma once
#include <weft/weft_c.h>

#ifdef __cplusplus
extern "C" {
#endif

// Returns the first check that failed, as "file:line: what", or "" if all succeeded.
const char* c_failure(void);

// Results of a causal language model, with room for small models.
typedef struct c_language_answers {
  weft_info info;
  size_t tokens_count, logits_count, stream_count;
  int64_t tokens[64];
  float logits[8192];        // for all tokens
  float stream_logits[512];  // after the last token, when the tokens are appended in two pieces
  float copy_logits[512];    // after the first piece and a repeated first token
  char decoded[512];
  char generated[4096];
  int64_t symbols;
  char stopped[4096];  // the same text, ended by the callback
  int64_t stopped_symbols;
} c_language_answers;
void c_use_language_model(const char* folder, const char* prompt, c_language_answers* answers);

// Results of a classifier for texts.
typedef struct c_class_answers {
  weft_info info;
  size_t count;
  double probabilities[256];
  float logits[256];  // for the rows 1 2 3 and 3 2 1
  size_t logits_count;
  char labels[8][64];
} c_class_answers;
void c_use_classifier(const void* bytes, size_t size, const char* const* texts, size_t texts_count,
                      c_class_answers* answers);

// Makes every mistake that the library can detect.
void c_make_mistakes(const char* language_model, const char* classifier);

#ifdef __cplusplus
}
#endif
