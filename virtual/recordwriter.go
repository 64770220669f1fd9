// SPDX-License-Identifier: Apache-2.0

package virtual

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"varve.dev/zarr"
	"varve.dev/zarr/store"
	"varve.dev/zarr/virtual/kerchunk"
)

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
		return fmt.Errorf("%d references in a file; it must be from 1 to %d", size, kerchunk.MostRecords)
	}
	format, err := kerchunk.Parquet()
	if err != nil {
		return err
	}
	if m.Array("") != nil {
		return fmt.Errorf("%w: the array is at the root, where the parquet form of kerchunk has no place for its references; write a manifest (%s)", zarr.ErrUnsupported, Suffix)
	}
	if m, err = m.withScalars(ctx); err != nil {
		return err
	}
	documents, err := m.documentsV2(ctx)
	if err != nil {
		return err
	}
	// Files that an interrupted call has left would be taken for those of this one.
	for _, err := range store.List(ctx, s, path, true) {
		if errors.Is(err, fs.ErrNotExist) {
			break
		}
		if err == nil {
			err = fmt.Errorf("%w: the folder is not empty", store.ErrConflict)
		}
		return err
	}
	w := &recordWriter{store: s, path: path, format: format, nodes: newNodes(m), size: size}
	for _, a := range m.Arrays {
		if err = w.addArray(ctx, a); err != nil {
			break
		}
	}
	if err == nil {
		f := kerchunk.Folder{RecordSize: size, Documents: documents}
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
			return fmt.Errorf("%w: %s has %d bytes, and at most %d can be read; put fewer references into a file (--record-size)", ErrLimit, name, len(w.file), mostRecordsFile)
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
		return fmt.Errorf("%w: %s could not be read; put fewer than %d references into a file (--record-size): %w", ErrLimit, name, w.size, err)
	}
	return nil
}

// uncheckedRecords is the memory in bytes from which on records are read before they are
// stored.
const uncheckedRecords = 8 << 20

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
	_, err = store.PutIf(ctx, w.store, key, value, store.IfAbsent(), store.Sync)
	if errors.Is(err, store.ErrUnsupported) {
		err = putNew(ctx, w.store, key, value)
	}
	if errors.Is(err, store.ErrInvalidKey) {
		return fmt.Errorf("%w; write a manifest (%s) or references in JSON (%s), which have the names of arrays in a document", err, Suffix, KerchunkSuffix)
	}
	if !errors.Is(err, store.ErrConflict) { // else it is another writer's
		w.written = append(w.written, key)
	}
	return err
}

// remove removes what was written, after an error.
func (w *recordWriter) remove(ctx context.Context) error {
	ctx = context.WithoutCancel(ctx)
	var errs []error
	for _, key := range w.written {
		if err := store.Delete(ctx, w.store, key); err != nil && !errors.Is(err, fs.ErrNotExist) {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}
