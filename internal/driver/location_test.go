// SPDX-License-Identifier: Apache-2.0

package driver_test

import (
	"errors"
	"strings"
	"testing"

	"varve.dev/zarr/internal/driver"
	"varve.dev/zarr/store"
)

// TestLocationPath refuses empty segments, which keys do not have.
func TestLocationPath(t *testing.T) {
	for path, want := range map[string]string{"": "", "/": "", "a": "a", "a/": "a", "a/b.zarr/c/": "a/b.zarr/c"} {
		if got, err := driver.LocationPath(path); err != nil || got != want {
			t.Errorf("%q is %q (%v), want %q", path, got, err, want)
		}
	}
	for _, path := range []string{"/a", "//", "a//", "a//b", "/a/"} {
		if got, err := driver.LocationPath(path); !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), "empty segment") {
			t.Errorf("%q is %q (%v)", path, got, err)
		}
	}
	for path, want := range map[string]string{
		"cd//ef@bucket/x": "the path has", "a//b": `the path "a//b" has`, "//" + strings.Repeat("é", 500): `é"… has`,
	} {
		if _, err := driver.LocationPath(path); err == nil || !strings.Contains(err.Error(), want) || len(err.Error()) > 300 {
			t.Errorf("%.20q: %v, want %s", path, err, want)
		}
	}
}

// TestUnknownOption checks which names are proposed for an unknown option.
func TestUnknownOption(t *testing.T) {
	known := []string{"region", "endpoint", "storage_class", "anon"}
	for name, want := range map[string]string{
		"regio": "(did you mean region?)", "Region": "(did you mean region?)", "storage_clas": "(did you mean storage_class?)",
		"ano": "(did you mean anon?)", "": "option \"\";", "zzzzzz": "option \"zzzzzz\";", strings.Repeat("a", 1000): "no such option",
		"wJalrXUtnFEMI/K7MDENG": "no such option;", strings.Repeat("s", 41): "no such option;", "token9": "no such option;",
	} {
		err := driver.UnknownOption(name, known)
		if !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), want) || len(err.Error()) > 200 {
			t.Errorf("%.20q: %v, want %s", name, err, want)
		}
	}
}

func TestCutPath(t *testing.T) {
	for _, c := range []struct{ path, root, rest string }{
		{"a/b.zarr/c/d.zarr", "a/b.zarr", "c/d.zarr"}, {"a.zarr", "a.zarr", ""}, {"a/.zarr/b.zarr/c", "a/.zarr/b.zarr", "c"},
	} {
		if root, rest, found := driver.CutPath(c.path, ".zarr"); root != c.root || rest != c.rest || !found {
			t.Errorf("%s: %q and %q, %t", c.path, root, rest, found)
		}
	}
	for _, path := range []string{"", ".zarr", "a/b", "a.zarr.b/c"} {
		if root, rest, found := driver.CutPath(path, ".zarr"); root != path || rest != "" || found {
			t.Errorf("%s: %q and %q, %t", path, root, rest, found)
		}
	}
}
