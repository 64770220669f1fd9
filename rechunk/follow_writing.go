// SPDX-License-Identifier: Apache-2.0

package rechunk

import (
	"context"
	"errors"
	"slices"

	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/element"
	"varve.dev/zarr/internal/engine"
	"varve.dev/zarr/internal/residue"
	"varve.dev/zarr/internal/snapshot"
	"varve.dev/zarr/internal/staging"
)

// inSource returns the elements of the array that is followed of which those of a box are
// made.
func (u *update) inSource(box grid.Box) grid.Box {
	from := slices.Clone(box)
	for i := range from {
		from[i].Start += u.window[i].Start
		from[i].Stop += u.window[i].Start
	}
	return from
}

// addSums adds the elements of a box to the sums of what is copied.
func (u *update) addSums(box grid.Box, e element.Buffer) error {
	if u.strategy != appends || u.made.Region != nil {
		return nil
	}
	return comparison.BoxSums(u.from, u.from.Grid, box, e, u.now.Fill, func(index []int64, sum residue.Number) {
		n := numberOf(u.from.Grid, index)
		u.added[n] = u.added[n].Plus(sum)
	})
}

// textBytes is the assumed length of a text.
const textBytes = 1 << 10

// write reads the elements of a region from the array that is followed, and stores them.
func (u *update) write(ctx context.Context, next *snapshot.Array, region grid.Box, how engine.Writing) error {
	limit := u.f.block()
	if next.Type.Variable() {
		limit = max(1, limit/textBytes*int64(next.Engine.Size))
	}
	boxes, err := next.Engine.Boxes(region, limit)
	if err != nil {
		return err
	}
	for box := range boxes {
		if err := u.writeBox(ctx, next, box, how); err != nil {
			return err
		}
		how.FirstAlone = false
	}
	return ctx.Err()
}

func (u *update) writeBox(ctx context.Context, next *snapshot.Array, box grid.Box, how engine.Writing) error {
	to, err := next.Resolve(box, nil)
	if err != nil {
		return err
	}
	buffer, e, err := staging.Room(to, u.f.block())
	if err != nil {
		return err
	}
	defer buffer.Put()
	view, err := to.View(e)
	if err != nil {
		return err
	}
	from, err := u.from.Resolve(u.inSource(box), nil)
	if err != nil {
		return err
	}
	if _, err := u.from.Engine.Read(ctx, from.Resolved, view, engine.Reading{}); err != nil {
		if err = u.f.source.overtaken(ctx, u.from, snapshot.SourceError(err)); errors.Is(err, errAgain) {
			err = errChanged
		}
		return err
	}
	if err := u.addSums(box, e); err != nil {
		return err
	}
	if err := next.Engine.Write(ctx, to.Resolved, view, how); err != nil {
		return err
	}
	chunks, err := next.Grid.Touched(box)
	if err == nil {
		n, _ := chunks.Len()
		u.progress.add(chunks)
		u.f.report.Staged.Add(Counts{Encoded: n, BytesDecoded: int64(len(e.Data)), BytesEncoded: int64(len(e.Data))})
	}
	return err
}
