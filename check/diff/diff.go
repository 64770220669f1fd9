// SPDX-License-Identifier: Apache-2.0

// Package diff says in what two nodes differ: in their documents, in their members, and
// in which regions their values do.
//
//	report, err := diff.Nodes(ctx, a, b, nil)
//	for _, d := range report.Differences {
//		fmt.Println(d.Path, d)
//	}
//
// Chunks, codecs, key encodings and formats may differ between equal nodes: a copy that
// was rechunked or converted is equal to the original. They are in [Report.Storage]. So
// are the attributes that Varve keeps about an array itself, whose names begin with
// "varve:": how it grows, and which array it follows or is a level of.
package diff

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sort"
	"strings"

	"varve.dev/zarr"
	"varve.dev/zarr/internal/comparison"
	"varve.dev/zarr/internal/failure"
	"varve.dev/zarr/internal/quantity"
)

// Options are the options of a comparison. A nil *Options is the zero value.
type Options struct {
	// Absolute and Relative make numbers equal whose distance is at most Absolute +
	// Relative·|b|, and then all NaNs are equal. Times have only Absolute, in their unit.
	// If both are 0, values are equal if their bits are: a NaN equals itself, and -0.0
	// differs from 0.0.
	Absolute, Relative float64
	// Regions is the largest number of regions of one array in the report; 0 means 1000.
	// Further ones are joined to one.
	Regions int
	// Progress, if not nil, is called with the number of elements of each part that was
	// compared, from several goroutines.
	Progress func(elements int64)
}

// defaultRegions is the default of [Options.Regions].
const defaultRegions = 1000

// Report is the result of a comparison.
type Report struct {
	// Differences are the differences, sorted by path. Nodes are equal if there are none.
	Differences []Difference
	// Storage has what differs in how the nodes are stored.
	Storage []Difference
	// Arrays counts the arrays that both nodes have, and Elements their elements that
	// were compared.
	Arrays, Elements int64
	// Alike counts the chunks that were not decoded, because their stored bytes are
	// equal.
	Alike int64
	// Unread are the nodes that were not compared, or not completely, because a document
	// or chunks of them cannot be read. They are sorted by path.
	Unread []Unread
}

// Unread is a node that could not be compared completely.
type Unread struct {
	Path string // relative to the compared nodes; "" for these
	// Chunks is the number of chunks of A in which values were not compared, because
	// chunks of A or B there cannot be read. It is 0 if nothing of the node was compared.
	Chunks int64
	Err    error // the reason; of chunks that of the first one
}

// String says in one line what was not compared and why, without the path.
func (u Unread) String() string {
	if u.Chunks == 0 {
		return "not compared: " + u.Err.Error()
	}
	return fmt.Sprintf("not compared in %s: %v", quantity.Count(u.Chunks, "chunks"), u.Err)
}

// String says how much was compared, and has each difference and each node that was not
// compared completely in a line of its own. It leaves out [Report.Storage].
func (r *Report) String() string {
	var b strings.Builder
	switch {
	case r.Equal():
		b.WriteString("equal")
	case len(r.Differences) == 0:
		b.WriteString("not compared completely")
	default:
		b.WriteString(quantity.Of(int64(len(r.Differences)), "difference"))
	}
	fmt.Fprintf(&b, ": %s, %s compared", quantity.Of(r.Arrays, "array"), quantity.Of(r.Elements, "element"))
	for _, d := range r.Differences {
		if b.WriteByte('\n'); d.Path != "" {
			b.WriteString(d.Path + ": ")
		}
		b.WriteString(d.String())
	}
	for _, u := range r.Unread {
		if b.WriteByte('\n'); u.Path != "" {
			b.WriteString(u.Path + ": ")
		}
		b.WriteString(u.String())
	}
	return b.String()
}

// Equal reports whether there are no differences, and everything was compared.
func (r *Report) Equal() bool { return len(r.Differences)+len(r.Unread) == 0 }

// Nodes compares two nodes, each a *[zarr.Array] or a *[zarr.Group], and the nodes below
// them.
//
// Arrays of different shapes are compared where they overlap. The values of arrays of
// different data types are not compared. Each chunk is decoded once, except where chunks
// of different grids lie across each other so often that no box of moderate size has
// whole chunks of both. Chunks whose stored bytes are equal are not decoded.
//
// Chunks that are damaged or may not be read, and members of groups that cannot be opened
// or read, are no errors: the rest is compared, and they are in [Report.Unread].
//
// Errors are of type [*zarr.Error]. If an array is rechunked meanwhile, the error wraps
// [zarr.ErrConflict].
func Nodes(ctx context.Context, a, b zarr.Node, opt *Options) (*Report, error) {
	c := &comparer{Report: &Report{}, unread: map[string]bool{}}
	if opt != nil {
		c.Options = *opt
	}
	if c.Regions <= 0 {
		c.Regions = defaultRegions
	}
	err := c.nodes(ctx, "", a, b)
	g, isGroup := a.(*zarr.Group)
	h, both := b.(*zarr.Group)
	if err == nil && isGroup && both {
		err = c.members(ctx, g, h)
	}
	return c.Report, err
}

