// Constants that C programs are compiled with: sizes, offsets and numbers of weft/weft_c.h.
#include <stddef.h>
#include <stdio.h>
#include <weft/weft_c.h>

#define STRUCT(type) printf("struct %s: %zu bytes\n", #type, sizeof(type))
#define MEMBER(type, name) printf("  %s: %zu bytes at %zu\n", #name, sizeof(((type*)0)->name), offsetof(type, name))
#define VALUE(name) printf("%s = %d\n", #name, (int)name)

int main(void) {
  STRUCT(weft_info);
  MEMBER(weft_info, struct_size);
  MEMBER(weft_info, architecture);
  MEMBER(weft_info, tokenizer);
  MEMBER(weft_info, config);
  MEMBER(weft_info, task);
  MEMBER(weft_info, precision);
  MEMBER(weft_info, stored);
  MEMBER(weft_info, vocabulary);
  MEMBER(weft_info, outputs);
  MEMBER(weft_info, labels);
  MEMBER(weft_info, max_length);
  MEMBER(weft_info, trained_length);
  MEMBER(weft_info, pad_to);
  MEMBER(weft_info, parameters);
  MEMBER(weft_info, steps);
  MEMBER(weft_info, validation_loss);
  STRUCT(weft_load_options);
  MEMBER(weft_load_options, struct_size);
  MEMBER(weft_load_options, copy);
  STRUCT(weft_generate_options);
  MEMBER(weft_generate_options, struct_size);
  MEMBER(weft_generate_options, tokens);
  MEMBER(weft_generate_options, temperature);
  MEMBER(weft_generate_options, top_k);
  MEMBER(weft_generate_options, top_p);
  MEMBER(weft_generate_options, seed);
  MEMBER(weft_generate_options, stop);
  MEMBER(weft_generate_options, stop_count);
  MEMBER(weft_generate_options, speculate);
  STRUCT(weft_train_options);
  MEMBER(weft_train_options, struct_size);
  MEMBER(weft_train_options, arch);
  MEMBER(weft_train_options, task);
  MEMBER(weft_train_options, config);
  MEMBER(weft_train_options, tokenizer);
  MEMBER(weft_train_options, length);
  MEMBER(weft_train_options, batch);
  MEMBER(weft_train_options, steps);
  MEMBER(weft_train_options, learning_rate);
  MEMBER(weft_train_options, validation);
  MEMBER(weft_train_options, seed);
  MEMBER(weft_train_options, overwrite);
  MEMBER(weft_train_options, progress);
  MEMBER(weft_train_options, user);
  STRUCT(weft_status);
  VALUE(WEFT_OK);
  VALUE(WEFT_INVALID_ARGUMENT);
  VALUE(WEFT_BUFFER_TOO_SMALL);
  VALUE(WEFT_FAILED);
  VALUE(WEFT_CALLBACK_FAILED);
  return 0;
}
