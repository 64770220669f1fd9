// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/icechunk"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/store/s3/s3test"
	"varve.dev/zarr/virtual"
)

// emptyRepository makes a repository in a folder.
func emptyRepository(t *testing.T, dir string) *icechunk.Repository {
	t.Helper()
	s, err := filestore.Open(dir, nil)
	check(t, err)
	r, err := icechunk.Create(t.Context(), s, store.Path{}, nil)
	check(t, err)
	t.Cleanup(func() { check(t, r.Close()) })
	return r
}

// filledRepository makes a repository with some commits of Varve and of the reference.
func filledRepository(t *testing.T, commits int) (*repository, string) {
	t.Helper()
	dir := t.TempDir()
	h := &repository{emptyRepository(t, dir), startReference(t, dir), map[string][]int32{}, rand.New(rand.NewPCG(3, 5)), []string{"Repository initialized"}}
	for i := range commits {
		if message := fmt.Sprintf("step %d", i); i%2 == 0 {
			h.commitOfVarve(t, message)
		} else {
			h.commitOfReference(t, message)
		}
	}
	return h, dir
}

// TestIcechunkClone has the reference read clones of a whole repository and of a range of
// its history, commit to them, and collect their garbage.
func TestIcechunkClone(t *testing.T) {
	h, _ := filledRepository(t, 12)
	var updates int
	h.ask(t, map[string]any{"op": "operations_log"}, &updates)
	for name, opt := range map[string]*icechunk.CloneOptions{"whole": nil, "range": {At: "main", Depth: 3}} {
		dir := t.TempDir()
		s, err := filestore.Open(dir, nil)
		check(t, err)
		_, err = h.Clone(t.Context(), s, store.Path{}, opt)
		check(t, err)
		r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
		check(t, err)
		defer func() { check(t, r.Close()) }()
		log := h.log
		if opt != nil {
			log = append(slices.Clone(h.log[:3]), h.log[len(h.log)-1])
		}
		c := &repository{r, startReference(t, dir), maps.Clone(h.values), rand.New(rand.NewPCG(1, 2)), slices.Clone(log)}
		c.compare(t)
		var found int
		c.ask(t, map[string]any{"op": "operations_log"}, &found)
		if want := map[string]int{"whole": updates, "range": 1}[name]; found != want {
			t.Errorf("%s: the clone has %d updates, want %d", name, found, want)
		}
		for i := range 4 {
			if message := fmt.Sprintf("after %d", i); i%2 == 0 {
				c.commitOfReference(t, message)
			} else {
				c.commitOfVarve(t, message)
			}
			c.compare(t)
		}
		var done bool
		c.ask(t, map[string]any{"op": "collect"}, &done)
		c.compare(t)
	}
}

// TestIcechunkDiff compares differences between all pairs of commits with those of the
// reference, also in a clone whose history is a range.
func TestIcechunkDiff(t *testing.T) {
	h, _ := filledRepository(t, 14)
	h.compareDiffs(t)
	dir := t.TempDir()
	s, err := filestore.Open(dir, nil)
	check(t, err)
	_, err = h.Clone(t.Context(), s, store.Path{}, &icechunk.CloneOptions{At: "main", Depth: 4})
	check(t, err)
	r, err := icechunk.Open(t.Context(), s, store.Path{}, nil)
	check(t, err)
	defer func() { check(t, r.Close()) }()
	(&repository{Repository: r, reference: startReference(t, dir)}).compareDiffs(t)
}

func (h *repository) compareDiffs(t *testing.T) {
	t.Helper()
	var ids []string
	for c, err := range h.Log(t.Context(), "main") {
		check(t, err)
		ids = append(ids, c.ID.String())
	}
	type differences struct {
		NewGroups, NewArrays, DeletedGroups, DeletedArrays, UpdatedGroups, UpdatedArrays []string
		Chunks                                                                           map[string][][]uint32
	}
	for i := range ids {
		for _, from := range ids[i+1:] {
			var want differences
			h.ask(t, map[string]any{"op": "between", "from": from, "to": ids[i]}, &want)
			d, err := h.Diff(t.Context(), from, ids[i])
			check(t, err)
			rooted := func(list []string) []string {
				out := []string{}
				for _, path := range list {
					out = append(out, "/"+path)
				}
				return out
			}
			got := differences{rooted(d.NewGroups), rooted(d.NewArrays), rooted(d.DeletedGroups), rooted(d.DeletedArrays), rooted(d.UpdatedGroups), rooted(d.UpdatedArrays), map[string][][]uint32{}}
			for path, indices := range d.Chunks {
				// Of an array that was deleted and one in its place, the reference has
				// the chunks of either.
				if slices.Contains(d.DeletedArrays, path) {
					for _, index := range want.Chunks["/"+path] {
						if !slices.ContainsFunc(indices, func(i []uint32) bool { return slices.Equal(i, index) }) {
							t.Errorf("the chunk %v of %s is missing", index, path)
						}
					}
					delete(want.Chunks, "/"+path)
					continue
				}
				got.Chunks["/"+path] = indices
			}
			if !reflect.DeepEqual(got, want) {
				a, _ := json.Marshal(got)
				b, _ := json.Marshal(want)
				t.Errorf("from %s to %s: %s\nwant %s", from, ids[i], a, b)
			}
		}
	}
}

