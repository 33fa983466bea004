// The terminal of the command is standard error, where progress is shown.
#pragma once

bool is_terminal() noexcept;    // whether standard error is a terminal
int terminal_width() noexcept;  // in columns; 80 if unknown

// Writes a line to standard error without buffering. Signal handlers may call it.
void say_from_signal_handler(const char* line) noexcept;

// If standard input, output or error is closed, opens /dev/null in its place, so that no other file gets its file
// descriptor. Reading standard input or writing standard output or error then still fails. Throws an Error if /dev/null
// can't be opened.
void open_standard_streams();
