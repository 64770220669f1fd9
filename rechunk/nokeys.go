// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/lineage"
	"varve.dev/zarr/metadata"
)

// noKeys returns the [ErrNoKeys] of an array whose candidates for other chunk keys are
// all in use. It says when the first one will be free, or what else can be done. want is
// the only candidate that will do, or nil. grace is that of [Options].
func noKeys(ctx context.Context, at lineage.Array, doc *metadata.Array, candidates []metadata.KeyEncoding, want *metadata.KeyEncoding, grace time.Duration) error {
	rank := len(doc.Shape)
	switch {
	case want != nil && len(candidates) == 0:
		return fmt.Errorf("%w: an array of format %d with %d axes cannot have the chunk keys %s", zarr.ErrInvalidArgument, doc.Format(), rank, want)
	case len(candidates) == 0:
		return fmt.Errorf("%w: an array of format %d with %d axes has one set of chunk keys: convert it to format 3 (rewrite.Convert), "+
			"or make a new array (Options.Into)", ErrNoKeys, doc.Format(), rank)
	}
	when, err := whenFree(ctx, at, doc, candidates, max(0, cmp.Or(grace, DefaultGrace)))
	if err != nil {
		return err
	}
	if want != nil {
		return fmt.Errorf("%w: the chunk keys %s are in use: %s; or leave out the keys (Rechunking.Keys), so that free ones are found", ErrNoKeys, want, when)
	}
	return fmt.Errorf("%w: all %d sets of chunk keys of an array of format %d with %d axes are in use: %s", ErrNoKeys, 1+len(candidates), doc.Format(), rank, when)
}

// whenFree says when the first of the candidates for chunk keys will be free, if the same
// request is repeated with its grace, and what frees it now.
func whenFree(ctx context.Context, at lineage.Array, doc *metadata.Array, candidates []metadata.KeyEncoding, grace time.Duration) (string, error) {
	c, err := at.Claim(ctx)
	if err != nil {
		return "", err
	}
	if rank := len(doc.Shape); c != nil && slices.ContainsFunc(candidates, func(k metadata.KeyEncoding) bool { return sameKeys(k, c.Keys, rank) }) {
		return "of a rechunk that has stored its new chunks there: " + notFinished(c), nil
	}
	free, err := freeAt(ctx, at, doc, candidates, grace)
	if err != nil {
		return "", err
	}
	age := time.Until(free.Add(-grace)).Abs()
	switch {
	case free.IsZero():
		return "no record says what the values are that have these keys (check.Run lists them); make a new array in another place (Options.Into)", nil
	case !time.Now().Before(free):
		return "the grace of a superseded grid is over: delete it (rechunk.Vacuum, with Options.SingleWriter if the store does not delete on conditions; or Options.Grace)", nil
	case age >= time.Hour:
		age = age.Truncate(time.Hour)
	case age >= time.Minute:
		age = age.Truncate(time.Minute)
	default:
		age = 0
	}
	return fmt.Sprintf("the first set is free from %s on; rechunk.Vacuum with a grace of %s (or Options.Grace) frees it now; %s",
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

// freeAt returns when the grace of the first superseded grid ends that has one of the
// candidates for chunk keys. It is zero if no record says so.
func freeAt(ctx context.Context, at lineage.Array, doc *metadata.Array, candidates []metadata.KeyEncoding, grace time.Duration) (time.Time, error) {
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
			if since.IsZero() { // the next vacuum begins it
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
