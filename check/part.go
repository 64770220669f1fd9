// SPDX-License-Identifier: Apache-2.0

package check

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"

	"varve.dev/zarr"
	"varve.dev/zarr/check/consolidation"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/metadata"
)

// Part is what [RunPart] found in its share of the chunks. It can be stored as JSON. It
// has at most [Options.MostFaults] faults of each array. The zero value is no part.
type Part struct {
	// Share is which part it is. Of is at least 1.
	Share Share
	// Checked are sums over what was checked. Arrays are those with chunks in the share.
	Checked Counts

	how    manner
	arrays []portionOf
}

// manner is how chunks were checked.
type manner struct {
	Fast     bool `json:"fast,omitempty"`
	Complete bool `json:"complete,omitempty"`
}

// portionOf is what was found in the portion of one array.
type portionOf struct {
	path     string // relative to the checked node
	document string // digest of the documents of the array
	counts   Counts // without Arrays and Unchecked
	found    []zarr.ShardFault
	err      error // why the check has ended early, or nil
}

// RunPart checks a share of the chunks of an array, or of each array below a group. The
// shares may be checked by several processes, on several machines, in any order, and also
// more than once. [Run] with [Options.Parts] does the rest and reports what all of them
// have found.
//
// The errors are those of [Run]. Below a group, an array that cannot be checked is part
// of the result. More than 100 chunks in a row that cannot be read end the check of an
// array in its share. If a group cannot be listed completely, RunPart returns both a part
// on the rest and an error; Run checks what the part lacks. If the share is none, or if
// the options have a sample or parts, the error wraps [zarr.ErrInvalidArgument].
func RunPart(ctx context.Context, n zarr.Node, share Share, opt *Options) (*Part, error) {
	o := opt.orDefault()
	if err := share.valid(); err != nil {
		return nil, err
	}
	if o.Sample != 0 || len(o.Parts) > 0 {
		return nil, fmt.Errorf("%w: a part has no sample and is not made of parts", zarr.ErrInvalidArgument)
	}
	share.Of = max(1, share.Of)
	p := &Part{Share: share, how: o.manner()}
	var err, bad error
	switch n := n.(type) {
	case *zarr.Array:
		err = p.check(ctx, "", n, &o)
		if err == nil && len(p.arrays) > 0 {
			err = p.arrays[0].err
		}
	case *zarr.Group:
		bad, err = p.checkBelow(ctx, n, &o)
	default:
		err = noNode(n)
	}
	if err != nil {
		return nil, err
	}
	return p, errors.Join(bad, p.sum())
}

// manner returns how the options check chunks.
func (o *Options) manner() manner { return manner{Fast: o.Fast, Complete: o.Complete} }

// checkBelow checks the share of all arrays below a group. bad is the reason if not all
// of them are known, and err is that of the context.
func (p *Part) checkBelow(ctx context.Context, g *zarr.Group, o *Options) (bad, err error) {
	// Run finds the same arrays.
	stale, bad := consolidation.Stale(ctx, g.Location(), g.Metadata(), nil)
	for m, err := range consolidation.Members(ctx, g, stale, true) {
		if err != nil {
			bad = errors.Join(bad, err)
			continue
		}
		if a, ok := m.Node.(*zarr.Array); ok && m.Err == nil {
			if err := p.check(ctx, m.Path, a, o); err != nil {
				return nil, err
			}
		}
	}
	return bad, ctx.Err()
}

// check checks the share of the chunks of an array. The error is that of the context.
func (p *Part) check(ctx context.Context, path string, a *zarr.Array, o *Options) error {
	if p.Share.of(path, a.Grid()).size == 0 {
		return ctx.Err() // also for a document that is stale: Run notices
	}
	// The chunks are those of the document that the part names. If the array changes
	// meanwhile, Run finds another document and checks the array itself.
	err := a.Refresh(ctx)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	part, doc := p.Share.of(path, a.Grid()), a.Metadata()
	document, ok := documentOf(a)
	if err != nil || !ok || part.size == 0 {
		return nil // Run checks the array itself
	}
	r := &Array{Path: path}
	o.Progress(path, 0, part.size)
	err = r.readChunks(ctx, a, o, part.from, part.to, part.size)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if a.Metadata() != doc {
		return nil // some chunks may have been those of another grid
	}
	one := portionOf{path: path, document: document}
	if err != nil {
		one.err = err // as Run does, drop what was found before
	} else {
		one.counts, one.found = r.Counts, r.Found
	}
	p.arrays = append(p.arrays, one)
	return nil
}

// documentOf returns a digest of the documents of an array as they are now known. It
// returns false if they cannot be written again.
func documentOf(a *zarr.Array) (string, bool) {
	doc, limits := a.Metadata(), metadata.Limits{Document: longestDocument, Depth: a.Options().Limits.Depth}
	text, err := doc.Marshal(limits)
	if err != nil {
		return "", false
	}
	attributes, err := doc.MarshalAttributes(limits)
	if err != nil {
		return "", false
	}
	h := sha256.New()
	fmt.Fprintf(h, "%d\n", len(text))
	h.Write(text) // never fails
	h.Write(attributes)
	return hex.EncodeToString(h.Sum(nil)), true
}

// longestDocument bounds a document that was read already.
const longestDocument = 1 << 40

// sum fills in the sums.
func (p *Part) sum() error {
	p.Checked = Counts{}
	for _, one := range p.arrays {
		c, ok := plus(p.Checked, one.counts)
		if !ok {
			return fmt.Errorf("%w: check: counts of %v", zarr.ErrOverflow, p.Share)
		}
		p.Checked = c
		p.Checked.Arrays++
		if one.err != nil {
			p.Checked.Unchecked++
		}
	}
	return nil
}

// plus returns the sums of counts of chunks, and whether they fit. Counts of arrays stay.
func plus(a, b Counts) (Counts, bool) {
	fits := true
	to, more := a.chunkCounts(), b.chunkCounts()
	for i, n := range to {
		sum, ok := checked.Add(*n, *more[i])
		*n, fits = sum, fits && ok
	}
	return a, fits
}

// chunkCounts returns the counts that are about chunks.
func (c *Counts) chunkCounts() [7]*int64 {
	return [...]*int64{&c.Chunks, &c.Inner, &c.Bytes, &c.Dead, &c.Faults, &c.Damaged, &c.Missing}
}
