// SPDX-License-Identifier: Apache-2.0

package nodes_test

import (
	"errors"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/httpstore"
)

// publishArrays creates a group of arrays of several kinds in a directory. It returns
// the directory and the values of each array.
func publishArrays(t *testing.T, consolidate bool) (dir string, values map[string][]int32) {
	t.Helper()
	dir = t.TempDir() + "/x.zarr"
	g, err := zarr.CreateGroup(t.Context(), dir, nil, nil)
	if err != nil {
		t.Fatal(err)
	}
	values = map[string][]int32{}
	for path, spec := range map[string]zarr.Spec{
		"regular":      {Shape: []int64{10, 7}, Chunks: grid.Chunks(3, 4)},
		"below/months": {Shape: []int64{10, 7}, Chunks: []grid.Cut{grid.Edges(1, 2, 3, 4), grid.Every(7)}},
		"shards":       {Shape: []int64{10, 7}, Chunks: grid.Chunks(8, 8), InnerChunks: grid.Chunks(2, 4)},
		"a b/ü":        {Shape: []int64{10, 7}},
	} {
		spec.Type = dtype.Int32
		a, err := g.At(path).CreateArray(t.Context(), spec, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := make([]int32, 70)
		for i := range v {
			v[i] = int32(i + len(path))
		}
		if err := zarr.Write(t.Context(), a, nil, v); err != nil {
			t.Fatal(err)
		}
		values[path] = v
	}
	if consolidate {
		if err := g.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	return dir, values
}

// TestRemote reads from a plain web server.
func TestRemote(t *testing.T) {
	t.Parallel()
	dir, values := publishArrays(t, true)
	server := httptest.NewServer(http.StripPrefix("/data/x.zarr", http.FileServer(http.Dir(dir))))
	defer server.Close()
	g, err := zarr.OpenGroup(t.Context(), server.URL+"/data/x.zarr", nil)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	found := 0
	for m, err := range g.Members(t.Context(), true) {
		if err != nil || m.Err != nil {
			t.Fatal(err, m.Err)
		}
		a, ok := m.Node.(*zarr.Array)
		if !ok {
			continue
		}
		found++
		if got, err := zarr.Read[int32](t.Context(), a, nil); err != nil || !slices.Equal(got.Data, values[m.Path]) {
			t.Errorf("%s: %v", m.Path, err)
		}
	}
	if found != len(values) {
		t.Errorf("%d arrays, want %d", found, len(values))
	}
	for path, want := range values {
		a, err := zarr.OpenArray(t.Context(), server.URL+"/data/x.zarr/"+strings.ReplaceAll(path, " ", "%20"), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		if a.Path() != path {
			t.Errorf("%s has the path %q", path, a.Path())
		}
		got, err := zarr.Read[int32](t.Context(), a, selection.Basic{selection.At(9), selection.Span(5, 7)})
		if err != nil || !slices.Equal(got.Data, want[68:70]) {
			t.Errorf("%s: %v, %v", path, got.Data, err)
		}
	}
}

// TestRemoteBelow lists a group without consolidated metadata from that of the group
// above, in both formats.
func TestRemoteBelow(t *testing.T) {
	t.Parallel()
	for _, format := range []int{2, 3} {
		dir := t.TempDir()
		g, err := zarr.CreateGroup(t.Context(), dir+"/x.zarr", nil, &zarr.CreateOptions{Format: format})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := g.At("a/b/c").CreateArray(t.Context(), zarr.Spec{Shape: []int64{4}, Type: dtype.Int8}, nil); err != nil {
			t.Fatal(err)
		}
		server := httptest.NewServer(http.FileServer(http.Dir(dir)))
		defer server.Close()
		list := func() (paths []string, err error) {
			below, err := zarr.OpenGroup(t.Context(), server.URL+"/x.zarr/a", nil)
			if err != nil {
				t.Fatal(err)
			}
			defer below.Close()
			for m, err := range below.Members(t.Context(), true) {
				if err != nil || m.Err != nil {
					return nil, errors.Join(err, m.Err)
				}
				paths = append(paths, m.Path+" "+m.Node.Path())
			}
			return paths, nil
		}
		if _, err := list(); !errors.Is(err, store.ErrUnsupported) {
			t.Errorf("format %d, without consolidated metadata: %v", format, err)
		}
		if err := g.Consolidate(t.Context()); err != nil {
			t.Fatal(err)
		}
		if paths, err := list(); err != nil || !slices.Equal(paths, []string{"b a/b", "b/c a/b/c"}) {
			t.Errorf("format %d: %q, %v", format, paths, err)
		}
	}
}

// TestRemoteErrors checks the errors for unusual answers of a server.
func TestRemoteErrors(t *testing.T) {
	t.Parallel()
	dir, _ := publishArrays(t, false)
	files := http.FileServer(http.Dir(dir))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a := httptest.NewRecorder()
		if files.ServeHTTP(a, r); a.Code == http.StatusNotFound {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		files.ServeHTTP(w, r)
	}))
	defer server.Close()
	ctx := t.Context()
	secret := strings.Replace(server.URL, "//", "//me:canary@", 1) + "/none?sig=canary"
	believing := httpstore.WithOptions(ctx, &httpstore.Options{Missing: []int{403}})
	for name, c := range map[string]struct {
		do   func() error
		want error
		kind zarr.Kind
	}{
		"forbidden": {func() error { _, err := zarr.Open(ctx, secret, nil); return err }, fs.ErrPermission, "permission"},
		"missing":   {func() error { _, err := zarr.Open(believing, secret, nil); return err }, fs.ErrNotExist, "not-found"},
		"to write":  {func() error { _, err := zarr.Open(ctx, secret, &zarr.Options{Write: true}); return err }, store.ErrUnsupported, "unsupported"},
		"create":    {func() error { _, err := zarr.CreateGroup(ctx, secret, nil, nil); return err }, store.ErrUnsupported, "unsupported"},
		"overwrite": {func() error {
			_, err := zarr.CreateGroup(ctx, secret, nil, &zarr.CreateOptions{Overwrite: true})
			return err
		}, store.ErrUnsupported, "unsupported"},
		"delete":     {func() error { return zarr.Delete(ctx, secret, &zarr.Options{Write: true}) }, store.ErrUnsupported, "unsupported"},
		"bad key":    {func() error { _, err := zarr.Open(ctx, server.URL+"/x.zarr/a//b?canary", nil); return err }, store.ErrInvalidKey, "invalid-argument"},
		"no host":    {func() error { _, err := zarr.Open(ctx, "http://me:canary@/x?canary", nil); return err }, store.ErrInvalidKey, "invalid-argument"},
		"bad escape": {func() error { _, err := zarr.Open(ctx, "http://me:canary@h/%zz?canary", nil); return err }, store.ErrInvalidKey, "invalid-argument"},
		"listing": {func() error {
			g, err := zarr.OpenGroup(believing, server.URL, nil)
			if err != nil {
				return err
			}
			for _, err := range g.Members(believing, false) {
				return err
			}
			return errors.New("nothing is listed")
		}, zarr.ErrUnsupported, "unsupported"},
	} {
		err := c.do()
		if !errors.Is(err, c.want) || zarr.KindOf(err) != c.kind {
			t.Errorf("%s: error is %v (%s), want %v (%s)", name, err, zarr.KindOf(err), c.want, c.kind)
		}
		if err != nil && strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v shows a secret", name, err)
		}
	}
}

// TestRemoteMissingChunks checks that chunks for which a server answers 403 read as fill
// value only with the option for that.
func TestRemoteMissingChunks(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/zarr.json" {
			w.WriteHeader(http.StatusForbidden)
			return
		}
		http.ServeContent(w, r, "", time.Time{}, strings.NewReader(`{"zarr_format": 3, "node_type": "array", "shape": [4], "data_type": "int32",
			"chunk_grid": {"name": "regular", "configuration": {"chunk_shape": [2]}}, "chunk_key_encoding": {"name": "default"}, "fill_value": 7,
			"codecs": [{"name": "bytes", "configuration": {"endian": "little"}}]}`))
	}))
	defer server.Close()
	for _, missing := range [][]int{nil, {403}} {
		ctx := httpstore.WithOptions(t.Context(), &httpstore.Options{Missing: missing})
		a, err := zarr.OpenArray(ctx, server.URL, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer a.Close()
		got, err := zarr.Read[int32](ctx, a, nil)
		if missing == nil && !errors.Is(err, fs.ErrPermission) || missing != nil && (err != nil || !slices.Equal(got.Data, []int32{7, 7, 7, 7})) {
			t.Errorf("missing %v: %v, %v", missing, got.Data, err)
		}
	}
}
