// SPDX-License-Identifier: Apache-2.0

package check

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"

	"varve.dev/zarr"
)

// parts are the results of all parts, by the path of the array and then by the task.
type parts struct {
	of    int64
	found map[string][]taken
}

// taken is what one part has found in an array.
type taken struct {
	task int64
	*portionOf
}

// gather checks that the parts are complete and belong together. Of parts with the same
// task the last one counts.
func (o *Options) gather() error {
	if len(o.Parts) == 0 {
		return nil
	}
	if o.Sample != 0 {
		return fmt.Errorf("%w: parts have no sample", zarr.ErrInvalidArgument)
	}
	tasks := map[int64]*Part{}
	for i, p := range o.Parts {
		if p == nil || p.Share.Of < 1 || p.Share.valid() != nil {
			return fmt.Errorf("%w: Options.Parts[%d] is not a result of RunPart", zarr.ErrInvalidArgument, i)
		}
		if first := o.Parts[0]; p.Share.Of != first.Share.Of {
			return fmt.Errorf("%w: %v and %v do not belong together", zarr.ErrInvalidArgument, first.Share, p.Share)
		}
		if p.how != o.manner() {
			return fmt.Errorf("%w: %v was made with other options: Fast %t and Complete %t", zarr.ErrInvalidArgument, p.Share, p.how.Fast, p.how.Complete)
		}
		tasks[p.Share.Task] = p
	}
	of := o.Parts[0].Share.Of
	switch lacking := of - int64(len(tasks)); {
	case lacking > 1:
		return fmt.Errorf("%w: %v is missing, and %d more: RunPart makes them", zarr.ErrInvalidArgument, firstGap(tasks, of), lacking-1)
	case lacking == 1:
		return fmt.Errorf("%w: %v is missing: RunPart makes it", zarr.ErrInvalidArgument, firstGap(tasks, of))
	}
	o.parts = parts{of, map[string][]taken{}}
	for _, task := range slices.Sorted(maps.Keys(tasks)) {
		o.parts.add(tasks[task])
	}
	return nil
}

// firstGap returns the first share that has no part.
func firstGap(tasks map[int64]*Part, of int64) Share {
	gap := Share{Of: of}
	for tasks[gap.Task] != nil {
		gap.Task++
	}
	return gap
}

// add adds a part.
func (p *parts) add(part *Part) {
	for i := range part.arrays {
		one := &part.arrays[i]
		p.found[one.path] = append(p.found[one.path], taken{part.Share.Task, one})
	}
}

// take adds to the result of an array what the parts have found in its chunks. It returns
// false if they have not checked all chunks of the array as its document describes it
// now. An error of a part is returned as that of a check.
func (p *parts) take(ctx context.Context, r *Array, a *zarr.Array, most int) (bool, error) {
	list := p.found[r.Path]
	if len(list) == 0 || a.Refresh(ctx) != nil {
		return false, nil
	}
	document, ok := documentOf(a)
	if !ok {
		return false, nil
	}
	done, all := int64(0), int64(0)
	for _, one := range list {
		part := Share{Task: one.task, Of: p.of}.of(r.Path, a.Grid())
		if one.document != document {
			return false, nil
		}
		done, all = done+part.size, part.all
	}
	if done != all {
		return false, nil // a part has not seen the array
	}
	slices.SortFunc(list, func(x, y taken) int {
		return cmp.Compare(Share{x.task, p.of}.place(r.Path), Share{y.task, p.of}.place(r.Path))
	})
	return true, r.addParts(list, most)
}

// addParts adds what the parts have found, in the order of their chunks.
func (r *Array) addParts(list []taken, most int) error {
	for _, one := range list {
		if one.err != nil {
			return one.err
		}
		sum, ok := plus(r.Counts, one.counts)
		if !ok {
			return fmt.Errorf("%w: counts of %v", zarr.ErrOverflow, r.Path)
		}
		r.Counts = sum
		for _, f := range one.found {
			r.keep(f, most)
		}
	}
	r.sortFound(most)
	return nil
}
