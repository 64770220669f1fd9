// SPDX-License-Identifier: Apache-2.0

package parquet_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/filestore"
	"varve.dev/zarr/virtual"
	"varve.dev/zarr/virtual/parquet"
)

// sources returns the absolute path of a file of testdata, or of all of them.
func sources(t testing.TB, names ...string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(append([]string{testdata}, names...)...))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// joined returns the manifest of files for a location.
func joined(t testing.TB, at string, how virtual.Join, files ...string) *virtual.Manifest {
	t.Helper()
	j, err := virtual.NewJoined(how)
	if err != nil {
		t.Fatal(err)
	}
	c, err := virtual.NewCollector(at)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.Collect(virtual.WithAllowed(t.Context(), "/"), j, files); err != nil {
		t.Fatal(err)
	}
	m, err := j.Finish()
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// place returns a store for a location, and the path there.
func place(t testing.TB, at string) (store.Store, store.Path) {
	t.Helper()
	s, err := filestore.Open(filepath.Dir(at), nil)
	if err != nil {
		t.Fatal(err)
	}
	path, err := store.ParsePath(filepath.Base(at))
	if err != nil {
		t.Fatal(err)
	}
	return s, path
}

// node makes a group with an array of 4 × 5 chunks along the dimensions x and y. A chunk
// is missing.
func node(t testing.TB, at string, number int) {
	t.Helper()
	if _, err := zarr.CreateGroup(t.Context(), at, nil, nil); err != nil {
		t.Fatal(err)
	}
	a, err := zarr.CreateArray(t.Context(), at+"/a", zarr.Spec{
		Shape: []int64{8, 15}, Chunks: grid.Chunks(2, 3), Type: dtype.Int16, DimensionNames: []string{"x", "y"},
	}, nil)
	if err != nil {
		t.Fatal(err)
	}
	values := make([]int16, 8*12)
	for i := range values {
		values[i] = int16(1000*number + i + 1)
	}
	if err := zarr.Write(t.Context(), a, selection.Box{{0, 8}, {0, 12}}, values); err != nil {
		t.Fatal(err)
	}
}

// values returns the stored elements of all arrays of a manifest that is at a location.
func values(ctx context.Context, t testing.TB, at string, m *virtual.Manifest) map[string][]byte {
	t.Helper()
	all := map[string][]byte{}
	for _, x := range m.Arrays {
		a, err := zarr.OpenArray(ctx, filepath.Join(at, x.Path), nil)
		if err != nil {
			t.Fatal(err)
		}
		if a.Type().Variable() {
			b, err := zarr.Read[string](t.Context(), a, nil)
			if err != nil {
				t.Fatal(err)
			}
			all[x.Path] = []byte(strings.Join(b.Data, "\x00"))
		} else {
			n := int64(a.Type().Size())
			for _, extent := range a.Shape() {
				n *= extent
			}
			all[x.Path] = make([]byte, n)
			if err := a.ReadBytes(t.Context(), nil, all[x.Path]); err != nil {
				t.Fatalf("%s/%s: %v", at, x.Path, err)
			}
		}
		if err := a.Close(); err != nil {
			t.Error(err)
		}
	}
	return all
}

// TestCreate writes files that are put together along any axis, with any number of
// references in a file, and compares with the manifest of the same files.
func TestCreate(t *testing.T) {
	nodes := t.TempDir()
	for i := range 3 {
		node(t, filepath.Join(nodes, fmt.Sprintf("%d.zarr", i)), i)
	}
	for name, c := range map[string]struct {
		how   virtual.Join
		files string
	}{
		"nodes":       {virtual.Join{Concat: "y"}, "0.zarr 1.zarr 2.zarr"},
		"one file":    {virtual.Join{}, "nc4_basic.nc"},
		"records":     {virtual.Join{Concat: "time"}, "nc3_yearly_records_01.nc nc3_yearly_records_02.nc"},
		"first axis":  {virtual.Join{Concat: "time"}, "runs_of_ten_01.nc runs_of_ten_02.nc runs_of_ten_03.nc"},
		"second axis": {virtual.Join{Concat: "y"}, "ranks_y_02.nc ranks_y_03.nc ranks_y_04.nc"},
		"third axis":  {virtual.Join{Concat: "x"}, "ranks_x_02.nc ranks_x_03.nc"},
		"stack":       {virtual.Join{Stack: "member"}, "members_01.nc members_02.nc members_03.nc"},
		"merge":       {virtual.Join{}, "merged_u.nc merged_v.nc"},
		"holes":       {virtual.Join{}, "h5_holes.h5"},
		"types":       {virtual.Join{}, "h5_types.h5"},
		"older":       {virtual.Join{}, "nc3_classic.nc"},
	} {
		var files []string
		ctx := virtual.WithAllowed(t.Context(), sources(t), nodes)
		for _, f := range strings.Fields(c.files) {
			if file := filepath.Join(nodes, f); strings.HasSuffix(f, ".zarr") {
				files = append(files, file)
			} else {
				files = append(files, sources(t, f))
			}
		}
		dir := t.TempDir()
		at := filepath.Join(dir, "m"+virtual.Suffix)
		m := joined(t, at, c.how, files...)
		s, path := place(t, at)
		if err := m.Create(t.Context(), s, path); err != nil {
			t.Fatal(err)
		}
		want := values(ctx, t, at, m)
		for _, size := range []int{5, 90, 0} {
			at := filepath.Join(dir, fmt.Sprintf("r%d%s", size, kerchunk.ParquetSuffix))
			m := joined(t, at, c.how, files...)
			_, path := place(t, at)
			if err := m.CreateParquet(t.Context(), s, path, size); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			same(t, fmt.Sprintf("%s, %d", name, size), values(ctx, t, at, m), want)
			if err := m.CreateParquet(t.Context(), s, path, size); !errors.Is(err, store.ErrConflict) {
				t.Errorf("%s: written twice: %v", name, err)
			}
			// References can be put together with others.
			again := filepath.Join(dir, fmt.Sprintf("again%d%s", size, kerchunk.LongParquetSuffix))
			m = joined(t, again, virtual.Join{}, at)
			_, path = place(t, again)
			if err := m.CreateParquet(t.Context(), s, path, 64); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
			same(t, name+", again", values(ctx, t, again, m), want)
		}
	}
}

// TestCreateUncopied refuses references to chunks that are to be copied without their
// padding, also if the chunks of the result are all as long.
func TestCreateUncopied(t *testing.T) {
	dir, files := t.TempDir(), []string(nil)
	for i, edge := range []int64{10, 4} {
		at := filepath.Join(dir, fmt.Sprintf("%d.zarr", i))
		a, err := zarr.CreateArray(t.Context(), at, zarr.Spec{Shape: []int64{4}, Chunks: grid.Chunks(edge), Type: dtype.Int16, DimensionNames: []string{"x"}}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := zarr.Write(t.Context(), a, nil, []int16{1, 2, 3, 4}); err != nil {
			t.Fatal(err)
		}
		files = append(files, at)
	}
	at := filepath.Join(dir, "r.json")
	m := joined(t, at, virtual.Join{Concat: "x", CopyPadded: true}, files...)
	if chunks, _ := m.Padded(); chunks != 1 || !m.Arrays[0].Grid.IsRegular() {
		t.Fatalf("%d chunks with padding, %v", chunks, m.Arrays[0].Grid)
	}
	m.Arrays[0].Path = "a"
	s, path := place(t, filepath.Join(dir, "r.parq"))
	for form, err := range map[string]error{"JSON": m.WriteKerchunk(t.Context(), io.Discard), "Parquet": m.CreateParquet(t.Context(), s, path, 0)} {
		if err == nil || !strings.Contains(err.Error(), "are to be copied first") {
			t.Errorf("%s: %v", form, err)
		}
	}
}

// same reports arrays that differ.
func same(t testing.TB, name string, got, want map[string][]byte) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d arrays, want %d", name, len(got), len(want))
	}
	for path, values := range want {
		if !bytes.Equal(got[path], values) {
			t.Errorf("%s: %s has other values", name, path)
		}
	}
}

