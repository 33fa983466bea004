// Trains a classifier from C on rows in memory, saves it, loads it and classifies a new text.
//   c_train FOLDER
#include <stdio.h>
#include <stdlib.h>
#include <weft/weft_c.h>

static const char* const texts[] = {
    "play a game against the computer", "a puzzle game with falling blocks", "a card game for one player",
    "compress files and folders",       "unpack an archive of files",        "copy files to another disk",
    "edit text in a terminal",          "a text editor with colors",         "edit many lines of text at once",
};
static const char* const labels[] = {"games", "games", "games", "files", "files", "files", "text", "text", "text"};

static int fail(void) {
  fprintf(stderr, "c_train: %s\n", weft_last_error());
  return 1;
}

static int show(void* user, int64_t step, int64_t steps, double loss) {
  if (step % 50 == 0) fprintf((FILE*)user, "step %lld of %lld: loss %.4f\n", (long long)step, (long long)steps, loss);
  return 0;  // any other value stops the run
}

int main(int argc, char** argv) {
  const char* question = "a game of chess";
  const char* label;
  double probabilities[3];
  int best = 0, i;
  weft_model* model;
  weft_train_options options = WEFT_TRAIN_OPTIONS_INIT;
  if (argc != 2) {
    fprintf(stderr, "usage: c_train FOLDER\n");
    return 2;
  }
  options.arch = "gmlp";
  options.config = "{\"d_model\": 16, \"layers\": 1, \"seq_len\": 8}";
  options.steps = 100;
  options.batch = 4;
  options.learning_rate = 1e-2;
  options.overwrite = 1;
  options.progress = show;
  options.user = stdout;
  if (weft_train(texts, labels, sizeof texts / sizeof *texts, &options, argv[1]) != WEFT_OK) return fail();

  if (weft_load(argv[1], &model) != WEFT_OK) return fail();
  if (weft_classify(model, &question, 1, probabilities, 3, NULL) != WEFT_OK) return fail();
  for (i = 1; i < 3; ++i)
    if (probabilities[i] > probabilities[best]) best = i;
  if (weft_label(model, best, &label) != WEFT_OK) return fail();
  printf("%s: %s\n", question, label);
  weft_model_free(model);
  return 0;
}
