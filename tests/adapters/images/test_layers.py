"""Files of an image are found by the COPY of its Dockerfile, and nothing outside its context is read."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest

from gpulint.adapters.images import layers
from gpulint.pipeline.rule_tests.samples import ExampleRepository
from gpulint.workload import Build

if TYPE_CHECKING:
    from gpulint.source.repository import Repository


def find(steps: str, path: str, *files: str, context: str | None = "a", folder: str = "") -> str | None:
    held = {"a/Dockerfile": f"FROM x\n{steps}\n".encode(), **dict.fromkeys(files, b"x")}
    repository = cast("Repository", ExampleRepository(held))
    layer = layers.read(Build("a/Dockerfile", context), repository)
    assert layer is not None
    return layers.find_file((layer,), path, folder or layer.image.folder, repository)


@pytest.mark.parametrize(
    ("steps", "path", "files", "found"),
    [
        pytest.param("COPY run.sh /run.sh", "/run.sh", ["a/run.sh"], "a/run.sh", id="a file"),
        pytest.param("COPY b/run.sh /", "/run.sh", ["a/b/run.sh"], "a/b/run.sh", id="into a folder"),
        pytest.param("COPY run.sh /bin/start", "/bin/start", ["a/run.sh"], "a/run.sh", id="under another name"),
        pytest.param("COPY . /app", "/app/b/run.sh", ["a/b/run.sh"], "a/b/run.sh", id="the whole context"),
        pytest.param("WORKDIR /app\nCOPY b c", "c/run.sh", ["a/b/run.sh"], "a/b/run.sh", id="relative to the folder"),
        pytest.param("COPY x.sh y.sh /s/", "/s/y.sh", ["a/x.sh", "a/y.sh"], "a/y.sh", id="several"),
        pytest.param('COPY ["x y.sh", "/s/"]', "/s/x y.sh", ["a/x y.sh"], "a/x y.sh", id="a list"),
        pytest.param("COPY --chmod=755 --link x.sh /s/", "/s/x.sh", ["a/x.sh"], "a/x.sh", id="flags"),
        pytest.param("COPY s/*.sh /s/", "/s/x.sh", ["a/s/x.sh"], "a/s/x.sh", id="a pattern"),
        pytest.param("COPY s/*.sh /s/", "/s/x.py", ["a/s/x.py"], None, id="a pattern that does not match"),
        pytest.param("COPY **/*/*.*?[a] /s/", "/s/x.a", ["a/s/x.a"], None, id="too many wildcards"),
        pytest.param("COPY ../run.sh /run.sh", "/run.sh", ["run.sh"], None, id="above the context"),
        pytest.param("COPY /run.sh /run.sh", "/run.sh", ["run.sh", "a/run.sh"], "a/run.sh", id="an absolute path"),
        pytest.param("COPY . /app", "/app/../../run.sh", ["run.sh"], None, id="a path above the image's root"),
        pytest.param("COPY x.sh /s\nCOPY y.sh /s", "/s", ["a/x.sh", "a/y.sh"], "a/y.sh", id="the last one"),
        pytest.param("COPY x.sh /usr/local/bin/", "x.sh", ["a/x.sh"], "a/x.sh", id="a program of PATH"),
        pytest.param("ADD https://e.com/run.sh /run.sh", "/run.sh", ["a/run.sh"], None, id="from the network"),
        pytest.param("COPY <<EOF /run.sh\nx\nEOF", "/run.sh", ["a/run.sh"], None, id="a here-document"),
        pytest.param("COPY --from=other /run.sh /run.sh", "/run.sh", ["a/run.sh"], None, id="another image"),
        pytest.param("ARG D=b\nCOPY ${D}/x.sh /", "/x.sh", ["a/b/x.sh"], "a/b/x.sh", id="an argument"),
        pytest.param("ONBUILD COPY x.sh /", "/x.sh", ["a/x.sh"], None, id="for another build"),
    ],
)
def test_the_file_behind_a_path_of_the_image(steps: str, path: str, files: list[str], found: str | None) -> None:
    assert find(steps, path, *files) == found


def test_an_unstated_context_is_the_nearest_folder_that_has_the_files() -> None:
    assert find("COPY a/run.sh /", "/run.sh", "a/run.sh", context=None) == "a/run.sh"
    assert find("COPY run.sh /", "/run.sh", "a/run.sh", "run.sh", context=None) == "a/run.sh"


def test_stages_that_copy_from_one_another_end() -> None:
    steps = "\n".join(f"FROM x AS s{at}\nCOPY --from=s{(at + 1) % 9} /run.sh /run.sh" for at in range(9))
    assert find(f"{steps}\nFROM x\nCOPY --from=s0 /run.sh /run.sh", "/run.sh", "a/run.sh") is None
