#include "console/terminal.h"

#include <fcntl.h>
#include <weft/error.h>

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <string>
#include <system_error>

#include "system/windows/console.h"

namespace {

constexpr int standard_input = 0, standard_output = 1, standard_error = 2;
void (*ask)(int signal) = nullptr;
UINT former_code_page = 0;

// Windows ends the process when this function returns after the console was closed, or a few seconds after it was
// called. Until then, the main thread saves the run and ends the process itself.
BOOL WINAPI on_console_event(DWORD event) {
  if (event == CTRL_C_EVENT || event == CTRL_BREAK_EVENT) return FALSE;  // SIGINT and SIGBREAK
  ask(SIGTERM);
  ::Sleep(INFINITE);
  return TRUE;
}

// Opens NUL in place of a closed stream.
void open_stream(int stream) {
  if (handle_of(stream) != INVALID_HANDLE_VALUE && ::_get_osfhandle(stream) != -2) return;
  const int opened = ::_open("NUL", stream == standard_input ? _O_WRONLY : _O_RDONLY);
  if (opened < 0 || (opened != stream && ::_dup2(opened, stream) != 0))
    throw weft::Error("[file] can't open \"NUL\": " + std::generic_category().message(errno));
  if (opened != stream) ::_close(opened);
}

}  // namespace

bool is_terminal() noexcept { return is_console(standard_error); }

int terminal_width() noexcept {
  CONSOLE_SCREEN_BUFFER_INFO info;
  if (!::GetConsoleScreenBufferInfo(handle_of(standard_error), &info)) return 80;
  return info.srWindow.Right - info.srWindow.Left + 1;
}

void say_from_signal_handler(const char* line) noexcept {
  const int error = errno;
  (void)::_write(standard_error, line, static_cast<unsigned>(std::strlen(line)));
  errno = error;
}

void on_closed_terminal(void (*ask_to_stop)(int signal)) {
  ask = ask_to_stop;
  std::signal(SIGBREAK, ask_to_stop);
  ::SetConsoleCtrlHandler(on_console_event, TRUE);
}

void prepare_standard_streams() {
  for (int stream : {standard_input, standard_output, standard_error}) {
    open_stream(stream);
    ::_setmode(stream, _O_BINARY);
  }
  former_code_page = ::GetConsoleOutputCP();
  if (former_code_page == 0) return;  // there is no console
  ::SetConsoleOutputCP(CP_UTF8);
  std::atexit([] { ::SetConsoleOutputCP(former_code_page); });
  // The codes that clear a line.
  if (DWORD mode = 0; ::GetConsoleMode(handle_of(standard_error), &mode))
    ::SetConsoleMode(handle_of(standard_error), mode | ENABLE_VIRTUAL_TERMINAL_PROCESSING);
}
