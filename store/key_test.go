// SPDX-License-Identifier: Apache-2.0

package store_test

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"varve.dev/zarr/store"
)

// legalKeys and illegalKeys are names that have caused problems: by leading out of a
// store, on some platforms, or by their encoding.
var legalKeys = []string{
	"zarr.json", "c/0/1", "a", "a/b/c/d/e", "c.0.1", "0", "-1", "__x", "__tmp", "__", "_", "a_b", ".hidden", "..a", "a..", "...",
	"a...b", "....", "a/.../b", ".zarray", ".zgroup/x", "a b", " ", " a", "a ", "a/ /b", "%2e%2e", "%2F", "a%00b", "%",
	"#", "?", "*", "[a]", "{a}", "(a)", "'", "\"", "`", "$HOME", "${x}", "~", "~root", "&", ";", "|", "<", ">", "=", "+", ",", "@", "!",
	"^", ":", "ab:c", "é", "e\u0301", "日本語", "☃", "𝄞", "\u202e", "\ufeff", "\u00a0", "\u2028", "\u200b", "\u212a", "ſ",
	"con", "NUL", "com1", "aux.txt", "lpt9", "a.", "a/b./c", "Zarr.json", "ZARR.JSON", "null", "true", "1e400",
	strings.Repeat("k", 1024), strings.Repeat("a/", 511) + "ab", "1:", "::", "é:",
	"a\nb", "\n", "\t", "a\rb", "\x1b[31m", "\x7f", "a\u0085b", "\u0080", "\u009f",
	`\`, `a\b`, `..\a`, `\\server\share`, `a\`, "C:", "c:", "C:/x", "a/c:/x", "Z:zarr.json", "c:\\x", "x/d:y",
	"\xff", "a\xc3", "\xc0\xaf", "\xed\xa0\x80", "a/\xf0\x28\x8c\x28", "\xc0\xae\xc0\xae/x",
	strings.Repeat("k", 1025), strings.Repeat("é", 513), strings.Repeat("a/", 4096) + "b",
}

var illegalKeys = []string{
	"", "/", "//", "/a", "a/", "a//b", "///a", ".", "..", "./a", "../a", "a/..", "a/.", "a/../b", "a/./b", "../../etc/passwd",
	"a/b/..", "a\x00", "\x00", "a\x00b/c",
}

func TestParseKey(t *testing.T) {
	for _, s := range legalKeys {
		key, err := store.ParseKey(s)
		if err != nil || key.String() != s || key.IsZero() {
			t.Errorf("ParseKey(%q): %q and error %v", s, key, err)
		}
	}
	for _, s := range illegalKeys {
		key, err := store.ParseKey(s)
		if !errors.Is(err, store.ErrInvalidKey) || !key.IsZero() {
			t.Errorf("ParseKey(%q): %q and error %v, want %v", s, key, err, store.ErrInvalidKey)
		}
	}
	if n := len(legalKeys) + len(illegalKeys); n < 100 {
		t.Errorf("%d names, want at least 100", n)
	}
}

func TestMustKey(t *testing.T) {
	defer func() {
		if recover() == nil {
			t.Error("no panic")
		}
	}()
	store.MustKey("../a")
}

func TestKeyParts(t *testing.T) {
	for _, c := range []struct{ key, dir, base string }{
		{"zarr.json", "", "zarr.json"}, {"a/zarr.json", "a", "zarr.json"}, {"t2m/c/0/1", "t2m/c/0", "1"},
	} {
		key := store.MustKey(c.key)
		if key.Dir().String() != c.dir || key.Base() != c.base {
			t.Errorf("%q: %q and %q, want %q and %q", key, key.Dir(), key.Base(), c.dir, c.base)
		}
	}
}

func TestParsePath(t *testing.T) {
	for s, want := range map[string]string{
		"": "", "/": "", "a": "a", "/a": "a", "/a/b": "a/b", "a/zarr.jsonx": "a/zarr.jsonx", "a/_b": "a/_b", "a/.b": "a/.b",
		"__x": "__x", "a/__b": "a/__b", "__": "__", "__varve2": "__varve2", "__tmp": "__tmp", "a__varve": "a__varve",
		"...": "...", "a/....": "a/....", "a/__tmp-1/b": "a/__tmp-1/b", "zarr.json/a": "zarr.json/a", "T:2m/a\tb": "T:2m/a\tb",
	} {
		if p, err := store.ParsePath(s); err != nil || p.String() != want {
			t.Errorf("ParsePath(%q): %q and error %v, want %q", s, p, err, want)
		}
	}
	for _, s := range append(illegalKeys,
		"//a", "a/", "__varve", "a/__varve", "__varve/a", "/..", "/a/../b",
	) {
		if s == "" || s == "/" || s == "/a" {
			continue
		}
		if p, err := store.ParsePath(s); !errors.Is(err, store.ErrInvalidKey) {
			t.Errorf("ParsePath(%q): %q and error %v, want %v", s, p, err, store.ErrInvalidKey)
		}
	}
}

func path(t *testing.T, s string) store.Path {
	t.Helper()
	p, err := store.ParsePath(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func TestPathParts(t *testing.T) {
	for _, c := range []struct{ path, parent, name string }{{"", "", ""}, {"a", "", "a"}, {"a/b/c", "a/b", "c"}} {
		p := path(t, c.path)
		if p.Parent().String() != c.parent || p.Name() != c.name || p.IsRoot() != (c.path == "") {
			t.Errorf("%q: parent %q, name %q, root %t", p, p.Parent(), p.Name(), p.IsRoot())
		}
	}
}

func TestJoin(t *testing.T) {
	for _, c := range []struct{ path, rel, want string }{
		{"", "", ""}, {"", "a", "a"}, {"a", "", "a"}, {"a", "/", "a"}, {"a", "b", "a/b"}, {"a", "/b/c", "a/b/c"},
	} {
		if p, err := path(t, c.path).Join(c.rel); err != nil || p.String() != c.want {
			t.Errorf("%q.Join(%q): %q and error %v, want %q", c.path, c.rel, p, err, c.want)
		}
	}
	for _, rel := range []string{"..", "a/../..", "__varve", "a//b", "b\x00"} {
		if p, err := path(t, "a").Join(rel); !errors.Is(err, store.ErrInvalidKey) || !p.IsRoot() {
			t.Errorf("Join(%q): %q and error %v, want %v", rel, p, err, store.ErrInvalidKey)
		}
	}
}

func TestContains(t *testing.T) {
	for _, c := range []struct{ path, key, rel string }{
		{"", "a", "a"}, {"", "a/b", "a/b"}, {"a", "a/b", "b"}, {"a", "a/b/c", "b/c"}, {"a/b", "a/b/c", "c"},
		{"a", "a", ""}, {"a", "ab/c", ""}, {"a", "b/a", ""}, {"a/b", "a/bc", ""}, {"a/b", "a", ""},
	} {
		p, key := path(t, c.path), store.MustKey(c.key)
		if p.Contains(key) != (c.rel != "") || p.Rel(key) != c.rel {
			t.Errorf("%q of %q: contains %t, rest %q, want %q", key, p, p.Contains(key), p.Rel(key), c.rel)
		}
		if c.rel != "" && p.MustKey(c.rel) != key {
			t.Errorf("%q.Key(%q) is %q, want %q", p, c.rel, p.MustKey(c.rel), key)
		}
	}
}

// TestKeyAlgebra draws keys and checks that a key is the key of its base in its
// directory.
func TestKeyAlgebra(t *testing.T) {
	seg := rapid.StringMatching(`[a-z0-9.]{0,3}[a-z0-9]`)
	rapid.Check(t, func(r *rapid.T) {
		key := store.MustKey(strings.Join(rapid.SliceOfN(seg, 1, 6).Draw(r, "segments"), "/"))
		if again := key.Dir().MustKey(key.Base()); again != key {
			r.Fatalf("%q becomes %q", key, again)
		}
		for dir := key.Dir(); ; dir = dir.Parent() {
			if !dir.Contains(key) || dir.MustKey(dir.Rel(key)) != key {
				r.Fatalf("%q is not below %q", key, dir)
			}
			if dir.IsRoot() {
				return
			}
		}
	})
}

func FuzzParseKey(f *testing.F) {
	for _, s := range append(legalKeys, illegalKeys...) {
		f.Add(s)
	}
	root := filepath.Join(string(filepath.Separator), "root", "store")
	f.Fuzz(func(t *testing.T, s string) {
		key, err := store.ParseKey(s)
		if err != nil {
			if !errors.Is(err, store.ErrInvalidKey) {
				t.Fatalf("error is %v", err)
			}
			return
		}
		if again, err := store.ParseKey(key.String()); err != nil || again != key || key.String() != s {
			t.Fatalf("%q becomes %q, error %v", s, again, err)
		}
		if !utf8.ValidString(s) {
			return // Localize refuses it
		}
		local, err := filepath.Localize(key.String())
		if err != nil {
			return // this platform cannot hold it, and the file store says so
		}
		name := filepath.Join(root, local)
		if rel, err := filepath.Rel(root, name); err != nil || filepath.ToSlash(rel) != s {
			t.Fatalf("%q becomes %q below the root, error %v", s, rel, err)
		}
	})
}

func FuzzParsePath(f *testing.F) {
	for _, s := range append(legalKeys, illegalKeys...) {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		p, err := store.ParsePath(s)
		if err != nil || p.IsRoot() {
			return
		}
		if again, err := store.ParsePath("/" + p.String()); err != nil || again != p {
			t.Fatalf("%q becomes %q, error %v", p, again, err)
		}
		if _, err := store.ParseKey(p.String()); err != nil {
			t.Fatalf("%q is no key: %v", p, err)
		}
		if up, err := p.Parent().Join(p.Name()); err != nil || up != p {
			t.Fatalf("%q becomes %q, error %v", p, up, err)
		}
	})
}

func ExampleParseKey() {
	key, err := store.ParseKey("t2m/c/0/1")
	fmt.Println(key.Dir(), key.Base(), err)
	_, err = store.ParseKey("../secret")
	fmt.Println(err)
	// Output:
	// t2m/c/0 1 <nil>
	// invalid key "../secret": segment ".." leads out of its directory
}

// TestPathKey checks that no name leads out of a path.
func TestPathKey(t *testing.T) {
	p := path(t, "a/b")
	if key, err := p.Key("c/0/1"); err != nil || key.String() != "a/b/c/0/1" {
		t.Errorf("%q, error %v", key, err)
	}
	for _, rel := range []string{"", "../../etc/passwd", "/etc", "c/..", "c//0", "c/\x00"} {
		if key, err := p.Key(rel); !errors.Is(err, store.ErrInvalidKey) || !key.IsZero() {
			t.Errorf("%q: key %q, error %v", rel, key, err)
		}
	}
	if key := p.MustKey(strings.Repeat("x", 1024)); len(key.String()) != 1028 {
		t.Errorf("a long key has %d bytes", len(key.String()))
	}
	defer func() {
		if recover() == nil {
			t.Error("MustKey accepts ..")
		}
	}()
	p.MustKey("../x")
}

func TestAsKey(t *testing.T) {
	if key := path(t, "a/b").AsKey(); key.String() != "a/b" {
		t.Errorf("%q", key)
	}
	if key := path(t, "").AsKey(); !key.IsZero() {
		t.Errorf("the root is %q", key)
	}
}

// liar is a store that lists names outside of the directory, and what is no value.
type liar struct{ store.Store }

func (liar) List(context.Context, store.Path, store.Listing) iter.Seq2[store.Entry, error] {
	return func(yield func(store.Entry, error) bool) {
		_ = yield(store.Entry{Name: "x"}, nil) && yield(store.Entry{Name: "../../etc/passwd"}, nil) && yield(store.Entry{Name: "a//b"}, nil) &&
			yield(store.Entry{Name: "pipe", Unusable: "it is a pipe"}, nil) && yield(store.Entry{Name: "y"}, nil) &&
			yield(store.Entry{Name: "/"}, nil) && yield(store.Entry{Name: ""}, nil)
	}
}

func (liar) Stat(context.Context, store.Key) (store.Info, error) { return store.Info{}, nil }

// TestListRefusesNames checks that names that are no keys come in one error, after the
// others.
func TestListRefusesNames(t *testing.T) {
	for name, list := range map[string]iter.Seq2[store.Entry, error]{
		"plain": store.List(t.Context(), liar{}, path(t, "a"), store.Deep), "with versions": store.List(t.Context(), liar{}, path(t, "a"), store.Deep|store.WithVersions),
	} {
		var names []string
		var failed error
		for e, err := range list {
			if failed = err; err == nil {
				names = append(names, e.Name)
			}
		}
		var bad *store.UnusableError
		if !errors.As(failed, &bad) || !errors.Is(failed, store.ErrUnusable) || !errors.Is(failed, store.ErrInvalidKey) || !slices.Equal(names, []string{"x", "y"}) {
			t.Fatalf("%s: names %q, error %v", name, names, failed)
		}
		if bad.Count != 5 || !slices.Equal(bad.Names, []string{"../../etc/passwd", "a//b", "pipe"}) {
			t.Errorf("%s: %d names, %q", name, bad.Count, bad.Names)
		}
		if text := failed.Error(); !strings.Contains(text, `"a//b" (empty segment`) || !strings.Contains(text, `"pipe" (it is a pipe), and 2 more`) {
			t.Errorf("%s: %s", name, text)
		}
	}
	n := 0
	for e, err := range store.Usable(store.List(t.Context(), liar{}, path(t, "a"), store.Deep)) {
		if n++; err != nil || e.Name != "x" && e.Name != "y" {
			t.Errorf("usable: %q, error %v", e.Name, err)
		}
	}
	if n != 2 {
		t.Errorf("%d usable names", n)
	}
}
