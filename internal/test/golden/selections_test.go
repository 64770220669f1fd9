// SPDX-License-Identifier: Apache-2.0

package golden_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"slices"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/test/fixture"
	"varve.dev/zarr/selection"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
)

// selected is a row of testdata/selections.zip: a selection and its result in
// zarr-python 3.4.1 and NumPy.
type selected struct {
	ID, Array, Kind string
	Selection       []selectedEntry
	Shape           []int64
	SHA256          string
	Write           *struct {
		Scalar  json.RawMessage
		Formula *formula
		SHA256  string
	}
	Error, Why string
}

type selectedEntry struct {
	Int      *int64
	Slice    *[3]*int64
	Ellipsis bool
	Ints     []int64
	Shape    []int64
	Mask     *string
	Formula  *struct{ A, B, M, Below int64 } `json:"mask_formula"`
}

func (e selectedEntry) item() selection.Item {
	switch {
	case e.Int != nil:
		return selection.At(*e.Int)
	case e.Ellipsis:
		return selection.Ellipsis()
	case e.Mask != nil:
		return selection.Where(e.booleans(0)...)
	case e.Ints != nil:
		return selection.List(e.Ints...)
	case e.Formula != nil:
		return selection.Item{}
	}
	bound := func(n *int64, open int64) int64 {
		if n == nil {
			return open
		}
		return *n
	}
	s := e.Slice
	return selection.Stepped(bound(s[0], selection.Open), bound(s[1], selection.Open), bound(s[2], 1))
}

// booleans returns the entry as a mask of n elements.
func (e selectedEntry) booleans(n int64) []bool {
	b := []bool{}
	if e.Formula == nil {
		for _, c := range *e.Mask {
			b = append(b, c == '1')
		}
		return b
	}
	for i := range n {
		b = append(b, (i*e.Formula.A+e.Formula.B)%e.Formula.M < e.Formula.Below)
	}
	return b
}

// selection returns the selection of the row for an array of the given shape.
func (s *selected) selection(shape []int64) selection.Selection {
	var items []selection.Item
	for _, e := range s.Selection {
		items = append(items, e.item())
	}
	switch s.Kind {
	case "basic":
		return selection.Basic(items)
	case "orthogonal":
		return selection.Orthogonal(items)
	case "block":
		return selection.Blocks{Items: items}
	case "coordinate":
		p := selection.Points{}
		for _, e := range s.Selection {
			p = append(p, selection.Coordinates{Shape: e.Shape, Data: e.Ints})
		}
		return p
	}
	e, n := s.Selection[0], int64(1)
	for _, l := range shape {
		n *= l
	}
	b := e.booleans(n)
	if e.Formula == nil {
		shape = []int64{int64(len(b))}
	}
	return selection.Mask{Shape: shape, Data: b}
}

// inMemory returns a store in memory with the files of a folder.
func inMemory(t testing.TB, fsys fs.FS) store.Store {
	t.Helper()
	s := memstore.New()
	err := fs.WalkDir(fsys, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(fsys, name)
		if err == nil {
			_, err = store.Write(context.Background(), s, store.Put(store.MustKey(name), data), store.Durability(0))
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestSelections reads and writes every selection of the archive, except in arrays whose
// codec or format is not supported.
func TestSelections(t *testing.T) {
	fixture.Sequential(t)
	z := fixture.OpenZip(t, "selections.zip")
	var all struct {
		Arrays map[string]struct{ SHA256 string }
		Rows   []selected
	}
	fixture.ReadJSON(t, z, "selections.json", &all)
	ran, left := 0, 0
	for _, name := range slices.Sorted(maps.Keys(all.Arrays)) {
		t.Run(name, func(t *testing.T) {
			sub, err := fs.Sub(z, "arrays/"+name+".zarr")
			if err != nil {
				t.Fatal(err)
			}
			a, err := zarr.At(inMemory(t, sub), "").OpenArray(context.Background(), nil)
			missing := errors.Is(err, zarr.ErrUnsupported)
			if err != nil && !missing {
				t.Fatal(err)
			}
			for _, row := range all.Rows {
				switch {
				case row.Array != name:
				case missing:
					left++
				default:
					ran++
					t.Run(row.ID, func(t *testing.T) { row.check(t, sub, a) })
				}
			}
		})
	}
	t.Logf("%d selections agree, %d are of arrays that cannot be read", ran, left)
	if ran != 400 {
		t.Errorf("%d of %d rows ran, want 400", ran, ran+left)
	}
}

// numpySelects are selections that zarr-python refuses and NumPy accepts.
var numpySelects = []string{"negative step"}

func (s *selected) check(t *testing.T, fsys fs.FS, a *zarr.Array) {
	ctx := context.Background()
	sel := s.selection(a.Shape())
	r, err := a.Select(sel)
	if s.Error != "" && !slices.Contains(numpySelects, s.Why) {
		if !errors.Is(err, zarr.ErrInvalidArgument) {
			t.Fatalf("%s: %v, zarr-python says %s", s.Why, err, s.Error)
		}
		return
	}
	if err != nil {
		t.Fatal(err)
	}
	if s.Error != "" {
		return // TestSelectionModel checks the result
	}
	if !slices.Equal(r.Shape(), s.Shape) {
		t.Fatalf("shape %v, want %v", r.Shape(), s.Shape)
	}
	data := make([]byte, r.Len()*int64(a.Type().Size()))
	if err := a.ReadBytes(ctx, sel, data); err != nil {
		t.Fatal(err)
	}
	if got := digestOf(a.Type(), data); got != s.SHA256 {
		t.Fatalf("read %x with SHA-256 %s, want %s", data, got, s.SHA256)
	}
	if s.Write != nil {
		s.checkWrite(t, fsys, sel, r.Len())
	}
}

func (s *selected) checkWrite(t *testing.T, fsys fs.FS, sel selection.Selection, n int64) {
	ctx := context.Background()
	a, err := zarr.At(inMemory(t, fsys), "").OpenArray(ctx, &zarr.Options{Write: true})
	if err != nil {
		t.Fatal(err)
	}
	if s.Write.Formula != nil {
		err = a.WriteBytes(ctx, sel, s.Write.Formula.bytes(t, a.Type(), n))
	} else {
		err = a.FillBytes(ctx, sel, fixture.Must(a.Type().ParseText(string(s.Write.Scalar))))
	}
	if err != nil {
		t.Fatal(err)
	}
	if got := digest(t, a); got != s.Write.SHA256 {
		t.Fatalf("the elements after the write are wrong: %+v", s.Selection)
	}
}

// digestOf returns the checksum of elements in little endian.
func digestOf(typ dtype.Type, data []byte) string {
	data = slices.Clone(data)
	if !dtype.LittleEndian() {
		dtype.SwapBytes(data, data, typ.Unit())
	}
	sum := sha256.Sum256(data)
	return hex.EncodeToString(sum[:])
}