// TestPadded checks that every file has the same number of records, also the last one,
// and that chunks without any reference have a file: fsspec asks for it.
func TestPadded(t *testing.T) {
	at := filepath.Join(t.TempDir(), "r.parq")
	m := joined(t, at, virtual.Join{}, sources(t, "h5_holes.h5"))
	s, path := place(t, at)
	if err := m.CreateParquet(t.Context(), s, path, 10); err != nil {
		t.Fatal(err)
	}
	stored := 0
	for _, array := range []string{"dense", "holes"} {
		for k := range int64(3) { // of 25 and 24 chunks
			file, _, err := s.Get(t.Context(), path.MustKey(array+"/"+kerchunk.RecordsName(k)), store.Request{}, nil)
			if err != nil {
				t.Fatal(err)
			}
			r, err := parquet.Format{}.Decode(file, 10, kerchunk.Limits{})
			if err != nil || r.Len() != 10 {
				t.Fatalf("%s, file %d: %v", array, k, err)
			}
			for i := range r.Len() {
				if x, ok := r.At(i); ok {
					stored++
					if !filepath.IsAbs(x.URL) {
						t.Errorf("the path %s: fsspec takes it for one of the present folder", x.URL)
					}
				}
			}
		}
	}
	if stored == 0 || int64(stored) >= m.References() {
		t.Errorf("%d references of %d chunks", stored, m.References())
	}
}

