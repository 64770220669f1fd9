// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"context"
	"net/http"
	"time"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/budget"
	"varve.dev/zarr/internal/cf"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/export"
	"varve.dev/zarr/internal/subset"
	"varve.dev/zarr/selection"
)

// values answers requests for elements, at /@values/NAME/PATH.
type values struct {
	size int64 // of all
	// answers bounds the bytes that answers have until clients have taken them, and
	// decoding those of chunks and coordinates that are read. A request that needs more
	// takes all, so that it runs alone. It may wait for decoding while it has of
	// answers, and not the other way.
	answers, decoding *budget.Budget
}

func newValues(size int64) values { return values{size, budget.New(size / 2), budget.New(size / 2)} }

// parts is the part of the memory that one read has in flight, unless a chunk is longer.
const parts = 16

// hold waits for the memory that an answer has, besides what is decoded at a time.
func (v *values) hold(ctx context.Context, src *export.Source, more int64) (int64, error) {
	need := min(src.Bytes, v.size/8) * 2
	if src.Stored.Variable() {
		need = v.size / 4 // the lengths are not known
	}
	wait, cancel := context.WithTimeout(ctx, mostWait)
	defer cancel()
	held, err := v.answers.Acquire(wait, sum(need, more))
	if err != nil && ctx.Err() == nil {
		err = errNoMemory
	}
	return held, err
}

// decode waits for the memory to decode something, which end gives back.
func (v *values) decode(ctx context.Context, need int64, most time.Duration) (end func(), err error) {
	wait, cancel := context.WithTimeout(ctx, most)
	defer cancel()
	held, err := v.decoding.Acquire(wait, need)
	if err != nil && ctx.Err() == nil {
		err = errNoMemory
	}
	return func() { v.decoding.Release(held) }, err
}

var errNoMemory = tell(http.StatusServiceUnavailable, "other requests for values take the memory that is set aside for them: ask again later")

// decoded returns the bytes that reading elements takes besides the elements: at least
// the longest chunk or inner chunk with one of them, as it is stored and decoded.
func (v *values) decoded(a *zarr.Array, sel *selection.Resolved) int64 {
	state, chosen := a.Core().State(), (*subset.Elements)(sel)
	if a.Type().Variable() {
		return v.size // the lengths are not known
	}
	width := export.Width(a.Type())
	units, touched := state.Finest(), chosen.Touched(state.Finest())
	longest := width
	for i, side := range touched {
		longest = product(longest, units.Axis(i).Longest(side))
	}
	// A part of a chunk that is not compressed is read alone if it has an eighth at most.
	block := min(product(width, sel.Len()), v.size/4)
	if chain := state.Engine.Chain; chain.Partial() && !chain.Divided() && sel.Fields() == nil && longest/8 >= block {
		return v.size / parts
	}
	all, ok := touched.Len()
	if !ok {
		all = export.TooMany
	}
	return max(product(2, longest), min(v.size/parts, product(2*all, longest)))
}

// labelBytes is the memory that an element of a coordinate takes besides its bytes: as a
// number, a time or text, in a list that has grown.
const labelBytes = 32

// labels returns the memory that n elements of a coordinate take, and what reading them
// takes besides.
func (v *values) labels(c *zarr.Array, n int64) (held, decoded int64, err error) {
	if c.Type().Variable() {
		return v.size / 4, v.size, nil // the lengths are not known
	}
	whole, err := c.View(nil)
	if err != nil {
		return 0, 0, err
	}
	return product(n, 2*export.Width(c.Type())+labelBytes), v.decoded(c, whole.Selection()), nil
}

// headings returns what the coordinates of a table take.
func (v *values) headings(ctx context.Context, a *asked, src *export.Source) (held, decoded int64, err error) {
	names := a.array.DimensionNames()
	for i, axis := range (*subset.Elements)(src.Selection).Axes() {
		held = sum(held, product(src.Shape[i], labelBytes)) // its indices
		if names == nil || names[axis] == "" {
			continue
		}
		c, err := cf.Coordinate(ctx, a.array, names[axis])
		if err != nil {
			continue // there is none, or the table will say why
		}
		labels, more, err := v.labels(c, src.Shape[i])
		if closed := c.Close(); err == nil {
			err = closed
		}
		if err != nil {
			return 0, 0, err
		}
		held, decoded = sum(held, labels), max(decoded, more)
	}
	return held, decoded, nil
}

// product returns a product of sizes, [export.TooMany] if it overflows.
func product(a, b int64) int64 {
	n, ok := checked.Mul(a, b)
	if !ok {
		return export.TooMany
	}
	return n
}

// sum returns a sum of sizes, [export.TooMany] if it overflows.
func sum(a, b int64) int64 {
	n, ok := checked.Add(a, b)
	if !ok {
		return export.TooMany
	}
	return n
}