// TestIcechunkVirtual makes files of unequal length, which netCDF4 and h5py have written,
// virtual chunks of a repository. The reference reads the elements that were written.
func TestIcechunkVirtual(t *testing.T) {
	dir, files := t.TempDir(), t.TempDir()
	var sets []fileSet
	runVirtual(t, &sets, "write", files)
	r := emptyRepository(t, dir)
	oracle := startReference(t, dir)
	byXarray := 0
	for i, set := range sets {
		var names []string
		for _, f := range set.Files {
			names = append(names, filepath.Join(files, f))
		}
		at := filepath.Join(files, fmt.Sprintf("set%d%s", i, virtual.Suffix))
		shown, err := collected(t, at, set.Dim, names).Show(t.Context(), at)
		check(t, err)
		s, err := r.Session(t.Context(), "main")
		check(t, err)
		group := fmt.Sprintf("set%d", i)
		ctx := icechunk.WithReferences(t.Context())
		_, err = convert.Derive(ctx, zarr.At(shown, ""), zarr.At(s, group), convert.Derivation{Anew: func(string, string) {}}, nil)
		check(t, err)
		check(t, store.Close(shown))
		_, err = s.Commit(t.Context(), strings.Join(set.Files, " "))
		check(t, err)
		var found map[string]struct {
			elements
			By string
		}
		oracle.ask(t, map[string]any{"op": "hashes", "folder": files, "group": group}, &found)
		for name, want := range set.Arrays {
			if got := found[name]; got.SHA256 != want.SHA256 || !slices.Equal(got.Shape, want.Shape) {
				t.Errorf("%s: the reference reads %v of %s, want %v", set.Files[0], got, name, want)
			} else if got.By != "dict" {
				byXarray++
			}
			a, err := zarr.OpenArray(virtual.WithAllowed(t.Context(), files), "icechunk+file://"+filepath.ToSlash(dir)+"@main/"+group+"/"+name, nil)
			check(t, err)
			if got := elementsOf(t, a); got.SHA256 != want.SHA256 {
				t.Errorf("%s: %s is %v, want %v", set.Files[0], name, got, want)
			}
			check(t, a.Close())
		}
	}
	// With the container in the repository, readers need not describe the place.
	_, err := r.AddContainer(t.Context(), "file://"+filepath.ToSlash(files))
	check(t, err)
	var described, stored map[string]elements
	oracle.ask(t, map[string]any{"op": "hashes", "folder": files, "group": "set0"}, &described)
	oracle.ask(t, map[string]any{"op": "hashes", "folder": files, "group": "set0", "stored": true}, &stored)
	if len(stored) == 0 || !reflect.DeepEqual(stored, described) {
		t.Errorf("by the container of the repository the reference reads %v, want %v", stored, described)
	}
	// Both programs refuse a file that is younger than the second of its reference.
	file := filepath.Join(files, sets[0].Files[0])
	info, err := os.Stat(file)
	check(t, err)
	second := info.ModTime().Truncate(time.Second)
	for after, ok := range map[time.Duration]bool{-time.Hour: true, 500 * time.Millisecond: true, 1001 * time.Millisecond: false, 2500 * time.Millisecond: false} {
		if second.Equal(info.ModTime()) && after == 500*time.Millisecond {
			continue // the reference has this second
		}
		check(t, os.Chtimes(file, second.Add(after), second.Add(after)))
		err := oracle.try(map[string]any{"op": "hashes", "folder": files, "group": "set0"}, &described)
		if (err == nil) != ok {
			t.Errorf("the reference, %v later: %v", after, err)
		}
		failed := false
		for name := range sets[0].Arrays {
			a, err := zarr.OpenArray(virtual.WithAllowed(t.Context(), files), "icechunk+file://"+filepath.ToSlash(dir)+"@main/set0/"+name, nil)
			check(t, err)
			n := int64(a.Type().Size())
			for _, x := range a.Shape() {
				n *= x
			}
			err = a.ReadBytes(t.Context(), nil, make([]byte, n))
			failed = failed || errors.Is(err, zarr.ErrSourceChanged)
			check(t, a.Close())
		}
		if failed == ok {
			t.Errorf("Varve refuses a file that is %v later: %t", after, failed)
		}
	}
	if byXarray < 4 {
		t.Errorf("xarray has read only %d arrays", byXarray)
	}
}

