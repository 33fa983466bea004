// The command's own terminal: standard error, where progress is shown.
#pragma once

bool is_terminal() noexcept;    // whether standard error is one
int terminal_width() noexcept;  // standard error's, in columns; 80 if unknown

// Writes a line to standard error without a buffer, as a signal handler must.
void say_from_signal_handler(const char* line) noexcept;

// Opens those of standard input, output and error that are closed, so that no file takes their place. Reading and
// writing them still fails. Error if one can't be opened.
void open_standard_streams();
