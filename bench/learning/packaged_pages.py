"""Manual pages of Debian's packages."""
import random
import re
import subprocess
import sys
import tempfile
from collections import defaultdict
from pathlib import Path

from manuals import page_text

SECTIONS = "12358"
MOST_PACKAGES = {"1": 300, "2": 1000, "3": 500, "5": 600, "8": 500}  # those of section 2 are few
MOST_BYTES = 1_000_000  # of a package
AT_ONCE = 50  # packages to download


def listed_packages():
    """Returns the names of the packages that have pages of each section, by apt-file."""
    packages = defaultdict(set)
    lines = subprocess.run(["apt-file", "search", "-x", rf"^/usr/share/man/man[{SECTIONS}]/[^/]*\.gz$"],
                           stdout=subprocess.PIPE, text=True).stdout.splitlines()
    for line in lines:
        package, path = line.split(": ")
        packages[path.split("/man/man")[1][0]].add(package)
    if not packages:
        sys.exit("apt-file finds no manual pages: apt-get install apt-file && apt-file update")
    return packages


def described(packages):
    """Returns what apt-cache knows of the packages that can be downloaded: Size in bytes and Source, by name."""
    text = subprocess.run(["apt-cache", "--no-all-versions", "show", *packages], stdout=subprocess.PIPE,
                          stderr=subprocess.DEVNULL, text=True).stdout
    entries = [dict(re.findall(r"^(Package|Size|Source): (\S+)", entry, re.MULTILINE)) for entry in text.split("\n\n")]
    return {entry["Package"]: entry for entry in entries if {"Package", "Size"} <= entry.keys()}


def sources(packages):
    """Returns the name of the source package of each package."""
    packages = list(packages)
    known = described(packages)
    return {package: known.get(package, {}).get("Source", package) for package in packages}


def selected_packages():
    """Returns a random selection of the packages, which depends only on the lists of apt-file and apt-cache."""
    selected = set()
    for section, packages in sorted(listed_packages().items()):
        small = sorted(name for name, entry in described(packages).items()
                       if int(entry["Size"]) <= MOST_BYTES or section == "2")
        random.Random(section).shuffle(small)
        selected.update(small[:MOST_PACKAGES[section]])
    return sorted(selected)


def unpack(package, folder):
    """Writes the English manual pages of a package to folder/SECTION."""
    with tempfile.TemporaryDirectory() as unpacked:
        subprocess.run(["dpkg-deb", "--extract", package, unpacked], check=True)
        for section in SECTIONS:
            for page in sorted(Path(unpacked, "usr/share/man", f"man{section}").glob("*.gz")):
                if not page.is_symlink():
                    (folder / section).mkdir(parents=True, exist_ok=True)
                    page.rename(folder / section / page.name)


def download(folder):
    """Downloads packages and keeps their manual pages, as folder/PACKAGE/SECTION/NAME.gz. Continues after an
    interruption. Returns the folders of the packages."""
    names = folder / "packages"
    if not names.exists():
        selected = "\n".join(selected_packages())
        folder.mkdir(parents=True, exist_ok=True)
        names.write_text(selected)
    packages = names.read_text().split()
    missing = [package for package in packages if not (folder / package).exists()]
    for first in range(0, len(missing), AT_ONCE):
        print(f"downloading packages: {len(packages) - len(missing) + first} of {len(packages)}", file=sys.stderr)
        with tempfile.TemporaryDirectory() as debs:
            subprocess.run(["apt-get", "-qq", "download", *missing[first:first + AT_ONCE]], cwd=debs,
                           stderr=subprocess.DEVNULL)
            for deb in sorted(Path(debs).glob("*.deb")):
                new = folder / "new"
                new.mkdir(parents=True, exist_ok=True)
                unpack(deb, new)
                new.rename(folder / deb.name.split("_")[0])
    return [folder / package for package in packages if (folder / package).exists()]


def body(path):
    """Returns the text of a manual page without its header, its section NAME, its own name, and the section numbers in
    references to other pages."""
    text = page_text(path).lstrip("\n").partition("\n")[2]  # the first line is the section NAME
    name = path.name.split(".")[0]
    text = re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", "", text, flags=re.IGNORECASE)
    text = re.sub(r"\(\s*[1-9][a-zA-Z]{0,4}\s*\)", "", text)
    return re.sub(r"[ \t]+", " ", re.sub(r"\s*\n\s*", "\n", text)).strip()
