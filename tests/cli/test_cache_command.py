"""`kinloop cache`: shown and cleared."""


def test_cache_is_shown_and_cleared(run, monkeypatch, tmp_path, rows):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    monkeypatch.setenv("COLUMNS", "250")
    status, out, _ = run("cache")
    assert status == 0
    assert ["kernels", "0"] in rows(out)
    assert tmp_path.name in out
    status, out, _ = run("cache", "clear")
    assert (status, out) == (0, "removed 0 kernels\n")


def test_a_cache_that_is_not_used_says_why(run, monkeypatch, tmp_path, rows):
    monkeypatch.setenv("KINLOOP_CACHE_DIR", str(tmp_path))
    (tmp_path / "kernels").mkdir(mode=0o700)
    assert ["in use", "yes"] in rows(run("cache")[1])
    (tmp_path / "kernels").chmod(0o777)
    assert ["in use", "no (others may write to it)"] in rows(run("cache")[1])
    monkeypatch.setenv("KINLOOP_CACHE", "off")
    assert ["in use", "no (KINLOOP_CACHE=off)"] in rows(run("cache")[1])
