// SPDX-License-Identifier: Apache-2.0

package serve_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/codec"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rechunk"
	"varve.dev/zarr/serve"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
)

// damaged is an array of a folder, in three chunks, that something happens to.
type damaged struct {
	dir   string // of the array
	array *zarr.Array
	at    *zarr.Location
}

// file returns the name of a file of the array.
func (d *damaged) file(name string) string { return filepath.Join(d.dir, filepath.FromSlash(name)) }

// change changes the bytes of a file.
func (d *damaged) change(name string, how func([]byte) []byte) error {
	data, err := os.ReadFile(d.file(name))
	if err != nil {
		return err
	}
	return os.WriteFile(d.file(name), how(data), 0o666)
}

// harms are what may happen to an array while it is served, and the statuses of its chunk
// in a view and of its document there. Where the chunk has status 200, it has the
// elements that it had.
var harms = map[string]struct {
	harm            func(t *testing.T, d *damaged) error
	chunk, document int
}{
	"deleted": {func(t *testing.T, d *damaged) error {
		return d.at.Delete(t.Context(), &zarr.Options{Write: true})
	}, 410, 410},
	"its folder removed": {func(_ *testing.T, d *damaged) error { return os.RemoveAll(d.dir) }, 410, 410},
	"its folder renamed": {func(_ *testing.T, d *damaged) error { return os.Rename(d.dir, d.dir+"-old") }, 410, 410},
	"its document removed": {func(_ *testing.T, d *damaged) error {
		return os.Remove(d.file("zarr.json"))
	}, 410, 410},
	"all removed": {func(_ *testing.T, d *damaged) error { return os.RemoveAll(filepath.Dir(d.dir)) }, 410, 410},
	"replaced by a file": {func(_ *testing.T, d *damaged) error {
		return errors.Join(os.RemoveAll(d.dir), os.WriteFile(d.dir, []byte("x"), 0o666))
	}, 410, 410},
	"replaced by a group": {func(t *testing.T, d *damaged) error {
		_, err := d.at.CreateGroup(t.Context(), nil, &zarr.CreateOptions{Overwrite: true})
		return err
	}, 410, 410},
	"replaced by another type": {func(t *testing.T, d *damaged) error {
		_, err := d.at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{9}, Type: dtype.Int16}, &zarr.CreateOptions{Overwrite: true})
		return err
	}, 410, 410},
	"replaced by another rank": {func(t *testing.T, d *damaged) error {
		_, err := d.at.CreateArray(t.Context(), zarr.Spec{Shape: []int64{9, 1}, Type: dtype.Int32}, &zarr.CreateOptions{Overwrite: true})
		return err
	}, 410, 410},
	"replaced by another codec": {func(_ *testing.T, d *damaged) error {
		return d.change("zarr.json", func(b []byte) []byte { return []byte(strings.Replace(string(b), `"crc32c"`, `"unheard"`, 1)) })
	}, 500, 500},
	"elements dropped": {func(t *testing.T, d *damaged) error {
		_, err := rechunk.Do(t.Context(), d.array, rechunk.Removal{Axis: 0, Range: grid.Interval{Start: 0, Stop: 1}}, nil)
		return err
	}, 410, 410},
	"shrunk": {func(t *testing.T, d *damaged) error { return d.array.Resize(t.Context(), []int64{2}, nil) }, 410, 200},
	"re-chunked": {func(t *testing.T, d *damaged) error {
		_, err := rechunk.Do(t.Context(), d.array, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2)}}, nil)
		return err
	}, 200, 200},
	"re-chunked, and what was there removed": {func(t *testing.T, d *damaged) error {
		_, err := rechunk.Do(t.Context(), d.array, rechunk.Rechunking{Chunks: rechunk.Cuts{grid.Every(2)}}, nil)
		if err == nil {
			_, err = rechunk.Vacuum(t.Context(), d.array, &rechunk.VacuumOptions{Grace: -1})
		}
		return err
	}, 200, 200},
	"grown": {func(t *testing.T, d *damaged) error {
		return zarr.Append(t.Context(), d.array, 0, numbers(9, 5), nil)
	}, 200, 200},
	"an empty document": {func(_ *testing.T, d *damaged) error {
		return d.change("zarr.json", func([]byte) []byte { return nil })
	}, 500, 500},
	"half a document": {func(_ *testing.T, d *damaged) error {
		return d.change("zarr.json", func(b []byte) []byte { return b[:len(b)/2] })
	}, 500, 500},
	"a document of zeros": {func(_ *testing.T, d *damaged) error {
		return d.change("zarr.json", func(b []byte) []byte { return make([]byte, len(b)) })
	}, 500, 500},
	"a document of another shape": {func(_ *testing.T, d *damaged) error {
		return d.change("zarr.json", func(b []byte) []byte { return []byte(strings.Replace(string(b), "9", "-9", 1)) })
	}, 500, 500},
	"a folder for a document": {func(_ *testing.T, d *damaged) error {
		return errors.Join(os.Remove(d.file("zarr.json")), os.Mkdir(d.file("zarr.json"), 0o777))
	}, 0, 0},
	"half a chunk": {func(_ *testing.T, d *damaged) error {
		return d.change("c/1", func(b []byte) []byte { return b[:len(b)/2] })
	}, 500, 200},
	"an empty chunk": {func(_ *testing.T, d *damaged) error {
		return d.change("c/1", func([]byte) []byte { return nil })
	}, 500, 200},
	"a longer chunk": {func(_ *testing.T, d *damaged) error {
		return d.change("c/1", func(b []byte) []byte { return append(b, b...) })
	}, 500, 200},
	"a flipped bit": {func(_ *testing.T, d *damaged) error {
		return d.change("c/1", func(b []byte) []byte { b[3] ^= 1; return b })
	}, 500, 200},
	"a link to nothing for a chunk": {func(t *testing.T, d *damaged) error {
		err := os.Remove(d.file("c/1"))
		if linkErr := os.Symlink("none", d.file("c/1")); linkErr != nil {
			t.Skip("this system has no symbolic links for us: ", linkErr)
		}
		return err
	}, 0, 200},
}