// TestLongLocations has more text in a file than is read. It is refused before it is
// stored, and fewer references in each file are not.
func TestLongLocations(t *testing.T) {
	const chunks = 18_000
	dir, long := t.TempDir(), strings.Repeat("x", 4000)
	text := []byte(strings.NewReplacer("[25]", fmt.Sprintf("[%d]", 1000*chunks), "[1]", "[1000]").Replace(`{".zgroup":{"zarr_format":2},"a/.zarray":` + document))
	for i := range chunks {
		text = fmt.Appendf(text, `,"a/%d":["https://host.example/%d%s",0,1000]`, i, i, long)
	}
	put(t, dir, "long.json", append(text, '}'))
	at := filepath.Join(dir, "r.parq")
	m := joined(t, at, virtual.Join{}, filepath.Join(dir, "long.json"))
	s, path := place(t, at)
	if err := m.CreateParquet(t.Context(), s, path, chunks); !errors.Is(err, virtual.ErrLimit) || !strings.Contains(err.Error(), "fewer than 18000 references into a file (--record-size)") {
		t.Errorf("%v", err)
	}
	for e, err := range store.List(t.Context(), s, path, store.Deep) {
		t.Errorf("%s is left (%v)", e.Name, err)
	}
	if err := m.CreateParquet(t.Context(), s, path, 3000); err != nil {
		t.Fatal(err)
	}
	for k := range int64(chunks / 3000) {
		file, _, err := s.Get(t.Context(), path.MustKey("a/"+kerchunk.RecordsName(k)), store.Request{}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if r, err := (parquet.Format{}).Decode(file, 3000, kerchunk.Limits{}); err != nil || r.Len() != 3000 {
			t.Errorf("file %d: %v", k, err)
		}
	}
}

// files is what the form needs of a store of files.
type files interface {
	store.Store
	store.Writer
	store.Batcher
	store.Stater
	store.Lister
	store.TreeDeleter
	store.Locker
}

// failing is a store whose writes fail after some.
type failing struct {
	files
	left int
}

var errFailing = errors.New("the disk is full")

func (f *failing) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf {
		if f.left--; f.left < 0 {
			return store.Written{}, errFailing
		}
	}
	return f.files.Write(ctx, c, d)
}

