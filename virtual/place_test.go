// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// TestPlaces resolves locations of hostile references, relative to a manifest at
// s3://bucket/a/b/m.vz, from where https://host/data and s3://other/x are allowed.
func TestPlaces(t *testing.T) {
	ctx := WithAllowed(t.Context(), "https://Host.example:443/data", "s3://other/x?endpoint=http://mine", "/srv/open")
	dir, err := store.ParsePath("b")
	if err != nil {
		t.Fatal(err)
	}
	s, err := newSites(ctx, memstore.New(), dir, "s3://bucket/a/b", "m.vz")
	if err != nil {
		t.Fatal(err)
	}
	local, err := newSites(ctx, memstore.New(), dir, "/home/me/b", "m.vz")
	if err != nil {
		t.Fatal(err)
	}
	for _, x := range []struct {
		from     *sites
		location string
		want     string // a key beside the manifest, or a location elsewhere; "" is refused
	}{
		{s, "../x.nc", "b/x.nc"},
		{s, "../sub/x.nc", "b/sub/x.nc"},
		{s, "data/0123", "b/m.vz/data/0123"},
		{s, "../sub/../x.nc", "b/x.nc"},
		{s, ".././x.nc", "b/x.nc"},
		{s, "..//x.nc", "b/x.nc"},
		{s, "../../x.nc", ""},
		{s, "../sub/../../x.nc", ""},
		{s, "../../b/x.nc", "b/x.nc"},
		{s, "../../bb/x.nc", ""},
		{s, "../../../../../etc/passwd", ""},
		{s, `..\x.nc`, ""},
		{s, "../x\x00.nc", ""},
		{s, "/etc/passwd", ""},
		{s, "/srv/open/x.nc", ""}, // local, from a manifest that is not
		{s, "file:///srv/open/x.nc", ""},
		{s, "FILE:///srv/open/x.nc", ""},
		{s, "file://localhost/srv/open/x.nc", ""},
		{s, "s3://bucket/a/b/x.nc", "b/x.nc"},
		{s, "S3://bucket/a/b/x.nc", "b/x.nc"},
		{s, "s3://bucket/a/b/../c/x.nc", ""},
		{s, "s3://bucket/a/b/%2e%2e/x.nc", "b/%2e%2e/x.nc"}, // keys are not encoded
		{s, "s3://other/x/a?b/y.nc", "s3://other/x/a?endpoint=http://mine"},
		{s, "../../../other/x/?endpoint=http://evil", ""},
		{s, "s3://bucket/a/bc/x.nc", ""},
		{s, "s3://bucket/a/x.nc", ""},
		{s, "s3://other/x/y.nc", "s3://other/x/y.nc?endpoint=http://mine"},
		{s, "s3://other/x/y.nc?endpoint=http://evil", "s3://other/x/y.nc?endpoint=http://mine"},
		{s, "s3://other/x", "s3://other/x?endpoint=http://mine"},
		{s, "s3://other/xy.nc", ""},
		{s, "s3://other/x/../y.nc", ""},
		{s, "s3://other/", ""},
		{s, "s3://user:secret@other/x/y.nc", ""},
		{s, "gs://other/x/y.nc", ""},
		{s, "https://host.example/data/x.nc", "https://host.example/data/x.nc"},
		{s, "https://HOST.EXAMPLE/data/x.nc", "https://host.example/data/x.nc"},
		{s, "https://host.example./data/x.nc", "https://host.example/data/x.nc"},
		{s, "https://host.example:443/data/x.nc", "https://host.example/data/x.nc"},
		{s, "https://host.example/data/x.nc?sig=1", "https://host.example/data/x.nc?sig=1"},
		{s, "https://host.example:8443/data/x.nc", ""},
		{s, "http://host.example/data/x.nc", ""},
		{s, "https://host.example/database/x.nc", ""},
		{s, "https://host.example/data/../x.nc", ""},
		{s, "https://host.example/data/%2e%2e/x.nc", ""},
		{s, "https://host.example/data/%2E./x.nc", ""},
		{s, "https://host.example/data%2f..%2fx.nc", ""},
		{s, "https://host.example/data\\..\\x.nc", ""},
		{s, "https://host.example@evil.example/data/x.nc", ""},
		{s, "https://evil.example/data/x.nc", ""},
		{s, "https://evil.example#@host.example/data/x.nc", ""},
		{s, "https:///data/x.nc", ""},
		{s, "https:host.example/data/x.nc", "b/m.vz/https:host.example/data/x.nc"}, // a name

		{s, "//host.example/data/x.nc", ""},
		{s, "http://127.0.0.1/x.nc", ""},
		{s, "http://[::1]/x.nc", ""},
		{s, "http://169.254.169.254/latest/meta-data", ""},
		{s, "http://0x7f000001/x.nc", ""},
		{s, "http://localhost:8080/x.nc", ""},
		{s, "ftp://host.example/data/x.nc", ""},
		{s, "://x", ""},
		{s, "https://[", ""},
		{s, "", "b/m.vz"},
		{local, "../x.nc", "b/x.nc"},
		{local, "/home/me/b/x.nc", "b/x.nc"},
		{local, "file:///home/me/b/x.nc", "b/x.nc"},
		{local, "file:///home/me/b/%2e%2e/x.nc", ""},
		{local, "/home/me/x.nc", ""},
		{local, "/home/me/bb/x.nc", ""},
		{local, "/home/me/b/../x.nc", ""},
		{local, "/srv/open/x.nc", "/srv/open/x.nc"},
		{local, "/srv/open/../x.nc", ""},
		{local, "/srv/opened/x.nc", ""},
		{local, "file://host/srv/open/x.nc", ""},
		{local, "https://host.example/data/x.nc", "https://host.example/data/x.nc"},
	} {
		got, err := x.from.resolve(x.location)
		switch {
		case x.want == "" && err == nil:
			t.Errorf("%q leads to %s", x.location, got)
		case x.want == "":
			if !errors.Is(err, ErrNotAllowed) && !errors.Is(err, store.ErrInvalidKey) {
				t.Errorf("%q: %v", x.location, err)
			}
		case err != nil || got != x.want:
			t.Errorf("%q leads to %q, want %q (%v)", x.location, got, x.want, err)
		}
	}
}