// TestHarm damages, deletes, replaces and re-chunks an array while it is served. A chunk
// that a view has described is never missing, because readers would take that for the
// fill value, and never has another value than before.
func TestHarm(t *testing.T) {
	const chunk, document = "/@regular,chunks=3,codec=none/n/c/1", "/@regular,chunks=3,codec=none/n/zarr.json"
	for name, c := range harms {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			s, err := filestore.Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer store.Close(s)
			at := zarr.At(s, "x/n")
			spec := zarr.Spec{Shape: []int64{9}, Type: dtype.Int32, Chunks: grid.Chunks(3), Codecs: []metadata.Extension{codec.Bytes("little"), codec.CRC32C()}}
			a := array(t, s, "x/n", spec, numbers(0, 9))
			h := handler(t, at, nil)
			want := body(t, request(t, h, "GET", chunk))
			if is := request(t, h, "GET", document); is.StatusCode != 200 || len(want) != 12 {
				t.Fatalf("before: status %d, %q", is.StatusCode, want)
			}
			if err := c.harm(t, &damaged{filepath.Join(dir, "x", "n"), a, at}); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				is := request(t, h, "GET", chunk)
				text := body(t, is)
				expectHarm(t, "the chunk", c.chunk, is, text)
				if is.StatusCode == 200 && text != want {
					t.Errorf("the chunk is %q", text)
				}
				is = request(t, h, "GET", document)
				expectHarm(t, "the document", c.document, is, body(t, is))
				if is := request(t, h, "HEAD", chunk); c.chunk != 0 && is.StatusCode != c.chunk {
					t.Errorf("HEAD: status %d", is.StatusCode)
				}
			}
			for _, address := range []string{"/n/c/1", "/n/zarr.json", "/@values/n", "/n/", "/@regular/n/"} {
				is := request(t, h, "GET", address)
				expectHarm(t, address, 0, is, body(t, is))
			}
		})
	}
}

