// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/internal/quantity"
	"varve.dev/zarr/internal/remedy"
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

// hasKeys reports whether the chunks of a document have the keys of an encoding.
func hasKeys(doc *metadata.Array, k metadata.KeyEncoding, rank int) bool {
	is, err := metadata.ParseKeyEncoding(doc.ChunkKeyEncoding)
	return err == nil && sameKeys(is, k, rank)
}

// keysFor returns the key encodings that an array may have, in the order of their use
// after now. In format 2 there are two, and in both formats fewer for a rank below 2.
func keysFor(now metadata.KeyEncoding, rank, format int) []metadata.KeyEncoding {
	// Cycle through the encodings: the one that was superseded first is used next, and
	// its grace is the first to end.
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

// parseKey returns the encoding and the index of a chunk key. If several encodings make
// the key, the present one counts.
func parseKey(name string, rank int, now metadata.KeyEncoding) (metadata.KeyEncoding, []int64, bool) {
	if index, ok := now.ParseKey(name, rank, nil); ok {
		return now, index, true
	}
	for _, k := range encodings {
		if index, ok := k.ParseKey(name, rank, nil); ok {
			return k, index, true
		}
	}
	return now, nil, false
}

// freeKeys returns the first key encoding that no chunk of the array uses. want is the
// only one that will do, and avoid is one that comes last, unless they are nil. grace is
// how long superseded grids stay, for the error.
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
	// A process that was given up may still write to these keys, so they are the last
	// choice.
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
	return now, noKeysError(ctx, at, doc, candidates, want, grace)
}

// ErrNoKeys means that superseded grids use all chunk keys.
var ErrNoKeys error = final("no chunk keys are free")

// usedKeys returns the key encodings that values beside the document of the array use.
// Values of other programs count too: nothing that is not ours is overwritten.
func usedKeys(ctx context.Context, at lineage.Array, rank int) ([]metadata.KeyEncoding, error) {
	var used []metadata.KeyEncoding
	for e, err := range store.List(ctx, at.Store, at.Path, store.Flat) {
		if err != nil {
			return nil, err
		}
		for _, k := range encodings {
			if slices.Contains(used, k) || !mayUse(k, e, rank) {
				continue
			}
			// File systems keep empty directories after the last chunk is deleted.
			if e.Dir {
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
	for _, err := range store.List(ctx, s, dir, store.Deep) {
		return err == nil, err
	}
	return false, nil
}

// noKeysError returns the [ErrNoKeys] of an array whose candidates for other chunk keys
// are all in use. It says when the first one will be free, or what else can be done.
// want is the only candidate that will do, or nil. grace is how long superseded grids
// stay.
func noKeysError(ctx context.Context, at lineage.Array, doc *metadata.Array, candidates []metadata.KeyEncoding, want *metadata.KeyEncoding, grace time.Duration) error {
	rank := len(doc.Shape)
	switch {
	case want != nil && len(candidates) == 0:
		return fmt.Errorf("%w: an array of format %d with %s cannot have the chunk keys %s", zarr.ErrInvalidArgument, doc.Format(), quantity.Count(rank, "axes"), want)
	case len(candidates) == 0:
		return fmt.Errorf("%w: an array of format %d with %s has one set of chunk keys: convert it to format 3 ("+remedy.Convert+"), "+
			"or make a new array "+remedy.IntoPlace, ErrNoKeys, doc.Format(), quantity.Count(rank, "axes"))
	}
	when, err := freeText(ctx, at, doc, candidates, grace)
	if err != nil {
		return err
	}
	if want != nil {
		return fmt.Errorf("%w: the chunk keys %s are in use%s; or "+remedy.LeaveOutKeys+", so that free ones are found", ErrNoKeys, want, when)
	}
	return fmt.Errorf("%w: all %s are in use%s", ErrNoKeys, quantity.Count(1+len(candidates), "sets"), when)
}

// freeText continues a message that chunk keys are in use: until when the first of the
// candidates is, if the same request is repeated with its grace, and what frees it now.
func freeText(ctx context.Context, at lineage.Array, doc *metadata.Array, candidates []metadata.KeyEncoding, grace time.Duration) (string, error) {
	c, err := at.Claim(ctx)
	if err != nil {
		return "", err
	}
	if rank := len(doc.Shape); c != nil && slices.ContainsFunc(candidates, func(k metadata.KeyEncoding) bool { return sameKeys(k, c.Keys, rank) }) {
		return ", one by a rechunk that has stored its new chunks there: " + notFinished(c), nil
	}
	free, err := freeTime(ctx, at, doc, candidates, grace)
	if err != nil {
		return "", err
	}
	age := time.Until(free.Add(-grace)).Abs()
	switch {
	case free.IsZero():
		return ": no record says what the values are that have these keys (" + remedy.CheckRun + " lists them); make a new array in another place " + remedy.IntoPlace, nil
	case !time.Now().Before(free):
		return ", and the grace of a superseded grid is over: delete it (" + remedy.Vacuum + ", with " + remedy.SingleWriter + " if the store does not delete on conditions; or " + remedy.Grace + ")", nil
	// Round the age down, so that a vacuum with this grace frees the keys for certain.
	case age >= time.Hour:
		age = age.Truncate(time.Hour)
	case age >= time.Minute:
		age = age.Truncate(time.Minute)
	default:
		age = 0
	}
	return fmt.Sprintf(", the first until %s; "+remedy.VacuumGrace+" %s (or "+remedy.Grace+") frees it now; %s",
		free.UTC().Format(time.RFC3339), graceText(age), noGraceRisk), nil
}

// noGraceRisk is what a vacuum without a grace may do.
const noGraceRisk = "with a grace of 0, readers that opened the array before find no chunks, and nothing can show that none is left"

// graceText returns a grace of whole hours or minutes, or "0s".
func graceText(d time.Duration) string {
	text, minutes := strings.CutSuffix(d.String(), "m0s")
	if hours, ok := strings.CutSuffix(text, "h0"); ok {
		return hours + "h"
	}
	if minutes {
		text += "m"
	}
	return text
}

// freeTime returns when the grace of the first superseded grid ends that has one of the
// candidates for chunk keys. It is zero if no record says so.
func freeTime(ctx context.Context, at lineage.Array, doc *metadata.Array, candidates []metadata.KeyEncoding, grace time.Duration) (time.Time, error) {
	records, err := at.Records(ctx)
	if err != nil {
		return time.Time{}, err
	}
	ends := map[metadata.KeyEncoding]time.Time{}
	for _, r := range lineage.Chain(records, doc) {
		for _, k := range candidates {
			// The latest rechunking that has superseded these keys counts. It is the
			// first one of the chain.
			if _, known := ends[k]; known || !hasKeys(r.Superseded(), k, len(doc.Shape)) {
				continue
			}
			since, err := at.GraceSince(ctx, r)
			if err != nil {
				return since, err
			}
			// Without a noted beginning, the next vacuum begins the grace.
			if since.IsZero() {
				since = time.Now()
			}
			ends[k] = since.Add(grace)
		}
	}
	var first time.Time
	for _, end := range ends {
		if first.IsZero() || end.Before(first) {
			first = end
		}
	}
	return first, nil
}
