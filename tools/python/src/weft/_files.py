"""Writing files."""

import os


def write_file(content: bytes, path: str) -> None:
    """Writes the content to a temporary file, and then renames this file to `path`."""
    part = f"{path}.{os.getpid()}.part"
    try:
        with open(part, "wb") as file:
            file.write(content)
        os.replace(part, path)
    finally:
        if os.path.exists(part):
            os.remove(part)
