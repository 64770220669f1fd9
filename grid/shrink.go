package grid

import "fmt"

import "strconv"

// Shrink says what becomes of the edges of an axis behind its extent. The zero Shrink is [KeepEdges].
type Shrink uint8

const (
	// KeepEdges keeps all edges: growth finds them again (zarr-python's rule).
	KeepEdges Shrink = iota
	// TrimEdges drops the edges that lie wholly behind the extent.
	TrimEdges
	// TrimExact drops them too, and cuts the last edge at the extent. The chunks at the end have to be written again.
	TrimExact
)

var shrinkNames = [...]string{KeepEdges: "keep-edges", TrimEdges: "trim-edges", TrimExact: "trim-exact"}

// String returns the policy as [ParseShrink] reads it.
func (s Shrink) String() string {
	if int(s) < len(shrinkNames) {
		return shrinkNames[s]
	}
	return "shrink(" + strconv.Itoa(int(s)) + ")"
}

// ParseShrink reads a policy: keep-edges, trim-edges or trim-exact. Anything else wraps [ErrInvalid].
func ParseShrink(text string) (Shrink, error) {
	for s, name := range shrinkNames {
		if text == name {
			return Shrink(s), nil
		}
	}
	return 0, invalid("shrink policy %.80q: there are keep-edges, trim-edges and trim-exact", text)
}

// Shrunk returns the axis with a smaller extent, or the same: then the edges behind it are trimmed all the same. An axis needs an
// edge, so both ways to trim leave the first one as it is where the extent is 0.
//
// A regular axis has no edges to keep or to drop and follows the extent; its last chunk is stored at full length, so
// TrimExact wraps [ErrInvalid] unless the extent ends a chunk. A larger or negative extent wraps [ErrInvalid].
//
// Source: zarr-python 3.4.1 for KeepEdges; the other policies are of this package.
func (a Axis) Shrunk(extent int64, s Shrink) (Axis, error) {
	switch {
	case extent > a.extent:
		return Axis{}, invalid("extent %d exceeds the present %d: Grown makes an axis longer", extent, a.extent)
	case s > TrimExact:
		return Axis{}, invalid("%v is no shrink policy", s)
	case s == TrimExact && a.IsRegular() && extent > 0 && extent%a.step != 0:
		return Axis{}, invalid("%v to the extent %d on an axis whose last chunk is stored with all its %d elements: unlock turns it into a list",
			s, extent, a.step)
	}
	b, err := a.Resized(extent)
	if err != nil || s == KeepEdges || a.IsRegular() {
		return b, err
	}
	return b.trimmed(s == TrimExact)
}

// trimmed drops the listed edges behind the extent, but never the first, and cuts the last at the extent where that is wanted.
func (a Axis) trimmed(exact bool) (Axis, error) {
	if exact && a.IsEncoded() {
		return Axis{}, fmt.Errorf("%w: trimming edges exactly where chunks are stored longer than their edges", ErrUnsupported)
	}
	if err := a.listable(); err != nil {
		return Axis{}, err
	}
	if exact && a.extent > 0 {
		return NewAxis(a.extent, Runs(a.Sizes()...))
	}
	left := max(1, a.chunks)
	var kept []Run
	for r := range a.Edges() {
		r.Count = min(r.Count, left)
		kept = append(kept, r)
		if left -= r.Count; left == 0 {
			break
		}
	}
	b, err := NewAxis(a.extent, Runs(kept...))
	if err == nil && a.IsEncoded() {
		b.stored = a.stored.first(b.Cells())
	}
	return b, err
}

// Shrunk returns the grid of an array of another shape, each axis as [Axis.Shrunk] makes it. Axes that gain elements stay as
// they are: [Grid.Grown] makes those longer, and comes after it. TrimExact passes by regular axes as long as an axis is listed.
//
// Without a policy it is KeepEdges for all axes, with one it is that policy for all, else there is one policy an axis.
func (g *Grid) Shrunk(shape []int64, policies ...Shrink) (*Grid, error) {
	if len(shape) != len(g.axes) {
		return nil, invalid("the new shape has %d axes, the array has %d", len(shape), len(g.axes))
	}
	if n := len(policies); n > 1 && n != len(g.axes) {
		return nil, invalid("%d shrink policies for %d axes: give none, one, or one an axis", n, len(g.axes))
	}
	axes := make([]Axis, len(shape))
	for i, a := range g.axes {
		how := KeepEdges
		switch {
		case len(policies) == 1:
			if how = policies[0]; how == TrimExact && a.IsRegular() && !g.regular {
				how = KeepEdges
			}
		case len(policies) > 1:
			how = policies[i]
		}
		if axes[i] = a; shape[i] <= a.extent {
			var err error
			if axes[i], err = a.Shrunk(shape[i], how); err != nil {
				return nil, onAxis(i, err)
			}
		}
	}
	return ofAxes(g.name, axes)
}
