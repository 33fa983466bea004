// A C program that embeds weft. It continues a prompt with a saved language model.
//   c_consumer CHECKPOINT_FOLDER PROMPT
#include <stdio.h>
#include <weft/weft_c.h>

static int print(void* user, const char* text, size_t size) {
  return fwrite(text, 1, size, (FILE*)user) != size;  // anything but 0 ends the text
}

int main(int argc, char** argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: c_consumer CHECKPOINT_FOLDER PROMPT\n");
    return 2;
  }
  printf("weft %s\n", weft_version());
  weft_generate_options options = WEFT_GENERATE_OPTIONS_INIT;
  options.tokens = 20;
  options.temperature = 0.8;

  weft_model* model = NULL;
  weft_status status = weft_load(argv[1], &model);
  if (status == WEFT_OK) status = weft_generate(model, argv[2], &options, print, stdout, NULL);
  if (status != WEFT_OK) fprintf(stderr, "%s\n", weft_last_error());
  weft_model_free(model);
  return status == WEFT_OK ? 0 : 1;
}
