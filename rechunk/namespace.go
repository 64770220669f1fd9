// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"slices"
	"strconv"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/metadata"
	"varve.dev/zarr/store"
)

// encodings are the key encodings in the order in which they are used. Those with a slash
// come first: the others put all chunks into one directory.
var encodings = []metadata.KeyEncoding{metadata.DefaultSlash, metadata.V2Slash, metadata.DefaultDot, metadata.V2Dot}

// sameKeys reports whether two encodings give the chunks of an array of this rank the
// same keys. Without two indices there is no separator, and without any there is one
// key.
func sameKeys(a, b metadata.KeyEncoding, rank int) bool {
	return a == b || a.Name() == b.Name() && (rank == 0 || rank == 1 && a.Name() == metadata.V2Dot.Name())
}

// keysFor returns the key encodings that an array may have, in the order of their use
// after now. In format 2 there are two, and in both formats fewer for a rank below 2.
func keysFor(now metadata.KeyEncoding, rank, format int) []metadata.KeyEncoding {
	at := slices.Index(encodings, now)
	var list []metadata.KeyEncoding
	for i := 1; i <= len(encodings); i++ {
		e := encodings[(at+i)%len(encodings)]
		known := sameKeys(e, now, rank) || slices.ContainsFunc(list, func(o metadata.KeyEncoding) bool { return sameKeys(e, o, rank) })
		if !known && (format == 3 || e.Name() == metadata.V2Dot.Name()) {
			list = append(list, e)
		}
	}
	return list
}

// freeKeys returns the first key encoding that no chunk of the array uses. want is the
// only one that will do, and avoid is one that comes last, unless they are nil. grace is
// for the error.
func freeKeys(ctx context.Context, at lineage.Array, doc *metadata.Array, want, avoid *metadata.KeyEncoding, grace time.Duration) (metadata.KeyEncoding, error) {
	rank := len(doc.Shape)
	now, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	if err != nil {
		return now, err
	}
	candidates := keysFor(now, rank, doc.Format())
	if want != nil {
		candidates = slices.DeleteFunc(candidates, func(e metadata.KeyEncoding) bool { return !sameKeys(e, *want, rank) })
	}
	used, err := usedKeys(ctx, at, rank)
	if err != nil {
		return now, err
	}
	// A superseded grid may have had only fill values. Its readers find no chunks, and
	// must not find those of another grid.
	records, err := at.Records(ctx)
	if err != nil {
		return now, err
	}
	for _, r := range lineage.Chain(records, doc) {
		if keys, err := metadata.ParseKeyEncoding(r.Superseded().ChunkKeyEncoding); err == nil && !r.Gone && !r.InPlace {
			used = append(used, keys)
		}
	}
	if avoid != nil {
		if i := slices.IndexFunc(candidates, func(e metadata.KeyEncoding) bool { return sameKeys(e, *avoid, rank) }); i >= 0 {
			candidates = append(slices.Delete(candidates, i, i+1), *avoid)
		}
	}
	for _, e := range candidates {
		if !slices.ContainsFunc(used, func(o metadata.KeyEncoding) bool { return sameKeys(e, o, rank) }) {
			return e, nil
		}
	}
	return now, noKeys(ctx, at, doc, candidates, want, grace)
}

// ErrNoKeys means that superseded grids use all chunk keys.
var ErrNoKeys error = final("no chunk keys are free")

// final is a conflict that stays when the change is tried again; see [publish.Final].
type final string

func (f final) Error() string { return string(f) }

// Is reports whether target is [zarr.ErrConflict].
func (f final) Is(target error) bool { return target == zarr.ErrConflict }

// Final implements [publish.Final].
func (f final) Final() {}

// usedKeys returns the key encodings that values beside the document of the array use.
// Values of other programs count too: nothing that is not ours is overwritten.
func usedKeys(ctx context.Context, at lineage.Array, rank int) ([]metadata.KeyEncoding, error) {
	var used []metadata.KeyEncoding
	for e, err := range store.List(ctx, at.Store, at.Path, false) {
		if err != nil {
			return nil, err
		}
		for _, k := range encodings {
			if slices.Contains(used, k) || !mayUse(k, e, rank) {
				continue
			}
			if e.Dir { // file systems keep empty directories
				if some, err := hasValues(ctx, at.Store, at.Path, e.Name); err != nil || !some {
					if err != nil {
						return nil, err
					}
					continue
				}
			}
			used = append(used, k)
		}
	}
	return used, nil
}

// mayUse reports whether an entry of the array's directory may be a chunk, or contain
// chunks, whose keys have the given encoding.
func mayUse(k metadata.KeyEncoding, e store.Entry, rank int) bool {
	if !e.Dir {
		_, ok := k.ParseKey(e.Name, rank, nil)
		return ok
	}
	switch k {
	case metadata.DefaultSlash:
		return e.Name == "c"
	case metadata.V2Slash:
		n, err := strconv.ParseInt(e.Name, 10, 64)
		return err == nil && strconv.FormatInt(n, 10) == e.Name && rank > 1
	}
	return false
}

// hasValues reports whether there is a value below a directory.
func hasValues(ctx context.Context, s store.Store, p store.Path, name string) (bool, error) {
	dir, err := p.Join(name)
	if err != nil {
		return false, err
	}
	for _, err := range store.List(ctx, s, dir, true) {
		return err == nil, err
	}
	return false, nil
}