// TestOwnValues reads what lies in folders with the names of manifests and references as
// it is stored there: never what these show, which could go round in circles.
func TestOwnValues(t *testing.T) {
	dir := t.TempDir()
	s, err := newSites(WithAllowed(t.Context(), dir), memstore.New(), store.Path{}, "/elsewhere", "m.vz")
	if err != nil {
		t.Fatal(err)
	}
	defer s.close()
	stored := []string{"a.vz/data/0123", "sub/a.vz/data/0123", "a.vz/manifest.json", "a.vz/b.vz/data/0123", "a.parq/b.vz/data/0123", "c.vz/v/c/0"}
	for _, name := range stored {
		file := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(file), 0o777), os.WriteFile(file, []byte(name), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(dir, "a.json"), []byte(`{"key": "value"}`), 0o666); err != nil {
		t.Fatal(err)
	}
	if v, path, err := store.OpenLocation(t.Context(), filepath.Join(dir, "a.json"), store.ReadOnly); err != nil || referencesOf(v) == nil || path != (store.Path{}) {
		t.Fatalf("a.json shows nothing: %v", err)
	}
	for name, want := range map[string]error{"a.json/key": fs.ErrNotExist, "a.vz/v/c/0": fs.ErrNotExist, "../a.vz/data/0123": ErrNotAllowed, "a.vz/../../data": ErrNotAllowed} {
		if got, err := readSite(t, s, dir, name); !errors.Is(err, want) {
			t.Errorf("%s: %q (%v), want %v", name, got, err, want)
		}
	}
	for _, name := range stored {
		if got, err := readSite(t, s, dir, name); err != nil || got != name {
			t.Errorf("%s: %q (%v)", name, got, err)
		}
	}
	if err := gone("../a.json/key"); !errors.Is(err, errSourceChanged) || !strings.Contains(err.Error(), "as they are stored") {
		t.Error(err)
	}
}

// readSite reads a source below a folder.
func readSite(t *testing.T, s *sites, dir, name string) (string, error) {
	t.Helper()
	at, err := s.of(filepath.ToSlash(dir) + "/" + name)
	if err != nil {
		return "", err
	}
	got, _, err := at.store.Get(t.Context(), at.key, store.Request{}, nil)
	return string(got), err
}

// resolve returns the key of a source beside the manifest, or its location elsewhere.
func (s *sites) resolve(location string) (string, error) {
	p, key, err := s.lead(location)
	if err != nil || !key.IsZero() {
		return key.String(), err
	}
	return p.String(), nil
}

// FuzzPlace resolves drawn locations: none leads out of the folder.
func FuzzPlace(f *testing.F) {
	for _, location := range []string{"../x.nc", "../../b/../x", "s3://bucket/a/b/x", "file:///etc/passwd", "%2e%2e/x", "s3://bucket/a/b/..%2f..%2fx"} {
		f.Add(location)
	}
	f.Fuzz(func(t *testing.T, location string) {
		dir, err := store.ParsePath("a/b")
		if err != nil {
			t.Fatal(err)
		}
		s, err := newSites(t.Context(), memstore.New(), dir, "s3://bucket/a/b", "m.vz")
		if err != nil {
			t.Fatal(err)
		}
		if _, key, err := s.lead(location); err == nil && !dir.Contains(key) {
			t.Errorf("%q leads to %s", location, key)
		}
	})
}
