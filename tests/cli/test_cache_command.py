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
