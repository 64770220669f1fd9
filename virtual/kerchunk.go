// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/convert"
	"varve.dev/zarr/dtype"
	"varve.dev/zarr/internal/byteorder"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/internal/missing"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/nonfinite"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

func init() { store.RegisterFolder(kerchunk.Suffix, openKerchunk) }

// openKerchunk opens a file of references as a store.
func openKerchunk(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*view, error) {
		// A document of a node is no file of references. Shells complete its name.
		if name == "zarr.json" {
			return nil, fs.ErrNotExist
		}
		key, err := dir.Key(name)
		if err != nil {
			return nil, err
		}
		text, _, err := home.Get(ctx, key, store.Request{Limit: mostKerchunk}, nil)
		if err != nil {
			return nil, err
		}
		r, err := kerchunk.Parse(text, kerchunk.Limits{Document: mostKerchunk})
		if err != nil {
			return nil, damaged(key, err)
		}
		// Paths are relative to the folder of the file.
		from, err := newSites(ctx, home, dir, folder, "")
		return &view{content: keyList{r}, sources: from}, err
	})
}

// mostKerchunk bounds a file of references in bytes.
const mostKerchunk = 1 << 30

// keyList has the keys of references as they are, with documents of either format.
type keyList struct{ refs *kerchunk.References }

func (k keyList) find(_ context.Context, key store.Key) (found, error) {
	r, ok := k.refs.Find(key.String())
	if !ok {
		return found{}, fs.ErrNotExist
	}
	return foundAt(r), nil
}

// foundAt returns what a reference leads to.
func foundAt(r kerchunk.Reference) found {
	switch {
	// An empty value is a value; nil would mean a reference.
	case r.URL == "" && r.Data == nil:
		return found{bytes: []byte{}}
	case r.URL == "":
		return found{bytes: r.Data}
	case r.Length == kerchunk.Whole:
		return found{ref: reference{1, 0, whole}, source: Source{Location: r.URL}}
	}
	return found{ref: reference{1, uint64(r.Offset), uint64(r.Length)}, source: Source{Location: r.URL}}
}

// reference is the inverse of foundAt.
func (f *found) reference() kerchunk.Reference {
	switch {
	case f.bytes != nil:
		return kerchunk.Reference{Data: f.bytes}
	case f.ref.length == whole:
		return kerchunk.Reference{URL: f.source.Location, Length: kerchunk.Whole}
	}
	return kerchunk.Reference{URL: f.source.Location, Offset: int64(f.ref.offset), Length: int64(f.ref.length)}
}

func (k keyList) list(_ context.Context, l *listing) {
	prefix := ""
	if l.dir != "" {
		prefix = l.dir + "/"
	}
	for key, r := range k.refs.Below(prefix) {
		f := foundAt(r)
		info := store.Info{Size: -1}
		if f.ref.length != whole {
			info = f.info()
		}
		if !l.add(key, info) {
			return
		}
	}
}

// countStored implements content.
func (k keyList) countStored(_ context.Context, array string, _ int64) (n int64, err error) {
	// References in JSON are in memory one by one, so counting them is cheap and exact.
	for range k.refs.Below(strings.TrimPrefix(array+"/", "/")) {
		n++
	}
	return n, nil
}

// kerchunk returns the references of a hierarchy in the form of kerchunk, with documents
// of format 2, which all programs that read it understand. Format 2 has regular grids
// only: other arrays are an error that wraps [zarr.ErrUnsupported].
func (m *Manifest) kerchunk(ctx context.Context) (*kerchunk.References, error) {
	if err := m.checkCopied(); err != nil {
		return nil, err
	}
	m, err := m.withScalars(ctx)
	if err != nil {
		return nil, err
	}
	documents, err := m.documentsV2(ctx)
	if err != nil {
		return nil, err
	}
	var failed error
	list := func(yield func(string, kerchunk.Reference) bool) {
		for key, text := range documents {
			if !yield(key, kerchunk.Reference{Data: text}) {
				return
			}
		}
		for _, a := range m.Arrays {
			for key, r := range m.references(ctx, a, &failed) {
				if !yield(key, r) {
					return
				}
			}
		}
	}
	r, err := kerchunk.New(list)
	return r, errors.Join(failed, err)
}

// references yields the chunks of an array under their keys in format 2.
func (m *Manifest) references(ctx context.Context, a *Array, failed *error) iter.Seq2[string, kerchunk.Reference] {
	return func(yield func(string, kerchunk.Reference) bool) {
		count := a.Grid.Chunks()
		index, n := make([]int64, len(count)), newNodes(m)
		all, _ := a.Grid.NumChunks()
		for k := range all {
			f, err := n.at(ctx, a, k)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				*failed = err
				return
			}
			indexOf(k, count, a.Axis, index)
			key := strings.TrimPrefix(a.Path+"/"+string(metadata.V2Dot.AppendKey(nil, index)), "/")
			if !yield(key, f.reference()) {
				return
			}
		}
	}
}

