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
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/scan"
)

// WriteKerchunk writes the references of a hierarchy as a file in the JSON of kerchunk.
func (m *Manifest) WriteKerchunk(ctx context.Context, w io.Writer) error {
	x, err := newExport(ctx, m)
	if err != nil {
		return err
	}
	r, err := x.kerchunk(ctx)
	if err == nil {
		var n int64
		if n, err = r.WriteTo(w); err == nil {
			err = checkKerchunk(n)
		}
	}
	return err
}

// export is a hierarchy in the form of kerchunk, with documents of format 2, which all
// programs that read it understand.
type export struct {
	*nodes
	documents map[string][]byte
	sparse    map[*Array]bool // arrays with chunks that are not stored
}

// newExport converts the documents of a hierarchy. Format 2 has regular grids only: other
// arrays are an error that wraps [zarr.ErrUnsupported].
func newExport(ctx context.Context, m *Manifest) (*export, error) {
	if err := m.checkCopied(); err != nil {
		return nil, err
	}
	m, err := withScalars(ctx, m)
	if err != nil {
		return nil, err
	}
	x := &export{newNodes(m), map[string][]byte{}, map[*Array]bool{}}
	return x, x.convert(ctx)
}

// kerchunk returns the references in JSON.
func (x *export) kerchunk(ctx context.Context) (*kerchunk.References, error) {
	var failed error
	list := func(yield func(string, kerchunk.Reference) bool) {
		for key, text := range x.documents {
			if !yield(key, kerchunk.Reference{Data: text}) {
				return
			}
		}
		for _, a := range x.manifest.Arrays {
			for key, r := range x.references(ctx, a, &failed) {
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
func (x *export) references(ctx context.Context, a *Array, failed *error) iter.Seq2[string, kerchunk.Reference] {
	return func(yield func(string, kerchunk.Reference) bool) {
		count := a.Grid.Chunks()
		index := make([]int64, len(count))
		all, _ := a.Grid.NumChunks()
		for k := range all {
			f, err := x.at(ctx, a, k)
			// A key that is missing is a chunk of the fill value, also to fsspec.
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

// convert makes the documents of all nodes in format 2. Package convert converts them: it
// knows which elements xarray takes for missing ones in either format. Without elements
// no chunk of an array is missing, so it converts arrays of that shape.
func (x *export) convert(ctx context.Context) error {
	m, s := x.manifest, memstore.New()
	put := func(path string, text []byte, err error) error {
		if err == nil {
			_, err = store.Write(ctx, s, store.Put(store.MustKey(strings.TrimPrefix(path+"/"+nodename.V3Node, "/")), text), store.Flush)
		}
		return err
	}
	for _, g := range m.Groups {
		text, err := g.Document.WithConsolidated(nil).Marshal(metadata.Limits{})
		if err := put(g.Path, text, err); err != nil {
			return err
		}
	}
	for _, a := range m.Arrays {
		if !a.Grid.IsRegular() {
			return fmt.Errorf("%w: %s has chunks of unequal length (%s), which the form of kerchunk cannot express: "+remedy.CopyArray+", or write a manifest (%s)", zarr.ErrUnsupported, a.Path, a.Grid, Suffix)
		}
		doc := *a.Document.Resized(make([]int64, a.Grid.Rank()), a.Document.ChunkGrid).WithKeyEncoding(metadata.V2Dot)
		// _ARRAY_DIMENSIONS has a name for each dimension, or is not there.
		doc.DimensionNames = named(a)
		masked, err := &doc, error(nil)
		if x.sparse[a], err = hasMissing(ctx, m, a); err == nil && x.sparse[a] {
			masked, err = withMask(&doc)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", a.Path, err)
		}
		text, err := masked.Marshal(metadata.Limits{})
		if err := put(a.Path, text, err); err != nil {
			return err
		}
	}
	if _, err := convert.Convert(ctx, zarr.At(s, ""), 2, nil); err != nil {
		// Name the array that is the reason: the error of the conversion names one in
		// memory.
		return cmp.Or(x.beyondV2(), err)
	}
	return x.collect(ctx, s)
}

// beyondV2 returns an error that names an array for which format 2 has no form, and what
// does have one; nil if there is none.
func (x *export) beyondV2() error {
	for _, a := range x.manifest.Arrays {
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

// collect reads the converted documents, and gives them the shapes of the arrays. Those
// of sparse arrays must have the right fill value.
func (x *export) collect(ctx context.Context, s store.Store) error {
	for e, err := range store.List(ctx, s, store.Path{}, store.Deep) {
		if err != nil {
			return err
		}
		// The chunk of an array of rank 0 is there, too: its shape always has one.
		if name := store.MustKey(e.Name).Base(); name != nodename.V2Array && name != nodename.V2Group && name != nodename.V2Attributes {
			continue
		}
		if x.documents[e.Name], _, err = s.Get(ctx, store.MustKey(e.Name), store.Request{}, nil); err != nil {
			return err
		}
	}
	for _, a := range x.manifest.Arrays {
		key := strings.TrimPrefix(a.Path+"/"+nodename.V2Array, "/")
		doc, err := metadata.ParseArrayV2(x.documents[key], nil, metadata.Limits{})
		if err == nil && x.sparse[a] {
			err = checkFill(a, doc)
		}
		if err != nil {
			return err
		}
		if x.documents[key], err = doc.Resized(a.Grid.Shape(), a.Document.ChunkGrid).WithKeyEncoding(metadata.V2Dot).Marshal(metadata.Limits{}); err != nil {
			return err
		}
	}
	return nil
}

// checkKerchunk returns an error if a file of references has too many bytes.
func checkKerchunk(n int64) error {
	if n > mostKerchunk {
		return fmt.Errorf("%w: the file of references has %s, and at most %d are possible; make a manifest (%s)", ErrLimit, quantity.Count(n, "bytes"), mostKerchunk, Suffix)
	}
	return nil
}

// hasMissing reports whether chunks of an array are not stored.
func hasMissing(ctx context.Context, m *Manifest, a *Array) (bool, error) {
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
func withScalars(ctx context.Context, m *Manifest) (*Manifest, error) {
	whole := *m
	whole.Arrays = slices.Clone(m.Arrays)
	for i, a := range m.Arrays {
		typ, err := dtype.Parse(a.Document.DataType.Name, a.Document.DataType.Configuration)
		if a.Grid.Rank() > 0 || err != nil || typ.Variable() {
			continue
		}
		absent, err := hasMissing(ctx, m, a)
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
		return doc, nil // collect checks it
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

// CreateParquet stores the references of a hierarchy as a folder in the parquet form of
// kerchunk, with documents of format 2 and size references in each file; 0 stands for
// [kerchunk.DefaultRecordSize]. It holds the references of one file at a time.
//
// If the folder has values already, the error is [store.ErrConflict]. Arrays that the
// form cannot express are an error that wraps [zarr.ErrUnsupported]: those with chunks of
// unequal length, and one at the root. After an error nothing is left in the folder. If
// there are groups below the root, Varve reads the folder, but fsspec does not.
func (m *Manifest) CreateParquet(ctx context.Context, s store.Store, path store.Path, size int) error {
	if size == 0 {
		size = kerchunk.DefaultRecordSize
	}
	if size < 1 || size > kerchunk.MostRecords {
		return fmt.Errorf("%s in a file; it must be from 1 to %d", quantity.Count(size, "references"), kerchunk.MostRecords)
	}
	format, err := kerchunk.Parquet()
	if err != nil {
		return err
	}
	if m.Array("") != nil {
		return fmt.Errorf("%w: the array is at the root, where the parquet form of kerchunk has no place for its references; write a manifest (%s)", zarr.ErrUnsupported, Suffix)
	}
	x, err := newExport(ctx, m)
	if err != nil {
		return err
	}
	// Files that an interrupted call has left would be taken for those of this one.
	for _, err := range store.List(ctx, s, path, store.Deep) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil {
			err = fmt.Errorf("%w: the folder is not empty", store.ErrConflict)
		}
		return err
	}
	w := &recordWriter{store: s, path: path, format: format, nodes: x.nodes, size: size}
	for _, a := range x.manifest.Arrays {
		if err = w.addArray(ctx, a); err != nil {
			break
		}
	}
	if err == nil {
		// The document comes last: a crash before leaves no folder of references.
		f := kerchunk.Folder{RecordSize: size, Documents: x.documents}
		err = w.put(ctx, kerchunk.FolderDocument, f.Append(nil))
	}
	if err != nil {
		return errors.Join(err, w.remove(ctx))
	}
	return nil
}

// recordWriter writes files of records.
type recordWriter struct {
	store   store.Store
	path    store.Path
	format  kerchunk.RecordFormat
	nodes   *nodes
	size    int
	written []store.Key
	file    []byte // scratch
}

// addArray writes the files of an array. It writes those without any reference as well:
// fsspec asks for them when it looks for the protocol of the sources.
func (w *recordWriter) addArray(ctx context.Context, a *Array) error {
	all, _ := a.Grid.NumChunks()
	for k := int64(0); k*int64(w.size) < all; k++ {
		records, err := w.records(ctx, a, k*int64(w.size), all)
		if err != nil {
			return err
		}
		name := a.Path + "/" + kerchunk.RecordsName(k)
		if w.file, err = w.format.Append(w.file[:0], records); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if len(w.file) > mostRecordsFile {
			return fmt.Errorf("%w: %s has %s, and at most %d can be read; put fewer references into a file (--record-size)", ErrLimit, name, quantity.Count(len(w.file), "bytes"), mostRecordsFile)
		}
		if err := w.check(name, records); err != nil {
			return err
		}
		if err := w.put(ctx, name, w.file); err != nil {
			return err
		}
	}
	return nil
}

// check returns an error if the file would be refused by its readers: long locations and
// values take several times their size in memory. Records of less memory are far from the
// limit.
func (w *recordWriter) check(name string, records *kerchunk.Records) error {
	if records.Bytes() < uncheckedRecords {
		return nil
	}
	if _, err := w.format.Decode(w.file, w.size, kerchunk.Limits{}); err != nil {
		return fmt.Errorf("%w: %s could not be read; put fewer than %s into a file (--record-size): %w", ErrLimit, name, quantity.Count(w.size, "references"), err)
	}
	return nil
}

// records returns the references of chunks from a number in C order on. Those beyond the
// array are missing, so that every file has the same number.
func (w *recordWriter) records(ctx context.Context, a *Array, first, all int64) (*kerchunk.Records, error) {
	count := a.Grid.Chunks()
	index := make([]int64, len(count))
	records := kerchunk.NewRecords(w.size)
	for row := range min(int64(w.size), all-first) {
		indexOf(first+row, count, 0, index)
		f, err := w.nodes.at(ctx, a, a.number(index))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return nil, err
		}
		if err := records.Set(int(row), f.reference()); err != nil {
			return nil, fmt.Errorf("%s, chunk %v: %w", a.Path, index, err)
		}
	}
	return records, ctx.Err()
}

// put stores a value that is not there yet.
func (w *recordWriter) put(ctx context.Context, name string, value []byte) error {
	key, err := w.path.Key(name)
	if err != nil {
		return err
	}
	_, err = store.Write(ctx, w.store, store.PutIf(key, value, store.IfAbsent()), store.Sync)
	if errors.Is(err, store.ErrUnsupported) {
		err = putNew(ctx, w.store, key, value)
	}
	if errors.Is(err, store.ErrInvalidKey) {
		return fmt.Errorf("%w; write a manifest (%s) or references in JSON (%s), which have the names of arrays in a document", err, Suffix, kerchunk.Suffix)
	}
	if !errors.Is(err, store.ErrConflict) { // else it is another writer's
		w.written = append(w.written, key)
	}
	return err
}

// remove removes what was written, after an error.
func (w *recordWriter) remove(ctx context.Context) error {
	// An interrupt is a usual reason of the error, and must not keep the files.
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, key := range w.written {
		if _, err := store.Write(ctx, w.store, store.Delete(key), store.Sync); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

// uncheckedRecords is the memory in bytes from which on records are read before they are
// stored.
const uncheckedRecords = 8 << 20
