"""Manual pages of Debian's packages."""
import json
import random
import re
import shutil
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from manuals import BREAKS, page_text

SECTIONS = "12358"
MOST_PACKAGES = {"1": 300, "2": 1000, "3": 500, "5": 600, "8": 500}  # those of section 2 are few
MOST_BYTES = 1_000_000  # of a package
AT_ONCE = 50  # packages to download
MDOC_BREAKS = (".Sh", ".Ss", ".Pp", ".It")  # of the pages that use the macros mdoc


def listed_packages():
    """Returns the names of the packages that have pages of each section, by apt-file."""
    packages = defaultdict(set)
    if shutil.which("apt-file"):
        found = subprocess.run(["apt-file", "search", "-x", rf"^/usr/share/man/man[{SECTIONS}]/[^/]*\.gz$"],
                               stdout=subprocess.PIPE, text=True).stdout
        for line in found.splitlines():
            package, path = line.split(": ")
            packages[path.split("/man/man")[1][0]].add(package)
    if not packages:
        sys.exit("expected the list of all packages' files: apt-get install apt-file && apt-file update")
    return packages


def described(packages):
    """Returns what apt-cache knows of the packages that can be downloaded: Size in bytes and Source, by name."""
    text = subprocess.run(["apt-cache", "--no-all-versions", "show", *packages], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    entries = [dict(re.findall(r"^(Package|Size|Source): (\S+)", entry, re.MULTILINE)) for entry in text.split("\n\n")]
    return {entry["Package"]: entry for entry in entries if {"Package", "Size"} <= entry.keys()}


def selected_packages():
    """Returns a random selection of the packages with the names of their source packages. It depends only on the lists
    of apt-file and apt-cache."""
    selected = {}
    for section, packages in sorted(listed_packages().items()):
        known = described(packages)
        small = sorted(name for name, entry in known.items() if int(entry["Size"]) <= MOST_BYTES or section == "2")
        random.Random(section).shuffle(small)
        selected |= {name: known[name].get("Source", name) for name in small[:MOST_PACKAGES[section]]}
    return sorted(selected.items())


def unpack(package, folder):
    """Writes the English manual pages of a package to folder/SECTION."""
    with tempfile.TemporaryDirectory(dir=folder.parent) as unpacked:
        subprocess.run(["dpkg-deb", "--extract", package, unpacked], check=True)
        for section in SECTIONS:
            for page in sorted(Path(unpacked, "usr/share/man", f"man{section}").glob("*.gz")):
                if not page.is_symlink():
                    (folder / section).mkdir(parents=True, exist_ok=True)
                    page.rename(folder / section / page.name)


def download(folder):
    """Downloads packages and keeps their manual pages, as folder/PACKAGE/SECTION/NAME.gz. Continues after an
    interruption. Returns pairs (folder of a package, name of its source package)."""
    folder.mkdir(parents=True, exist_ok=True)
    names = folder / "packages.json"
    if not names.exists():
        names.write_text(json.dumps(selected_packages()))
    packages = json.loads(names.read_text())
    missing = [package for package, _ in packages if not (folder / package).exists()]
    for first in range(0, len(missing), AT_ONCE):
        print(f"downloading packages: {len(packages) - len(missing) + first} of {len(packages)}", file=sys.stderr)
        with tempfile.TemporaryDirectory(dir=folder) as debs:
            subprocess.run(["apt-get", "-qq", "download", *missing[first:first + AT_ONCE]], cwd=debs)
            for deb in sorted(Path(debs).glob("*.deb")):
                new = Path(debs, "pages")
                new.mkdir()
                unpack(deb, new)
                new.rename(folder / deb.name.split("_")[0])
    lost = [package for package, _ in packages if not (folder / package).exists()]
    if lost:
        print(f"without {len(lost)} packages that apt-get can't download: {' '.join(lost)}", file=sys.stderr)
    return [(folder / package, source) for package, source in packages if package not in lost]


def body(path):
    """Returns the text of a manual page without its header, its section NAME, its own name, and the section numbers in
    references to other pages."""
    text = page_text(path, BREAKS + MDOC_BREAKS).lstrip("\n").partition("\n")[2]  # the first line is the section NAME
    name = path.name.split(".")[0]
    text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\(\s*[1-9][a-zA-Z]{0,4}\s*\)", "", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"\s*\n\s*", "\n", text)).strip()