// TestGrowthBehindLink serves an array by a symbolic link. Its view lives through growth,
// but takes no file of Varve for true to which a link leads from elsewhere.
func TestGrowthBehindLink(t *testing.T) {
	dir := t.TempDir()
	s, err := filestore.Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer store.Close(s)
	a := array(t, s, "x/n", zarr.Spec{Shape: []int64{9}, Type: dtype.Int32, Chunks: grid.Chunks(3)}, numbers(0, 9))
	if err := os.Symlink("x", filepath.Join(dir, "now")); err != nil {
		t.Skip("this system has no symbolic links for us: ", err)
	}
	h := handler(t, zarr.At(s, "now/n"), nil)
	const chunk = "/@regular,chunks=9/n/c/0"
	if is := request(t, h, "GET", chunk); is.StatusCode != 200 {
		t.Fatalf("before: status %d", is.StatusCode)
	}
	if err := zarr.Append(t.Context(), a, 0, numbers(9, 1), nil); err != nil {
		t.Fatal(err)
	}
	if is := request(t, h, "GET", chunk); is.StatusCode != 200 {
		t.Errorf("after growth: status %d, %s", is.StatusCode, body(t, is))
	}
	own := filepath.Join(dir, "x", "n", "__varve")
	if err := errors.Join(os.RemoveAll(own), os.Symlink(filepath.Join("..", "..", "secret"), own)); err != nil {
		t.Fatal(err)
	}
	if err := zarr.Append(t.Context(), a, 0, numbers(10, 1), nil); err == nil {
		t.Error("a link was followed")
	}
	if err := os.WriteFile(filepath.Join(dir, "x", "n", "zarr.json"), []byte(strings.Replace(string(document(t, dir)), "10", "11", 1)), 0o666); err != nil {
		t.Fatal(err)
	}
	if is := request(t, h, "GET", chunk); is.StatusCode < 400 {
		t.Errorf("files of Varve behind a link: status %d", is.StatusCode)
	}
}

// document returns the document of the array of [TestGrowthBehindLink].
func document(t *testing.T, dir string) []byte {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, "x", "n", "zarr.json"))
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// expectHarm checks the status of an answer, 0 for any, and the body of a refusal.
func expectHarm(t *testing.T, what string, want int, is *http.Response, text string) {
	t.Helper()
	if want != 0 && is.StatusCode != want || is.StatusCode == 404 && strings.HasPrefix(what, "the chunk") {
		t.Errorf("%s: status %d, want %d: %s", what, is.StatusCode, want, text)
	}
	if is.StatusCode < 400 {
		return
	}
	var p struct {
		Status int
		Detail string
		Kind   string
	}
	err := json.Unmarshal([]byte(text), &p)
	if err != nil || p.Status != is.StatusCode || p.Detail == "" || is.StatusCode == 500 && p.Kind == "" || is.Header.Get("Content-Type") != "application/problem+json" || is.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s: %d %v %s", what, is.StatusCode, is.Header, text)
	}
	if strings.Contains(text, os.TempDir()) {
		t.Errorf("%s names a folder: %s", what, text)
	}
}

// unresolved is a store of files that may be unable to tell where links lead.
type unresolved struct {
	store.Store
	store.Directories
	fault error
}

func (u *unresolved) Resolve(dir store.Path) (store.Path, error) {
	if u.fault != nil {
		return dir, fmt.Errorf("/srv/private: %w", u.fault)
	}
	return u.Directories.Resolve(dir)
}

// TestUnresolved has a system without free file descriptors. That is a failure, and not a
// link that is refused, for keys, listings, views and values.
func TestUnresolved(t *testing.T) {
	_, g := folder(t)
	log := new(strings.Builder)
	u := &unresolved{Store: g.Store(), Directories: store.DirectoriesOf(g.Store())}
	h := handler(t, zarr.At(u, "g"), &serve.Options{Log: slog.New(slog.NewTextHandler(log, nil))})
	u.fault = syscall.EMFILE
	for _, path := range []string{"/n/a/zarr.json", "/n/a/c/0/0", "/n/a/", "/@regular/n/a/zarr.json", "/@values/n/a"} {
		log.Reset()
		is := request(t, h, "GET", path)
		if text := body(t, is); is.StatusCode != 500 || strings.Contains(text, "private") || !strings.Contains(log.String(), "private") {
			t.Errorf("%s: status %d, %s; the log has %s", path, is.StatusCode, text, log)
		}
	}
}