// TestIcechunkVirtualBucket makes an array in a bucket virtual chunks, whose keys have
// characters that URLs escape. The reference reads it, on the condition that the objects
// have the ETags of the references.
func TestIcechunkVirtualBucket(t *testing.T) {
	var mu sync.Mutex
	asked := map[string]string{} // the condition for each object
	service := s3test.Fake(t, func(h http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if etag := r.Header.Get("If-Match"); r.Method == http.MethodGet && etag != "" {
				mu.Lock()
				asked[path.Base(r.URL.Path)] = strings.Trim(etag, `"`)
				mu.Unlock()
			}
			h.ServeHTTP(w, r)
		})
	})
	bucket := service.Bucket(t)
	node := "100% of a b+c.zarr"
	a, err := zarr.CreateArray(t.Context(), service.Location(bucket, node+"/g/x"), zarr.Spec{Type: dtype.Int32, Shape: []int64{10}, Chunks: []grid.Cut{grid.Edges(7, 3)}, DimensionNames: []string{"d"}}, nil)
	check(t, err)
	check(t, zarr.Write(t.Context(), a, nil, counted(10)))
	check(t, a.Close())
	dir := t.TempDir()
	r := emptyRepository(t, dir)
	at := filepath.Join(t.TempDir(), "refs"+virtual.Suffix)
	shown, err := collected(t, at, "", []string{service.Location(bucket, node+"/g")}).Show(t.Context(), at)
	check(t, err)
	s, err := r.Session(t.Context(), "main")
	check(t, err)
	_, err = convert.Derive(icechunk.WithReferences(t.Context()), zarr.At(shown, ""), zarr.At(s, "g"), convert.Derivation{}, nil)
	check(t, err)
	check(t, store.Close(shown))
	_, err = s.Commit(t.Context(), "references")
	check(t, err)
	var found map[string]elements
	request := map[string]any{"op": "hashes", "group": "g", "bucket": bucket, "endpoint": service.URL, "user": s3test.User, "secret": s3test.Secret}
	oracle := startReference(t, dir)
	oracle.ask(t, request, &found)
	_, err = r.AddContainer(t.Context(), "s3://"+bucket+"/100%25%20of%20a%20b+c.zarr?region=us-east-1&endpoint="+service.URL)
	check(t, err)
	var stored map[string]elements
	request["stored"], request["prefix"] = true, "s3://"+bucket+"/"+node+"/"
	oracle.ask(t, request, &stored)
	if len(stored) == 0 || !reflect.DeepEqual(stored, found) {
		t.Errorf("by the container of the repository the reference reads %v, want %v", stored, found)
	}
	a, err = zarr.OpenArray(virtual.WithAllowed(t.Context(), service.Location(bucket, "")), "icechunk+file://"+filepath.ToSlash(dir)+"@main/g/x", nil)
	check(t, err)
	defer a.Close()
	if want := elementsOf(t, a); found["x"].SHA256 != want.SHA256 || !slices.Equal(found["x"].Shape, want.Shape) {
		t.Errorf("the reference reads %v, want %v", found["x"], want)
	}
	in := service.Open(t, bucket, node+"/g/x/c")
	for _, name := range []string{"0", "1"} {
		info, err := store.Stat(t.Context(), in, store.MustKey(name))
		check(t, err)
		mu.Lock()
		if etag := strings.Trim(info.Version.String(), `"`); asked[name] != etag || etag == "" {
			t.Errorf("the reference asks for the version %q of the chunk %s, want %q", asked[name], name, etag)
		}
		mu.Unlock()
	}
}