// documentsV2 returns the documents of all nodes in format 2. Package convert converts
// them: it knows which elements xarray takes for missing ones in either format. Without
// elements no chunk of an array is missing, so it converts arrays of that shape.
func (m *Manifest) documentsV2(ctx context.Context) (map[string][]byte, error) {
	s, sparse := memstore.New(), map[*Array]bool{}
	put := func(path string, text []byte, err error) error {
		if err == nil {
			_, err = store.Write(ctx, s, store.Put(store.MustKey(strings.TrimPrefix(path+"/"+nodename.V3Node, "/")), text), store.Flush)
		}
		return err
	}
	for _, g := range m.Groups {
		text, err := g.Document.WithConsolidated(nil).Marshal(metadata.Limits{})
		if err := put(g.Path, text, err); err != nil {
			return nil, err
		}
	}
	for _, a := range m.Arrays {
		if !a.Grid.IsRegular() {
			return nil, fmt.Errorf("%w: %s has chunks of unequal length (%s), which the form of kerchunk cannot express: "+remedy.CopyArray+", or write a manifest (%s)", zarr.ErrUnsupported, a.Path, a.Grid, Suffix)
		}
		doc := *a.Document.Resized(make([]int64, a.Grid.Rank()), a.Document.ChunkGrid).WithKeyEncoding(metadata.V2Dot)
		// _ARRAY_DIMENSIONS has a name for each dimension, or is not there.
		doc.DimensionNames = named(a)
		masked, err := &doc, error(nil)
		if sparse[a], err = m.hasMissing(ctx, a); err == nil && sparse[a] {
			masked, err = withMask(&doc)
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		text, err := masked.Marshal(metadata.Limits{})
		if err := put(a.Path, text, err); err != nil {
			return nil, err
		}
	}
	if _, err := convert.Convert(ctx, zarr.At(s, ""), 2, nil); err != nil {
		// Name the array that is the reason: the error of the conversion names one in
		// memory.
		return nil, cmp.Or(m.beyondV2(), err)
	}
	return m.collectV2(ctx, s, sparse)
}

// beyondV2 returns an error that names an array for which format 2 has no form, and what
// does have one; nil if there is none.
func (m *Manifest) beyondV2() error {
	for _, a := range m.Arrays {
		if _, err := a.Document.WithKeyEncoding(metadata.V2Dot).ToV2(metadata.Limits{}); err != nil {
			return fmt.Errorf("%s cannot be in references of kerchunk: %w; write a manifest (%s)", a.Path, err, Suffix)
		}
	}
	return nil
}

// named returns the names of the dimensions of an array: for all or none, as format 2
// wants it. xarray requires that dimensions of one name have one length, so a name that
// is made up has that of the array in it.
func named(a *Array) []*string {
	names := slices.Clone(a.Document.DimensionNames)
	if !slices.ContainsFunc(names, func(n *string) bool { return n != nil }) {
		return nil
	}
	for i, n := range names {
		if n == nil {
			made := fmt.Sprintf("%s_dim_%d", baseName(a.Path), i)
			names[i] = &made
		}
	}
	return names
}

// collectV2 returns the converted documents, with the shapes of the arrays. Those of
// sparse arrays must have the right fill value.
func (m *Manifest) collectV2(ctx context.Context, s store.Store, sparse map[*Array]bool) (map[string][]byte, error) {
	documents := map[string][]byte{}
	for e, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			return nil, err
		}
		// The chunk of an array of rank 0 is there, too: its shape always has one.
		if name := store.MustKey(e.Name).Base(); name != nodename.V2Array && name != nodename.V2Group && name != nodename.V2Attributes {
			continue
		}
		if documents[e.Name], _, err = s.Get(ctx, store.MustKey(e.Name), store.Request{}, nil); err != nil {
			return nil, err
		}
	}
	for _, a := range m.Arrays {
		key := strings.TrimPrefix(a.Path+"/"+nodename.V2Array, "/")
		doc, err := metadata.ParseArrayV2(documents[key], nil, metadata.Limits{})
		if err == nil && sparse[a] {
			err = checkFill(a, doc)
		}
		if err != nil {
			return nil, err
		}
		if documents[key], err = doc.Resized(a.Grid.Shape(), a.Document.ChunkGrid).WithKeyEncoding(metadata.V2Dot).Marshal(metadata.Limits{}); err != nil {
			return nil, err
		}
	}
	return documents, nil
}

// WriteKerchunk writes the references of a hierarchy as a file in the JSON of kerchunk.
func (m *Manifest) WriteKerchunk(ctx context.Context, w io.Writer) error {
	r, err := m.kerchunk(ctx)
	if err == nil {
		var n int64
		if n, err = r.WriteTo(w); err == nil {
			err = checkKerchunk(n)
		}
	}
	return err
}

