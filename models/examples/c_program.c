// Uses a saved model from C: continues a text or classifies it.
//   c_program CHECKPOINT_FOLDER TEXT
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <weft/weft_c.h>

static int print(void* user, const char* text, size_t size) {
  return fwrite(text, 1, size, (FILE*)user) != size;  // any value except 0 ends the text
}

static int fail(void) {
  fprintf(stderr, "c_program: %s\n", weft_last_error());
  return 1;
}

// Prints the most probable label.
static int classify(const weft_model* model, const weft_info* info, const char* text) {
  const char* label;
  double* probabilities = malloc((size_t)info->outputs * sizeof *probabilities);
  int64_t best = 0, i;
  if (weft_classify(model, &text, 1, probabilities, (size_t)info->outputs, NULL) != WEFT_OK) return fail();
  for (i = 1; i < info->outputs; ++i)
    if (probabilities[i] > probabilities[best]) best = i;
  if (weft_label(model, best, &label) != WEFT_OK) return fail();
  printf("%s\t%.4f\n", label, probabilities[best]);
  free(probabilities);
  return 0;
}

// Computes the logits of all tokens of the text, and prints a continuation.
static int go_on(const weft_model* model, const weft_info* info, const char* text) {
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  size_t count, size;
  int64_t* tokens;
  float* logits;
  if (weft_encode(model, text, strlen(text), NULL, 0, &count) == WEFT_FAILED) return fail();
  tokens = malloc(count * sizeof *tokens);
  size = count * (size_t)info->outputs;
  logits = malloc(size * sizeof *logits);
  if (weft_encode(model, text, strlen(text), tokens, count, NULL) != WEFT_OK) return fail();
  if (weft_run(model, tokens, 1, (int64_t)count, logits, size, NULL) != WEFT_OK) return fail();
  printf("logits: (1, %zu, %lld)\n", count, (long long)info->outputs);
  free(logits);
  free(tokens);

  options.tokens = 20;
  options.temperature = 0.8;
  if (weft_generate(model, text, &options, print, stdout, NULL) != WEFT_OK) return fail();
  printf("\n");
  return 0;
}

int main(int argc, char** argv) {
  int failed;
  if (argc != 3) {
    fprintf(stderr, "usage: c_program CHECKPOINT_FOLDER TEXT\n");
    return 2;
  }
  weft_model* model;
  weft_info info = {.struct_size = sizeof info};
  if (weft_load(argv[1], &model) != WEFT_OK || weft_model_info(model, &info) != WEFT_OK) return fail();
  printf("%s, %s, %lld parameters\n", info.architecture, info.task, (long long)info.parameters);
  failed = strcmp(info.task, "classifier") == 0 ? classify(model, &info, argv[2]) : go_on(model, &info, argv[2]);
  weft_model_free(model);
  return failed;
}
