// SPDX-License-Identifier: Apache-2.0

package checksums_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/check/checksums"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/internal/test/memtest"
	"varve.dev/zarr/store"
)

// archive makes a group with two arrays in a folder.
func archive(t *testing.T) string {
	t.Helper()
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "a.zarr")
	g := fixture.Must(zarr.CreateGroup(ctx, dir, nil, nil))
	for _, name := range []string{"x", "sub/y"} {
		spec := zarr.Spec{Shape: []int64{10}, Type: dtype.Int32, Chunks: []grid.Cut{grid.Edges(3, 7)}}
		a := fixture.Must(g.At(name).CreateArray(ctx, spec, nil))
		if err := zarr.Write(ctx, a, nil, fixture.Numbers(1, 10)); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func locate(t *testing.T, dir string) *zarr.Location {
	t.Helper()
	return fixture.Must(zarr.Locate(context.Background(), dir, store.ReadOnly))
}

func write(t *testing.T, at *zarr.Location, opt *checksums.Options) (string, checksums.Report) {
	t.Helper()
	var list strings.Builder
	r, err := checksums.Write(context.Background(), at, &list, opt)
	if err != nil {
		t.Fatal(err)
	}
	return list.String(), r
}

// TestWrite compares the list with the files themselves, and with sha256sum where there
// is one.
func TestWrite(t *testing.T) {
	dir := archive(t)
	list, r := write(t, locate(t, dir), nil)
	var want []string
	size := int64(0)
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || strings.HasPrefix(d.Name(), "__") {
			return err
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name)
		want = append(want, fmt.Sprintf("%x  %s", sha256.Sum256(data), filepath.ToSlash(rel)))
		size += int64(len(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Split(strings.TrimSuffix(list, "\n"), "\n")
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || r.Values != int64(len(want)) || r.Bytes != size || len(want) != 8 {
		t.Errorf("%+v\ngot  %q\nwant %q", r, got, want)
	}
	program, err := exec.LookPath("sha256sum")
	if err != nil {
		t.Skip("there is no sha256sum here")
	}
	c := exec.Command(program, "--check", "--strict", "--quiet")
	c.Dir, c.Stdin = dir, strings.NewReader(list)
	if out, err := c.CombinedOutput(); err != nil {
		t.Errorf("sha256sum: %v: %s", err, out)
	}
}

// TestCompare changes, removes and adds a file.
func TestCompare(t *testing.T) {
	ctx := context.Background()
	dir := archive(t)
	list, _ := write(t, locate(t, dir), nil)
	compare := func(list string) checksums.Comparison {
		t.Helper()
		c, err := checksums.Compare(ctx, locate(t, dir), strings.NewReader(list), nil)
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	if c := compare(list); len(c.Findings) > 0 || c.Values != 8 {
		t.Errorf("unchanged: %+v", c)
	}
	// The form of other programs.
	other := strings.ReplaceAll(strings.ReplaceAll(list, "  ", " *./"), "\n", "\r\n")
	if c := compare(other); len(c.Findings) > 0 {
		t.Errorf("in another form: %+v", c)
	}
	for name, do := range map[string]func(string) error{
		"x/c/0":     func(name string) error { return os.WriteFile(name, []byte("other"), 0o600) },
		"x/c/1":     os.Remove,
		"sub/notes": func(name string) error { return os.WriteFile(name, nil, 0o600) },
	} {
		if err := do(filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	c := compare(list)
	slices.SortFunc(c.Findings, func(a, b checksums.Finding) int { return strings.Compare(a.Key, b.Key) })
	want := []checksums.Finding{{"sub/notes", "added"}, {"x/c/0", "changed"}, {"x/c/1", "missing"}}
	if !slices.Equal(c.Findings, want) {
		t.Errorf("%+v", c.Findings)
	}
}

// TestLines has lists that are none.
func TestLines(t *testing.T) {
	at := zarr.At(memtest.New(), "")
	for _, text := range []string{"x", strings.Repeat("0", 64), strings.Repeat("0", 64) + " x", strings.Repeat("g", 64) + "  x", strings.Repeat("0", 63) + "  xy"} {
		_, err := checksums.Compare(context.Background(), at, strings.NewReader("\n"+text+"\n"), nil)
		if !errors.Is(err, zarr.ErrInvalidArgument) || !strings.Contains(err.Error(), "line 2") {
			t.Errorf("%q: %v", text, err)
		}
	}
}

// TestOddNames has names of other programs that are no keys, and keys that need no
// escapes.
func TestOddNames(t *testing.T) {
	s := memtest.New()
	for _, key := range []string{"ä b", "-x", "*y", "plain"} {
		fixture.Put(t, s, key, key)
	}
	list, _ := write(t, zarr.At(s, ""), nil)
	list += fmt.Sprintf("\\%064x  new\\nline\\\\\n", 0)
	c, err := checksums.Compare(context.Background(), zarr.At(s, ""), strings.NewReader(list), nil)
	if want := []checksums.Finding{{"new\nline\\", "missing"}}; err != nil || !slices.Equal(c.Findings, want) || c.Values != 4 {
		t.Errorf("%+v, %v, list %q", c, err, list)
	}
}

// TestLongValues reads a value in parts.
func TestLongValues(t *testing.T) {
	s := memtest.New()
	data := bytes.Repeat([]byte("0123456789abcde"), 1<<20)
	fixture.Put(t, s, "long", string(data))
	list, r := write(t, zarr.At(s, ""), nil)
	if want := fmt.Sprintf("%x  long\n", sha256.Sum256(data)); list != want || r.Bytes != int64(len(data)) {
		t.Errorf("%s, %+v, want %s", list, r, want)
	}
}

// TestFailure ends at the first value that cannot be read, and leaves nothing running.
func TestFailure(t *testing.T) {
	s := &failing{Store: memtest.New()}
	for i := range 100 {
		fixture.Put(t, s.Store, fmt.Sprint(i), "value")
	}
	_, err := checksums.Write(context.Background(), zarr.At(s, ""), &strings.Builder{}, nil)
	if !errors.Is(err, errBroken) || !strings.Contains(err.Error(), `"50"`) {
		t.Errorf("%v", err)
	}
}

var errBroken = errors.New("broken")

// failing is a store with a value that cannot be read.
type failing struct{ memtest.Store }

func (f *failing) Get(ctx context.Context, key store.Key, q store.Request, room []byte) ([]byte, store.Info, error) {
	if key.String() == "50" {
		return nil, store.Info{}, errBroken
	}
	return f.Store.Get(ctx, key, q, room)
}

// TestChangedMeanwhile replaces a long value while its parts are read: the sum is that of
// one version.
func TestChangedMeanwhile(t *testing.T) {
	old, next := strings.Repeat("a", 10<<20), strings.Repeat("b", 10<<20)
	s := &replacing{Store: memtest.New(), t: t, replacement: next}
	fixture.Put(t, s.Store, "long", old)
	list, _ := write(t, zarr.At(s, ""), nil)
	if want := fmt.Sprintf("%x  long\n", sha256.Sum256([]byte(next))); list != want {
		t.Errorf("%s, want %s", list, want)
	}
}

// replacing is a store whose value is replaced after the first part was read.
type replacing struct {
	memtest.Store
	t           *testing.T
	replacement string
	done        bool
}

func (r *replacing) Get(ctx context.Context, key store.Key, q store.Request, room []byte) ([]byte, store.Info, error) {
	data, info, err := r.Store.Get(ctx, key, q, room)
	if err == nil && !r.done {
		r.done = true
		fixture.Put(r.t, r.Store, "long", r.replacement)
	}
	return data, info, err
}