// comparer is one comparison.
type comparer struct {
	Options
	*Report
	unread map[string]bool // the paths of Report.Unread
}

// members compares the nodes below two groups.
func (c *comparer) members(ctx context.Context, g, h *zarr.Group) error {
	inG, err := c.below(ctx, g)
	inH, errH := c.below(ctx, h)
	if err = errors.Join(err, errH); err != nil {
		return err
	}
	paths := maps.Clone(inG)
	maps.Copy(paths, inH)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		if c.isUnread(path) {
			continue
		}
		a, b := inG[path], inH[path]
		switch {
		case b == nil:
			c.differ(Difference{Path: path, Kind: onlyInA, A: kindOf(a)})
		case a == nil:
			c.differ(Difference{Path: path, Kind: onlyInB, B: kindOf(b)})
		default:
			err := c.nodes(ctx, path, a, b)
			if ctx.Err() != nil || errors.Is(err, zarr.ErrConflict) {
				return err
			}
			if err != nil {
				c.leave(Unread{Path: path, Err: err})
			}
		}
	}
	sort.SliceStable(c.Unread, func(i, j int) bool { return c.Unread[i].Path < c.Unread[j].Path })
	return nil
}

// below returns the nodes below a group by their paths, without those that cannot be
// opened.
func (c *comparer) below(ctx context.Context, g *zarr.Group) (map[string]zarr.Node, error) {
	nodes := map[string]zarr.Node{}
	for m, err := range g.Members(ctx, true) {
		switch {
		case err != nil:
			return nil, err
		case m.Err == nil:
			nodes[m.Path] = m.Node
		case !c.unread[m.Path]:
			c.leave(Unread{Path: m.Path, Err: m.Err})
		}
	}
	return nodes, ctx.Err()
}

// leave notes a node that is not compared, or not completely.
func (c *comparer) leave(u Unread) {
	c.Unread = append(c.Unread, u)
	c.unread[u.Path] = true
}

// isUnread reports whether a node, or a group that it is in, cannot be opened in one of
// the groups. What is below such a group is not known.
func (c *comparer) isUnread(name string) bool {
	for ; name != "."; name = path.Dir(name) {
		if c.unread[name] {
			return true
		}
	}
	return false
}

func kindOf(n zarr.Node) string {
	if _, ok := n.(*zarr.Array); ok {
		return "array"
	}
	return "group"
}

func (c *comparer) differ(d Difference) { c.Differences = append(c.Differences, d) }

// nodes compares two nodes with one path, without those below them.
func (c *comparer) nodes(ctx context.Context, path string, a, b zarr.Node) error {
	if kindOf(a) != kindOf(b) {
		c.differ(Difference{Path: path, Kind: nodeKind, A: kindOf(a), B: kindOf(b)})
		return nil
	}
	c.attributes(ctx, path, a, b)
	x, isArray := a.(*zarr.Array)
	if !isArray {
		c.compare(&c.Storage, path, zarrFormat, fmt.Sprint(a.(*zarr.Group).Metadata().Format()), fmt.Sprint(b.(*zarr.Group).Metadata().Format()))
		return nil
	}
	return c.arrays(ctx, path, x, b.(*zarr.Array))
}

// compared describes an array for comparisons.
func compared(a *zarr.Array) comparison.Array {
	return a.Core().Compared(func(err error) error { return failure.On(a, "read", err) })
}

// arrays compares two arrays.
func (c *comparer) arrays(ctx context.Context, path string, a, b *zarr.Array) error {
	c.Arrays++
	c.documents(path, a, b)
	if a.Type() != b.Type() || a.Rank() != b.Rank() {
		return nil
	}
	tolerance := comparison.Tolerance{Absolute: c.Absolute, Relative: c.Relative}
	regions, counts, err := comparison.Differences(ctx, compared(a), compared(b), tolerance, c.Regions, c.Progress)
	if err != nil {
		return failure.On(a, "compare", err)
	}
	c.Elements += counts.Elements
	c.Alike += counts.Alike
	if counts.Unread > 0 {
		c.leave(Unread{Path: path, Chunks: counts.Unread, Err: failure.On(a, "compare", counts.First)})
	}
	for _, r := range regions {
		c.differ(Difference{Path: path, Kind: values, A: r.A, B: r.B, Region: r.Box, Count: r.Count, Largest: r.Largest, First: r.First})
	}
	return nil
}
