// SPDX-License-Identifier: Apache-2.0

package grid

import (
	"iter"

	"varve.dev/zarr/internal/strictjson"
)

// older lists forms of chunk grids that programs wrote before, or beside, the specified
// ones. Each is read as the specified grid that stores the same chunks, and is written in
// that form. The first row that matches a grid reads it.
//
// Two similar forms are not in the table. "zarrs.regular_bounded" is a kind of grid
// that is kept as it is, and a chunk length of 4.0 is another spelling of 4.
var older = []olderForm{
	{
		name:   "rectangular, draft",
		source: "ZEP 3, draft of 2022: https://zarr.dev/zeps/draft/ZEP0003.html",
		matches: func(name string, v strictjson.Value) bool {
			return name == rectangularName && hasMember(v, "separator")
		},
		readAs: rectilinearName,
		cuts:   rectangularCuts,
		note: `the chunk grid "rectangular" of ZEP 3's draft was read as "rectilinear"; ` +
			`its separator is ignored, because chunk_key_encoding defines the keys`,
	},
	{
		name:    "rectangular",
		source:  "zarrs up to 0.24, experimental: https://docs.rs/zarrs/0.23.2/zarrs/array/chunk_grid/rectangular/index.html",
		matches: func(name string, _ strictjson.Value) bool { return name == rectangularName },
		readAs:  rectilinearName,
		cuts:    rectangularCuts,
		note:    `the chunk grid "rectangular" that zarrs wrote was read as "rectilinear"`,
	},
	{
		name:    "regular with edges",
		source:  "zarr-python 3.2: https://github.com/zarr-developers/zarr-python/pull/3802, repaired since 3.4",
		matches: func(name string, v strictjson.Value) bool { return name == regularName && isMixed(v) },
		readAs:  rectilinearName,
		cuts:    mixedCuts,
		note:    `a chunk grid named "regular" lists edges along some axes, as zarr-python 3.2 wrote it; it was read as "rectilinear"`,
	},
	{
		name:    "chunks of length 0",
		source:  "older zarr-python, for axes of extent 0; repaired by zarr-python 3.4 (core/metadata/repair.py)",
		matches: func(name string, v strictjson.Value) bool { return name == regularName && hasZeroLength(v) },
		readAs:  regularName,
		cuts:    zeroCuts,
		note:    `the chunk length 0 of an axis without elements was read as 1, the smallest length`,
	},
}

const rectangularName = "rectangular" // of ZEP 3's draft

// olderForm is a form of a chunk grid that is read but never written.
type olderForm struct {
	name, source string
	matches      func(name string, configuration strictjson.Value) bool
	readAs       string // name of the grid that it is read as
	cuts         func(shape []int64, configuration strictjson.Value) ([]Cut, error)
	note         string // what Grid.Notes reports
}

// olderOf returns the first form that matches a grid, or nil.
func olderOf(name string, configuration strictjson.Value) *olderForm {
	for i := range older {
		if older[i].matches(name, configuration) {
			return &older[i]
		}
	}
	return nil
}

// read returns the grid that the form stands for, with a note.
func (f *olderForm) read(shape []int64, configuration strictjson.Value) (*Grid, error) {
	cuts, err := f.cuts(shape, configuration)
	if err != nil {
		return nil, err
	}
	g, err := newGrid(f.readAs, shape, cuts)
	if err != nil {
		return nil, err
	}
	g.notes = []string{f.note}
	return g, nil
}

// rectangularCuts reads bare integers and lists of edges. The lists have no runs and must
// end at the extent.
func rectangularCuts(shape []int64, v strictjson.Value) ([]Cut, error) {
	m, err := members(v, 1, "chunk_shape", "separator")
	if err != nil {
		return nil, err
	}
	if s := m[1]; !s.IsZero() {
		if _, err := s.Str(); err != nil {
			return nil, located(s, "separator must be a string")
		}
	}
	cuts, err := axisCuts(m[0], edgesCut)
	for i := 0; err == nil && i < min(len(cuts), len(shape)); i++ {
		// In the older form no edge reaches beyond the extent.
		if e := cuts[i].edges; e != nil && e.sum != shape[i] {
			err = onAxis(i, invalid("the edges of a rectangular grid must sum to the extent %d, they sum to %d", shape[i], e.sum))
		}
	}
	return cuts, err
}

// edgesCut reads a bare integer or a list of bare integers.
func edgesCut(v strictjson.Value) (Cut, error) {
	if v.Kind() == strictjson.Array {
		for _, e := range v.Elements() {
			if e.Kind() == strictjson.Array {
				return Cut{}, located(e, "a rectangular grid has no runs, list every edge")
			}
		}
	}
	return shapeCut(v)
}

func mixedCuts(_ []int64, v strictjson.Value) ([]Cut, error) {
	m, err := members(v, 1, "chunk_shape")
	if err != nil {
		return nil, err
	}
	return axisCuts(m[0], shapeCut)
}

// zeroCuts reads a length of 0 as 1 if the axis has no elements. If it has some, 0
// remains a fault, because no chunk could hold them.
func zeroCuts(shape []int64, v strictjson.Value) ([]Cut, error) {
	cuts, err := regularCuts(v)
	for i := 0; i < min(len(cuts), len(shape)); i++ {
		if cuts[i].step == 0 && shape[i] == 0 {
			cuts[i].step = 1
		}
	}
	return cuts, err
}

// hasMember reports whether v is an object with the named member.
func hasMember(v strictjson.Value, name string) bool {
	if v.Kind() != strictjson.Object {
		return false
	}
	_, found := v.Member(name)
	return found
}

// shapeOf yields the entries of chunk_shape, at most MaxRank of them. It yields none if
// there is no such list.
func shapeOf(v strictjson.Value) iter.Seq[strictjson.Value] {
	return func(yield func(strictjson.Value) bool) {
		list, _ := v.Member("chunk_shape")
		for i, e := range list.Elements() {
			if i == MaxRank || !yield(e) {
				return
			}
		}
	}
}

// isMixed reports whether some but not all entries of chunk_shape are lists. No known
// program wrote a regular grid with lists only.
func isMixed(v strictjson.Value) bool {
	lists, bare := false, false
	for e := range shapeOf(v) {
		isList := e.Kind() == strictjson.Array
		lists, bare = lists || isList, bare || !isList
	}
	return lists && bare
}

// hasZeroLength reports whether an entry of chunk_shape is 0.
func hasZeroLength(v strictjson.Value) bool {
	for e := range shapeOf(v) {
		if n, err := e.Int64(); err == nil && n == 0 {
			return true
		}
	}
	return false
}
