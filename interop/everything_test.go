// SPDX-License-Identifier: Apache-2.0

package interop

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"varve.dev/zarr"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/selection"
)

// everythingCase is the description that everything.py writes beside an array.
type everythingCase struct {
	Attributes map[string]any
	Type       string
	Selections []selected
	Write      *string
}

// selected is a selection and its result in NumPy.
type selected struct {
	Kind    string
	Entries []selectedEntry
	Shape   []int64
	Data    string
}

// selectedEntry is an entry of a selection in the form of everything.py.
type selectedEntry struct {
	Int      *int64
	Slice    *[3]*int64
	Ellipsis bool
	Ints     []int64
	Shape    []int64
	Mask     *string
}

func (e selectedEntry) item() selection.Item {
	switch {
	case e.Int != nil:
		return selection.At(*e.Int)
	case e.Ellipsis:
		return selection.Ellipsis()
	case e.Mask != nil:
		return selection.Where(e.booleans()...)
	case e.Slice != nil:
		bounds := [3]int64{selection.Open, selection.Open, 1}
		for i, n := range e.Slice {
			if n != nil {
				bounds[i] = *n
			}
		}
		return selection.Stepped(bounds[0], bounds[1], bounds[2])
	}
	return selection.List(e.Ints...)
}

func (e selectedEntry) booleans() []bool {
	list := make([]bool, len(*e.Mask))
	for i, c := range *e.Mask {
		list[i] = c == '1'
	}
	return list
}

func (s selected) selection(shape []int64) selection.Selection {
	var items []selection.Item
	points := selection.Points{}
	for _, e := range s.Entries {
		items = append(items, e.item())
		points = append(points, selection.Coordinates{Shape: e.Shape, Data: e.Ints})
	}
	switch s.Kind {
	case "orthogonal":
		return selection.Orthogonal(items)
	case "coordinate":
		return points
	case "mask":
		return selection.Mask{Shape: shape, Data: s.Entries[0].booleans()}
	case "block":
		return selection.Blocks{Items: items}
	}
	return selection.Basic(items)
}

// TestEverything reads arrays of every type, codec, grid and format of zarr-python, and
// selections of them. It changes each array through a selection, and writes copies in
// both formats. zarr-python reads all of them.
func TestEverything(t *testing.T) {
	dir, run := t.TempDir(), scriptOf(t, "everything.py")
	seed, n := seed(t), min(2*cases(), 300)
	t.Log(run("write", dir, strconv.FormatUint(seed, 10), strconv.Itoa(n)))
	read, other := 0, 0
	for i := range n {
		path := filepath.Join(dir, strconv.Itoa(i))
		raw, err := os.ReadFile(path + ".json")
		if err != nil {
			continue // zarr-python refused to create it
		}
		read++
		t.Run(strconv.Itoa(i), func(t *testing.T) {
			var c everythingCase
			decode(t, raw, &c)
			a, err := zarr.OpenArray(t.Context(), path+".zarr", &zarr.Options{Write: true})
			check(t, err)
			defer a.Close()
			c.read(t, a, path)
			c.write(t, a, path)
			writeLike(t, a.Spec(), a, path, ".like.zarr")
			spec := a.Spec()
			spec.Format = 5 - a.Metadata().Format()
			if writeLike(t, spec, a, path, ".other.zarr") {
				other++
			}
		})
	}
	if out := run("judge", dir); out != "" {
		t.Error(out)
	}
	t.Logf("%d arrays of %d, %d of them in the other format, too", read, n, other)
	if read < n*9/10 || other < n/4 {
		t.Error("too few")
	}
}

// TestEverythingConsolidated reads arrays through consolidated metadata of zarr-python,
// and lets zarr-python read through that of Varve.
func TestEverythingConsolidated(t *testing.T) {
	run, seed := scriptOf(t, "everything.py"), strconv.FormatUint(seed(t), 10)
	for _, format := range []string{"2", "3"} {
		t.Run(format, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "g.zarr")
			run("group", path, seed, "60", format)
			want := run("check", path, format)
			g, err := zarr.OpenGroup(t.Context(), path, &zarr.Options{Write: true})
			check(t, err)
			defer g.Close()
			nodes := 0
			for m, err := range g.Members(t.Context(), true) {
				check(t, err)
				check(t, m.Err)
				nodes++
			}
			if got := strconv.Itoa(nodes) + "\n"; got != want || nodes < 50 {
				t.Errorf("%s nodes, zarr-python finds %s", got, want)
			}
			check(t, g.Consolidate(t.Context()))
			if got := run("check", path, format); got != want {
				t.Errorf("consolidated again, zarr-python finds\n%s\nwant\n%s", got, want)
			}
		})
	}
}

