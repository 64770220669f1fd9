// SPDX-License-Identifier: Apache-2.0

package driver

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"

	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/store"
)

// PartReader reads the bytes of parts piece by piece, with several requests in flight.
// It is for drivers of far stores that upload what they assemble or gather;
// [store.WriteParts] is for near ones. Make one with [NewPartReader]. It is not safe
// for concurrent use.
type PartReader struct {
	from  store.Store
	parts []store.Part        // with versions
	sizes map[store.Key]int64 // of the sources
	at    int                 // the next part
	off   int64               // bytes of it that were read
}

// readAtOnce is the number of requests in flight of a PartReader.
const readAtOnce = 16

// NewPartReader looks at the sources of parts in the store from, and pins each part to
// the version that it finds. The errors are those of
// [store.OpAssemble].
func NewPartReader(ctx context.Context, from store.Store, parts []store.Part) (*PartReader, error) {
	r := &PartReader{from: from, parts: make([]store.Part, len(parts)), sizes: map[store.Key]int64{}}
	found, err := r.look(ctx, parts)
	if err != nil {
		return nil, err
	}
	for i, p := range parts {
		if p.Data == nil {
			info, ok := found[p.Key]
			switch {
			case !ok && p.Version.IsZero():
				return nil, fmt.Errorf("%s: %w", p.Key, fs.ErrNotExist)
			case !ok || !p.Version.IsZero() && p.Version != info.Version:
				return nil, fmt.Errorf("%w: %s was replaced or deleted", store.ErrConflict, p.Key)
			}
			if err := p.Within(info.Size); err != nil {
				return nil, err
			}
			p.Version = info.Version
		}
		r.parts[i] = p
	}
	return r, nil
}

// look returns what is known of the sources that exist.
func (r *PartReader) look(ctx context.Context, parts []store.Part) (map[store.Key]store.Info, error) {
	var keys []store.Key
	for _, p := range parts {
		if _, seen := r.sizes[p.Key]; p.Data == nil && !seen {
			r.sizes[p.Key] = 0
			keys = append(keys, p.Key)
		}
	}
	infos, missing := make([]store.Info, len(keys)), make([]bool, len(keys))
	err := atOnce(ctx, len(keys), func(ctx context.Context, i int) (err error) {
		infos[i], err = store.Stat(ctx, r.from, keys[i])
		if missing[i] = errors.Is(err, fs.ErrNotExist); missing[i] {
			return nil // a part of a given version reports it as a conflict
		}
		return err
	})
	found := map[store.Key]store.Info{}
	for i, k := range keys {
		if !missing[i] {
			found[k], r.sizes[k] = infos[i], infos[i].Size
		}
	}
	if err != nil {
		err = &sourceError{err}
	}
	return found, err
}

// Parts returns the parts, with the versions that they are pinned to.
func (r *PartReader) Parts() []store.Part { return r.parts }

// IsWhole reports whether a part is a whole value of the store.
func (r *PartReader) IsWhole(p store.Part) bool {
	return p.Data == nil && p.Off == 0 && p.N == r.sizes[p.Key]
}

// Rewind makes the next piece the first one again.
func (r *PartReader) Rewind() { r.at, r.off = 0, 0 }

// AppendPiece appends the next n bytes to dst, or fewer at the end. The error is
// [store.ErrConflict] if a source has been replaced since [NewPartReader].
func (r *PartReader) AppendPiece(ctx context.Context, dst []byte, n int64) ([]byte, error) {
	return r.read(ctx, r.take(n), dst)
}

// Skip passes over the next n bytes, or fewer at the end, without reading them.
func (r *PartReader) Skip(n int64) { r.take(n) }

// take returns the parts of the next n bytes, which are then behind the reader.
func (r *PartReader) take(n int64) (piece []store.Part) {
	for n > 0 && r.at < len(r.parts) {
		p := r.parts[r.at]
		size := p.N
		if p.Data != nil {
			size = int64(len(p.Data))
		}
		some := min(n, size-r.off)
		if p.Data != nil {
			p.Data = p.Data[r.off : r.off+some]
		} else {
			p.Off, p.N = p.Off+r.off, some
		}
		piece = append(piece, p)
		n -= some
		if r.off += some; r.off == size {
			r.at, r.off = r.at+1, 0
		}
	}
	return piece
}

// read appends the bytes of parts. Groups of adjacent parts are read at the same time.
func (r *PartReader) read(ctx context.Context, parts []store.Part, dst []byte) ([]byte, error) {
	each := max(1, (len(parts)+readAtOnce-1)/readAtOnce)
	groups := (len(parts) + each - 1) / each
	group := func(g int) []store.Part { return parts[g*each : min((g+1)*each, len(parts))] }
	begin := make([]int, groups+1)
	begin[0] = len(dst)
	for g := range groups {
		n, err := (store.Change{Op: store.OpAssemble, Parts: group(g)}).Size(0)
		if err != nil {
			return nil, err
		}
		begin[g+1] = begin[g] + int(n)
	}
	dst = append(dst, make([]byte, begin[groups]-len(dst))...)
	err := atOnce(ctx, groups, func(ctx context.Context, g int) error {
		return store.WriteParts(ctx, &room{dst[begin[g]:begin[g+1]]}, r.from, group(g))
	})
	if err != nil {
		err = &sourceError{err}
	}
	return dst, err
}

// sourceError is the error of reading a part. It says nothing about the store that the
// value is written to.
type sourceError struct{ error }

func (e *sourceError) Unwrap() error { return e.error }

// room is a writer that fills a slice.
type room struct{ left []byte }

// Write implements [io.Writer].
func (r *room) Write(b []byte) (int, error) {
	n := copy(r.left, b)
	r.left = r.left[n:]
	if n < len(b) {
		return n, io.ErrShortBuffer
	}
	return n, nil
}

// atOnce calls f with the numbers below n, for several at the same time.
func atOnce(ctx context.Context, n int, f func(ctx context.Context, i int) error) error {
	group, ctx := parallel.New(ctx)
	group.SetLimit(readAtOnce)
	for i := range n {
		group.Go(func() error { return f(ctx, i) })
	}
	return group.Wait(nil)
}
