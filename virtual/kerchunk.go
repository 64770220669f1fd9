// SPDX-License-Identifier: Apache-2.0

package virtual

import (
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
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/rewrite"
	"varve.dev/zarr/store"
	"varve.dev/zarr/store/memstore"
	"varve.dev/zarr/virtual/kerchunk"
)

// KerchunkSuffix ends the names of files with references in the JSON of kerchunk. They
// are opened like manifests: refs.json/t2m.
const KerchunkSuffix = ".json"

func init() { store.RegisterFolder(KerchunkSuffix, openKerchunk) }

// openKerchunk opens a file of references as a store.
func openKerchunk(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*Store, error) {
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
		return &Store{content: keyList{r}, sources: from}, err
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
	for range k.refs.Below(strings.TrimPrefix(array+"/", "/")) {
		n++
	}
	return n, nil
}

// Kerchunk returns the references of a hierarchy in the form of kerchunk, with documents
// of format 2, which all programs that read it understand. Format 2 has regular grids
// only: other arrays are an error that wraps [zarr.ErrUnsupported].
func (m *Manifest) Kerchunk(ctx context.Context) (*kerchunk.References, error) {
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

// documentsV2 returns the documents of all nodes in format 2. Package rewrite converts
// them: it knows what xarray takes for missing values in either format. Without elements
// no chunk of an array is missing, so it converts arrays of that shape.
func (m *Manifest) documentsV2(ctx context.Context) (map[string][]byte, error) {
	s, sparse := memstore.New(), map[*Array]bool{}
	put := func(path string, text []byte, err error) error {
		if err == nil {
			_, err = s.Put(ctx, store.MustKey(strings.TrimPrefix(path+"/"+metadata.V3Node, "/")), text, store.Flush)
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
			return nil, fmt.Errorf("%w: %s has chunks of unequal length (%s), which the form of kerchunk cannot express; write a manifest (%s)", zarr.ErrUnsupported, a.Path, a.Grid, Suffix)
		}
		doc := *a.Document.Resized(make([]int64, a.Grid.Rank()), a.Document.ChunkGrid).WithKeyEncoding(metadata.V2Dot)
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
	if _, err := rewrite.Convert(ctx, zarr.At(s, ""), 2, nil); err != nil {
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
func (m *Manifest) collectV2(ctx context.Context, s *memstore.Store, sparse map[*Array]bool) (map[string][]byte, error) {
	documents := map[string][]byte{}
	for e, err := range store.List(ctx, s, store.Path{}, true) {
		if err != nil {
			return nil, err
		}
		// The chunk of an array of rank 0 is there, too: its shape always has one.
		if name := store.MustKey(e.Name).Base(); name != metadata.V2Array && name != metadata.V2Group && name != metadata.V2Attributes {
			continue
		}
		if documents[e.Name], _, err = s.Get(ctx, store.MustKey(e.Name), store.Request{}, nil); err != nil {
			return nil, err
		}
	}
	for _, a := range m.Arrays {
		key := strings.TrimPrefix(a.Path+"/"+metadata.V2Array, "/")
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
	r, err := m.Kerchunk(ctx)
	if err == nil {
		var n int64
		if n, err = r.WriteTo(w); err == nil {
			err = checkKerchunk(n)
		}
	}
	return err
}