// TestCreateOrder looks at the folder before every write: the document is the last value,
// so that no reader finds a part of the references.
func TestCreateOrder(t *testing.T) {
	at := filepath.Join(t.TempDir(), "r.parq")
	m := joined(t, at, virtual.Join{}, sources(t, "h5_holes.h5"))
	s, path := place(t, at)
	look := &looking{files: s.(files), see: func() {
		if found, err := store.Exists(t.Context(), s, path.MustKey(kerchunk.FolderDocument)); found || err != nil {
			t.Errorf("the document is there (%v)", err)
		}
	}}
	if err := m.CreateParquet(t.Context(), look, path, 10); err != nil || look.writes < 7 {
		t.Errorf("%d writes (%v)", look.writes, err)
	}
}

// looking is a store that calls see before every write.
type looking struct {
	files
	see    func()
	writes int
}

func (l *looking) Write(ctx context.Context, c store.Change, d store.Durability) (store.Written, error) {
	if c.Op == store.OpPutIf {
		l.see()
		l.writes++
	}
	return l.files.Write(ctx, c, d)
}

// TestCreateFails has writes that fail at every step, after which nothing is left, and
// hierarchies that the form cannot express, of which nothing is written.
func TestCreateFails(t *testing.T) {
	at := filepath.Join(t.TempDir(), "r.parq")
	m := joined(t, at, virtual.Join{}, sources(t, "h5_holes.h5"))
	s, path := place(t, at)
	empty := func(what string) {
		t.Helper()
		for e, err := range store.List(t.Context(), s, path, store.Deep) {
			t.Errorf("%s: %s is left (%v)", what, e.Name, err)
		}
	}
	steps := 0
	for ; ; steps++ {
		err := m.CreateParquet(t.Context(), &failing{s.(files), steps}, path, 10)
		if err == nil {
			break
		}
		if !errors.Is(err, errFailing) {
			t.Fatal(err)
		}
		empty("a full disk")
	}
	if steps < 6 {
		t.Errorf("%d steps", steps)
	}
	at = filepath.Join(t.TempDir(), "r.parq")
	s, path = place(t, at)
	unequal := joined(t, at, virtual.Join{Concat: "time"}, sources(t, "monthly_one_chunk_01.nc"), sources(t, "monthly_one_chunk_02.nc"))
	if err := unequal.CreateParquet(t.Context(), s, path, 0); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "unequal length") {
		t.Error(err)
	}
	root := joined(t, at, virtual.Join{}, sources(t, "zarr_ranks_01.zarr"))
	if err := root.CreateParquet(t.Context(), s, path, 0); !errors.Is(err, zarr.ErrUnsupported) || !strings.Contains(err.Error(), "root") {
		t.Error(err)
	}
	put(t, filepath.Dir(at), "long.json", []byte(`{".zgroup":{"zarr_format":2},"`+strings.Repeat("n", 300)+`/.zarray":`+document+"}"))
	long := joined(t, at, virtual.Join{}, filepath.Join(filepath.Dir(at), "long.json"))
	if err := long.CreateParquet(t.Context(), s, path, 0); !errors.Is(err, store.ErrInvalidKey) || !strings.Contains(err.Error(), "write a manifest") || strings.Contains(err.Error(), "deleting") {
		t.Errorf("a long name: %v", err)
	}
	for _, size := range []int{-1, kerchunk.MostRecords + 1} {
		if err := m.CreateParquet(t.Context(), s, path, size); err == nil {
			t.Errorf("%d references in a file", size)
		}
	}
	empty("what cannot be expressed")
	cancelled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := m.CreateParquet(cancelled, s, path, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	empty("a context that is done")
	put(t, at, "holes/refs.7.parq", []byte("of an interrupted program"))
	if err := m.CreateParquet(t.Context(), s, path, 0); !errors.Is(err, store.ErrConflict) {
		t.Errorf("a folder that is not empty: %v", err)
	}
}
