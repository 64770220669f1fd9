// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/kerchunk"
	"varve.dev/zarr/internal/nodename"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/scan"
)

func init() {
	store.RegisterFolder(kerchunk.Suffix, openKerchunk)
	store.RegisterFolder(kerchunk.ParquetSuffix, openRecords)
	store.RegisterFolder(kerchunk.LongParquetSuffix, openRecords)
}

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

func (k keyList) list(_ context.Context, l *listing) {
	prefix := ""
	if l.dir != "" {
		prefix = l.dir + "/"
	}
	for key, r := range k.refs.Below(prefix) {
		f := foundAt(r)
		info := store.Info{Size: -1}
		// The size of a whole file would take a request for each.
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

// openRecords opens a folder of references as a store.
func openRecords(ctx context.Context, folder, name string, access store.Access) (store.Store, error) {
	return openIn(ctx, folder, access, func(home store.Store, dir store.Path, folder string) (*view, error) {
		path, err := dir.Join(name)
		if err != nil {
			return nil, err
		}
		r, err := newRecordFolder(ctx, home, path)
		if err != nil {
			return nil, err
		}
		// Paths are relative to the folder that the references are in.
		from, err := newSites(ctx, home, dir, folder, "")
		return &view{content: r, sources: from}, err
	})
}

// mostRecordsFile bounds a file of records in bytes.
const mostRecordsFile = 256 << 20

// recordFolder has the keys of references that are divided among files.
type recordFolder struct {
	format kerchunk.RecordFormat
	store  store.Store
	path   store.Path
	folder *kerchunk.Folder
	arrays map[string]*recordArray
	kept   cache[recordFile, *kerchunk.Records]
}

// recordArray is an array with references.
type recordArray struct {
	path   string
	count  []int64 // chunks along each axis
	chunks int64
	keys   metadata.KeyEncoding
	err    error // why its chunks cannot be found
}

// newRecordFolder reads the document of a folder. If the folder has the consolidated
// metadata of a hierarchy instead, the error is [fs.ErrNotExist].
func newRecordFolder(ctx context.Context, s store.Store, path store.Path) (*recordFolder, error) {
	key, err := path.Key(kerchunk.FolderDocument)
	if err != nil {
		return nil, err
	}
	text, _, err := s.Get(ctx, key, store.Request{Limit: mostDocument}, nil)
	if err != nil {
		return nil, err
	}
	r := &recordFolder{store: s, path: path, arrays: map[string]*recordArray{}, kept: newRecordCache()}
	r.folder, err = kerchunk.ParseFolder(text, kerchunk.Limits{Document: mostDocument})
	// Format 2 has consolidated metadata under the same name, so the folder may be an
	// ordinary hierarchy.
	if errors.Is(err, kerchunk.ErrNoReferences) {
		return nil, fmt.Errorf("%s: %w: %w", key, err, fs.ErrNotExist)
	}
	if err == nil {
		r.format, err = kerchunk.Parquet()
	}
	if err == nil {
		err = r.findArrays()
	}
	if err != nil {
		return nil, damaged(key, err)
	}
	return r, nil
}

// findArrays finds the arrays among the documents.
func (r *recordFolder) findArrays() error {
	for name, text := range r.folder.Documents {
		key, err := store.ParseKey(name)
		if err != nil {
			return err
		}
		// Kerchunk has documents of format 2 only.
		if key.Base() == nodename.V2Array {
			path := key.Dir().String()
			r.arrays[path] = newRecordArray(path, text)
		}
	}
	return nil
}

// newRecordArray returns an array with a document of format 2. A document that cannot be
// read is an error of that array only.
func newRecordArray(path string, text []byte) *recordArray {
	a := &recordArray{path: path}
	doc, err := metadata.ParseArrayV2(text, nil, metadata.Limits{})
	var g *grid.Grid
	if err == nil {
		g, err = grid.Parse(doc.Shape, doc.ChunkGrid.Name, doc.ChunkGrid.Configuration, nil)
	}
	if err == nil {
		a.keys, err = metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	}
	if err != nil {
		a.err = err
		return a
	}
	var ok bool
	a.count = g.Chunks()
	if a.chunks, ok = g.NumChunks(); !ok {
		a.err = fmt.Errorf("%w: it has %v chunks", ErrLimit, a.count)
	}
	return a
}

// find returns the value of a key, or a reference to it.
func (r *recordFolder) find(ctx context.Context, key store.Key) (found, error) {
	name := key.String()
	if text, ok := r.folder.Documents[name]; ok {
		return found{bytes: text}, nil
	}
	// The array may be any of the folders above: keys of chunks may have slashes.
	for at := name; at != ""; {
		at = at[:max(0, strings.LastIndexByte(at, '/'))]
		a, ok := r.arrays[at]
		switch {
		case !ok:
			continue
		case a.err != nil:
			return found{}, fmt.Errorf("array %q: %w", a.path, a.err)
		}
		index, ok := a.keys.ParseKey(strings.TrimPrefix(name[len(at):], "/"), len(a.count), nil)
		if !ok || !below(index, a.count) {
			return found{}, fs.ErrNotExist
		}
		return r.at(ctx, a, numberOf(index, a.count, 0))
	}
	return found{}, fs.ErrNotExist
}

// at returns the chunk of an array with a number in C order.
func (r *recordFolder) at(ctx context.Context, a *recordArray, number int64) (found, error) {
	// Row r of file k is chunk k * record_size + r, in C order.
	k := number / int64(r.folder.RecordSize)
	records, err := r.records(ctx, a, k)
	if err != nil {
		return found{}, err
	}
	// A file that is not there stands for missing chunks.
	if records == nil {
		return found{}, fs.ErrNotExist
	}
	// A file that was cut short must not look like one with missing chunks.
	row := int(number % int64(r.folder.RecordSize))
	if row >= records.Len() {
		key, err := r.key(a.path, kerchunk.RecordsName(k))
		return found{}, cmp.Or(err, damaged(key, scan.Corruptf("it has %s, and row %d is needed", quantity.Count(records.Len(), "rows"), row)))
	}
	x, ok := records.At(row)
	if !ok {
		return found{}, fs.ErrNotExist
	}
	return foundAt(x), nil
}

// records returns the records of an array in the file k, or nil if there is no such file.
func (r *recordFolder) records(ctx context.Context, a *recordArray, k int64) (*kerchunk.Records, error) {
	return r.kept.get(ctx, recordFile{a.path, k}, func() (*kerchunk.Records, int64, error) {
		records, _, err := r.read(ctx, a, k)
		// That there is no file is kept as well: sparse arrays lack most of them.
		if records == nil {
			return nil, 0, err
		}
		return records, records.Bytes(), err
	})
}

// read returns the records of an array in the file k, and the size of the file in bytes,
// or nil if there is no such file.
func (r *recordFolder) read(ctx context.Context, a *recordArray, k int64) (*kerchunk.Records, int64, error) {
	key, err := r.key(a.path, kerchunk.RecordsName(k))
	if err != nil {
		return nil, 0, err
	}
	file, _, err := r.store.Get(ctx, key, store.Request{Limit: mostRecordsFile}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	var records *kerchunk.Records
	if err == nil {
		records, err = r.format.Decode(file, r.folder.RecordSize, kerchunk.Limits{})
	}
	if err != nil {
		return nil, 0, damaged(key, err)
	}
	return records, int64(len(file)), nil
}

// key returns the key of a file of an array.
func (r *recordFolder) key(array, name string) (store.Key, error) {
	return r.path.Key(strings.TrimPrefix(array+"/"+name, "/"))
}

// list yields the keys below a folder.
func (r *recordFolder) list(ctx context.Context, l *listing) {
	for _, name := range slices.Sorted(maps.Keys(r.folder.Documents)) {
		f := found{bytes: r.folder.Documents[name]}
		if !l.add(name, f.info()) {
			return
		}
	}
	for _, path := range slices.Sorted(maps.Keys(r.arrays)) {
		if l.wantsChunks(path) && !r.listChunks(ctx, l, r.arrays[path]) {
			return
		}
	}
}

// listChunks yields the chunks of an array that are not missing.
func (r *recordFolder) listChunks(ctx context.Context, l *listing, a *recordArray) bool {
	if a.err != nil {
		return l.yield(store.Entry{}, fmt.Errorf("array %q: %w", a.path, a.err))
	}
	files, err := r.files(ctx, a)
	if err != nil {
		return l.yield(store.Entry{}, err)
	}
	prefix := strings.TrimPrefix(a.path+"/", "/")
	index, key := make([]int64, len(a.count)), []byte(nil)
	for _, k := range files {
		first := k * int64(r.folder.RecordSize)
		for n := first; n < min(first+int64(r.folder.RecordSize), a.chunks); n++ {
			f, err := r.at(ctx, a, n)
			if errors.Is(err, fs.ErrNotExist) {
				continue
			}
			if err != nil {
				return l.yield(store.Entry{}, err)
			}
			indexOf(n, a.count, 0, index)
			key = a.keys.AppendKey(append(key[:0], prefix...), index)
			// A reference to a whole file does not tell its size.
			info := store.Info{Size: -1}
			if f.ref.length != whole {
				info = f.info()
			}
			if !l.add(string(key), info) {
				return false
			}
		}
	}
	return true
}

// files returns the numbers of the files of an array, in order.
func (r *recordFolder) files(ctx context.Context, a *recordArray) ([]int64, error) {
	if a.chunks == 0 {
		return nil, nil
	}
	last := (a.chunks - 1) / int64(r.folder.RecordSize)
	var files []int64
	if _, ok := store.As[store.Lister](r.store); !ok {
		// A small document may claim any number of files. Each would be asked for.
		if last >= mostUnlisted {
			return nil, fmt.Errorf("%w: array %q has up to %s of references, in a store that cannot list them", ErrLimit, a.path, quantity.Count(last+1, "files"))
		}
		for k := range last + 1 {
			files = append(files, k)
		}
		return files, nil
	}
	dir, err := r.path.Join(a.path)
	if err != nil {
		return nil, err
	}
	for e, err := range store.List(ctx, r.store, dir, store.Flat) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err != nil {
			return nil, err
		}
		// Files beyond the grid are left from an array that was longer.
		if k, ok := kerchunk.ParseRecordsName(e.Name); ok && k <= last {
			files = append(files, k)
		}
	}
	slices.Sort(files)
	return files, nil
}

// countStored implements content. It reads the files of a large array until its chunks
// are few enough: a file of a few bytes may have a million records that are null, or
// equal. So a file counts for no more records than it has bytes.
func (r *recordFolder) countStored(ctx context.Context, array string, chunks int64) (n int64, err error) {
	a := r.arrays[array]
	if a == nil || a.err != nil || fewAbsent(chunks, 0) {
		return 0, nil
	}
	files, err := r.files(ctx, a)
	for _, k := range files {
		if err != nil || fewAbsent(chunks, n) {
			break
		}
		var records *kerchunk.Records
		var size int64
		if records, size, err = r.read(ctx, a, k); records != nil {
			n += min(countRecords(records), size)
		}
	}
	return n, err
}

// countRecords returns the number of records that are not null.
func countRecords(r *kerchunk.Records) (n int64) {
	for i := range r.Len() {
		if _, ok := r.At(i); ok {
			n++
		}
	}
	return n
}

// mostUnlisted bounds the files of an array that are tried one by one.
const mostUnlisted = 1 << 14

// newRecordCache returns an empty cache of files of records. A file that is not there is
// kept as nil.
func newRecordCache() cache[recordFile, *kerchunk.Records] {
	return cache[recordFile, *kerchunk.Records]{most: mostRecordBytes, each: fileBytes}
}

// recordFile is a file of records.
type recordFile struct {
	array  string
	number int64
}

const (
	// mostRecordBytes bounds the records in memory: some 400 files of fsspec's size.
	mostRecordBytes = 128 << 20
	// fileBytes is counted for each file besides its records. It bounds the files that
	// are known not to be there.
	fileBytes = 16 << 10
)
