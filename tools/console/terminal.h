// The terminal of the command is standard error, where progress is shown. system/ has a folder for each system that
// implements these functions.
#pragma once

bool is_terminal() noexcept;    // whether standard error is a terminal
int terminal_width() noexcept;  // in columns; 80 if unknown

// Writes a line to standard error without buffering. Signal handlers may call it.
void say_from_signal_handler(const char* line) noexcept;

// Calls ask_to_stop(signal) if the terminal is closed. A pipe that is closed no longer ends the program. On Windows,
// Ctrl-Break calls the function, too.
void on_closed_terminal(void (*ask_to_stop)(int signal));

// If standard input, output or error is closed, opens /dev/null (on Windows NUL) in its place, so that no other file
// gets its file descriptor. Reading standard input or writing standard output or error then still fails. Throws an Error
// if /dev/null can't be opened. On Windows, texts on the terminal are in UTF-8 from then on, and no line end is changed.
void prepare_standard_streams();