// reference says where a chunk is. The zero reference is a chunk that is not stored.
type reference struct {
	// source is the number of the source, counted from 1.
	source         uint32
	offset, length uint64 // in bytes; see whole
}

// whole is the length of a reference to a whole source, whose size is not known.
const whole = 1<<64 - 1

// references are the references of consecutive chunks, in columns: 20 bytes for each.
type references struct {
	source         []uint32
	offset, length []uint64
}

func makeReferences(n int) references {
	return references{make([]uint32, n), make([]uint64, n), make([]uint64, n)}
}

func (r *references) len() int { return len(r.source) }

func (r *references) at(i int) reference {
	return reference{r.source[i], r.offset[i], r.length[i]}
}

func (r *references) set(i int, x reference) {
	r.source[i], r.offset[i], r.length[i] = x.source, x.offset, x.length
}

// stored returns the number of references to chunks that are stored.
func (r *references) stored() (n int64) {
	for _, s := range r.source {
		if s != 0 {
			n++
		}
	}
	return n
}

// concat appends other references.
func (r *references) concat(o references) {
	r.source = append(r.source, o.source...)
	r.offset = append(r.offset, o.offset...)
	r.length = append(r.length, o.length...)
}

// slice returns the references from one index up to another. They share their memory.
func (r *references) slice(from, to int) references {
	return references{r.source[from:to:to], r.offset[from:to:to], r.length[from:to:to]}
}

// hasMissing reports whether chunks of an array are not stored.
func (m *Manifest) hasMissing(ctx context.Context, a *Array) (bool, error) {
	all, _ := a.Grid.NumChunks()
	for k := range all {
		r, data, err := m.reference(ctx, a, k)
		if err != nil {
			return false, err
		}
		if data == nil && r.source == 0 {
			return true, nil
		}
	}
	return false, nil
}

// withScalars returns the manifest with the elements of arrays without axes that are not
// stored, as those of grid mappings often are. VirtualiZarr fails on references to an
// array without a chunk, and xarray takes such an element for a missing value.
func (m *Manifest) withScalars(ctx context.Context) (*Manifest, error) {
	whole := *m
	whole.Arrays = slices.Clone(m.Arrays)
	for i, a := range m.Arrays {
		typ, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
		if a.Grid.Rank() > 0 || err != nil || typ.Variable() {
			continue
		}
		absent, err := m.hasMissing(ctx, a)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", a.Path, err)
		}
		elem, err := typ.ParseFill(a.Document.FillValue)
		if err != nil || !absent {
			continue
		}
		if !byteorder.Little() {
			typ.Swap(elem, elem)
		}
		doc := *a.Document
		doc.Codecs = []metadata.Extension{scan.Plain(typ, false)}
		if whole.Arrays[i], err = newArray(a.Path, &doc, a.Grid, 0); err != nil {
			return nil, err
		}
		whole.Arrays[i].setInline(0, elem)
	}
	return &whole, nil
}

// withMask returns the document of an array with missing chunks in a form that keeps its
// fill value in format 2. There the fill value is null unless the attribute _FillValue
// has it, because xarray takes elements that are equal to it for missing ones. With the
// attribute, those of missing chunks are.
func withMask(doc *metadata.Array) (*metadata.Array, error) {
	typ, err := dtype.Parse(doc.DataType.Name, doc.DataType.Configuration)
	if err != nil || !missing.Coded(typ) {
		return doc, nil // collectV2 checks it
	}
	if _, ok, err := metadata.Attribute(doc.Attributes, missing.FillValue); ok || err != nil {
		return doc, err
	}
	fill, err := typ.ParseFill(doc.FillValue)
	if err != nil || bytes.Equal(fill, typ.Default()) { // null is read as the default
		return doc, err
	}
	text, err := missing.Format(typ, fill)
	if err != nil {
		return nil, err
	}
	masked := *doc
	if masked.Attributes == nil {
		masked.Attributes = []byte("{}")
	}
	masked.Attributes, err = metadata.SetAttribute(masked.Attributes, missing.FillValue, nonfinite.Text(text))
	return &masked, err
}

// checkFill returns an error if missing chunks of an array would have other elements by
// its document of format 2.
func checkFill(a *Array, doc *metadata.Array) error {
	typ, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
	if err != nil {
		return nil // elements of an unknown type cannot be read
	}
	want, err := typ.ParseFill(a.Document.FillValue)
	if err != nil {
		return err
	}
	got, err := typ.ParseFill(doc.FillValue)
	if err != nil || bytes.Equal(got, want) {
		return err
	}
	return fmt.Errorf("%w: %s has chunks that are missing, whose elements are %s; in format 2 they would be %s, which is what marks missing values there; write a manifest (%s)",
		zarr.ErrUnsupported, a.Path, a.Document.FillValue, doc.FillValue, Suffix)
}