// scriptOf returns a function that runs a script of this folder and returns its output.
func scriptOf(t *testing.T, script string) func(args ...string) string {
	python := interpreter(t)
	return func(args ...string) string {
		out, err := exec.Command(python, append([]string{script}, args...)...).CombinedOutput()
		if err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		return string(out)
	}
}

// read compares elements, attributes and selections.
func (c *everythingCase) read(t *testing.T, a *zarr.Array, path string) {
	t.Helper()
	want, err := os.ReadFile(path + ".bin")
	check(t, err)
	if got := handed(t, a, nil); !bytes.Equal(got, want) {
		t.Fatalf("%s: elements are\n%.400q\nwant\n%.400q\n%s", a.Type(), got, want, document(t, a))
	}
	var attributes map[string]any
	decode(t, a.Attributes(), &attributes)
	if got, want := jsonOf(t, attributes), jsonOf(t, c.Attributes); !bytes.Equal(got, want) {
		t.Errorf("attributes are %s, want %s", got, want)
	}
	for _, s := range c.Selections {
		sel := s.selection(a.Shape())
		r, err := a.Select(sel)
		if err != nil {
			t.Errorf("%s %s: %v", s.Kind, jsonOf(t, s.Entries), err)
			continue
		}
		if got := hex.EncodeToString(handed(t, a, sel)); got != s.Data || !slices.Equal(r.Shape(), s.Shape) {
			t.Errorf("%s %s of %d: %d\n%.200s\nwant %d\n%.200s", s.Kind, jsonOf(t, s.Entries), a.Shape(), r.Shape(), got, s.Shape, s.Data)
		}
	}
}

// write changes the array through the first selection.
func (c *everythingCase) write(t *testing.T, a *zarr.Array, path string) {
	t.Helper()
	if c.Write != nil {
		data, err := hex.DecodeString(*c.Write)
		check(t, err)
		check(t, put(t, a, c.Selections[0].selection(a.Shape()), data))
	}
	want, err := os.ReadFile(path + ".after")
	check(t, err)
	if got := handed(t, a, nil); !bytes.Equal(got, want) {
		t.Errorf("%s: elements are after a change by %s\n%.400q\nwant\n%.400q\n%s", a.Type(), jsonOf(t, c.Selections), got, want, document(t, a))
	}
}

// writeLike writes a copy of an array, unless the other format cannot describe it.
func writeLike(t *testing.T, s zarr.Spec, a *zarr.Array, path, suffix string) bool {
	t.Helper()
	same := s.Format == a.Metadata().Format()
	if s.Format == 2 && !same {
		s.KeyEncoding = metadata.V2Dot
	}
	b, err := zarr.CreateArray(t.Context(), path+suffix, s, nil)
	if !same && (errors.Is(err, zarr.ErrUnsupported) || errors.Is(err, zarr.ErrInvalidArgument) || errors.Is(err, zarr.ErrInvalidMetadata)) {
		return false
	}
	check(t, err)
	check(t, put(t, b, nil, handed(t, a, nil)))
	check(t, b.Close())
	return true
}

// handed returns selected elements in the form of everything.py.
func handed(t *testing.T, a *zarr.Array, sel selection.Selection) []byte {
	t.Helper()
	r, err := a.Select(sel)
	check(t, err)
	if a.Type().Variable() {
		b, err := zarr.Read[[]byte](t.Context(), a, sel)
		check(t, err)
		list := []byte{'['}
		for i, word := range b.Data {
			if i > 0 {
				list = append(list, ", "...)
			}
			list = append(hex.AppendEncode(append(list, '"'), word), '"')
		}
		return append(list, ']')
	}
	data := make([]byte, r.Len()*int64(a.Type().Size()))
	check(t, a.ReadBytes(t.Context(), sel, data))
	return data
}

// put writes elements in that form.
func put(t *testing.T, a *zarr.Array, sel selection.Selection, data []byte) error {
	t.Helper()
	if !a.Type().Variable() {
		return a.WriteBytes(t.Context(), sel, data)
	}
	var list []string
	check(t, json.Unmarshal(data, &list))
	values := make([][]byte, len(list))
	for i, digits := range list {
		var err error
		values[i], err = hex.DecodeString(digits)
		check(t, err)
	}
	return zarr.Write(t.Context(), a, sel, values)
}

func document(t *testing.T, a *zarr.Array) []byte {
	t.Helper()
	raw, err := a.Metadata().Marshal(metadata.Limits{})
	check(t, err)
	return raw
}
