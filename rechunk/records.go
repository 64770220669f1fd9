// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"sync"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/own"
	"varve.dev/zarr/internal/parallel"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
	"varve.dev/zarr/internal/staging"
	"varve.dev/zarr/store"
)

// recordsDir is the directory, below that of the array, of the records of rechunks.
// It has a directory for every ID of a claim.
const recordsDir = own.Dir + "/regrid/"

// scratchDir is the directory, below that of the array, of the objects between stages.
const scratchDir = own.Dir + "/scratch/"

// leastRecords is how many bytes of records may be held in any case.
const leastRecords = 16 << 20

// recordsOf returns the directory of the records of a rechunk.
func recordsOf(at lineage.Array, id string) store.Path {
	return at.Path.MustKey(recordsDir + id + "/-").Dir()
}

// scratchOf returns the directory of the scratch of a rechunk.
func scratchOf(at lineage.Array, id string) store.Path {
	return at.Path.MustKey(scratchDir + id + "/-").Dir()
}

// saveRecords stores records that were not stored yet. Their chunks are durable already,
// so a record never promises more than is stored. The name of the object begins with the
// time, because of two records of a chunk the later one counts, and ends with suffix.
func saveRecords(ctx context.Context, at lineage.Array, dir store.Path, suffix string, records []staging.Record, d store.Durability) error {
	key := dir.MustKey(fmt.Sprintf("%020d-%s%s", time.Now().UnixNano(), newID(), suffix))
	_, err := store.Write(ctx, at.Store, store.Put(key, staging.AppendRecords(nil, records)), d)
	return err
}

// loadRecords reads the records in a directory, oldest first. If they take more than most
// bytes when they are decoded, the error wraps [zarr.ErrLimit].
func loadRecords(ctx context.Context, at lineage.Array, dir store.Path, rank int, most int64) ([]staging.Record, error) {
	names, err := namesIn(ctx, at.Store, dir, store.Flat)
	if err != nil {
		return nil, err
	}
	return readRecords(ctx, at, dir, names, rank, most)
}

// readRecords reads the records in some objects of a directory.
func readRecords(ctx context.Context, at lineage.Array, dir store.Path, names []string, rank int, most int64) ([]staging.Record, error) {
	left := max(most, leastRecords)
	tooMany := fmt.Errorf("%w: the records of staged chunks in %s take more than %s ("+remedy.Memory+"); give the rechunk up ("+remedy.Abandon+")", zarr.ErrLimit, dir, quantity.Count(left, "bytes"))
	group, within := parallel.New(ctx)
	group.SetLimit(max(tasks, engine.InFlight(at.Store, 0, tasks)))
	var mu sync.Mutex
	found := make([][]staging.Record, len(names))
	for i, name := range names {
		group.Go(func() error {
			records, err := loadRecord(within, at, dir.MustKey(name), rank, max(most, leastRecords))
			// The limit counts decoded records, of all objects together. Without it, an
			// array of very many chunks would take all memory before anything is
			// staged.
			mu.Lock()
			defer mu.Unlock()
			if left -= int64(len(records)) * recordBytes(rank); left < 0 || errors.Is(err, store.ErrTooLarge) {
				return tooMany
			}
			found[i] = records
			return err
		})
	}
	err := group.Wait(nil)
	return slices.Concat(found...), err
}

// loadRecord reads the records of an object, or none if it is gone or damaged.
func loadRecord(ctx context.Context, at lineage.Array, key store.Key, rank int, most int64) ([]staging.Record, error) {
	data, _, err := at.Store.Get(ctx, key, store.Request{Limit: most}, nil)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	records, err := staging.ParseRecords(data, rank)
	if err != nil {
		return nil, nil // their chunks are staged again
	}
	return records, nil
}

// recordBytes returns about how many bytes a decoded record takes.
func recordBytes(rank int) int64 { return 72 + 8*int64(rank) }

// mostNames bounds the objects in a directory that are listed: there is one for every
// task.
const mostNames = 1 << 22

// namesIn returns the names of the values in a directory, sorted, or also those below it.
func namesIn(ctx context.Context, s store.Store, dir store.Path, how store.Listing) ([]string, error) {
	var names []string
	for e, err := range store.List(ctx, s, dir, how) {
		if err != nil {
			return nil, err
		}
		if e.Dir {
			continue
		}
		if len(names) == mostNames {
			return nil, fmt.Errorf("%w: more than %s in %s; give the rechunk up ("+remedy.Abandon+")", zarr.ErrLimit, quantity.Count(mostNames, "objects"), dir)
		}
		names = append(names, e.Name)
	}
	slices.Sort(names)
	return names, nil
}

// removeOwn deletes the records and the scratch of a rechunk.
func removeOwn(ctx context.Context, at lineage.Array, id string) error {
	for _, dir := range []store.Path{scratchOf(at, id), recordsOf(at, id)} {
		var names []string // a listing need not be complete while values are deleted
		for e, err := range store.List(ctx, at.Store, dir, store.Deep) {
			if err != nil {
				return err
			}
			names = append(names, e.Name)
		}
		group, within := parallel.New(ctx)
		group.SetLimit(engine.InFlight(at.Store, 0, tasks))
		for _, name := range names {
			group.Go(func() error {
				_, err := store.Write(within, at.Store, store.Delete(dir.MustKey(name)), store.Sync)
				return err
			})
		}
		if err := group.Wait(nil); err != nil {
			return err
		}
	}
	return nil
}
