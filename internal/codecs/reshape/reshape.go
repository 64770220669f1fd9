// SPDX-License-Identifier: Apache-2.0

// Package reshape is the codec "reshape" (zarr-extensions). It gives a chunk another
// shape and keeps the order of its elements.
//
// Importing the package registers it as "reshape".
package reshape

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"varve.dev/zarr/codec"
	"varve.dev/zarr/grid"
	"varve.dev/zarr/internal/checked"
	"varve.dev/zarr/internal/quantity"
)

// Name is the name of the codec in metadata.
const Name = "reshape"

func init() { codec.Register(Name, New) }

// length is the length of an axis of the stored array.
type length struct {
	size int64 // elements, 0 if axes are given, -1 for what remains
	axes []int
}

// New is the [codec.Factory] of the codec. It returns a [codec.ArrayArray].
func New(configuration []byte) (any, error) {
	c := new(coder)
	if err := c.parse(configuration); err != nil {
		return nil, fmt.Errorf("%w: reshape: %w", codec.ErrConfiguration, err)
	}
	return c, nil
}

type coder struct {
	shape []length
	rank  int // of decoded arrays
}

func (c *coder) parse(configuration []byte) error {
	var m struct {
		Shape *[]json.RawMessage `json:"shape"`
	}
	if err := codec.DecodeConfiguration(configuration, &m); err != nil {
		return err
	}
	switch {
	case m.Shape == nil:
		return fmt.Errorf("shape is missing")
	case len(*m.Shape) > grid.MaxRank:
		return fmt.Errorf("shape has %s, an array has at most %d", quantity.Count(len(*m.Shape), "axes"), grid.MaxRank)
	}
	for i, raw := range *m.Shape {
		l, err := parseLength(raw)
		if err != nil {
			return fmt.Errorf("shape: axis %d: %w", i, err)
		}
		c.shape = append(c.shape, l)
	}
	return c.check()
}

func parseLength(raw []byte) (length, error) {
	if bytes.HasPrefix(raw, []byte("[")) {
		var axes []codec.Int
		if err := json.Unmarshal(raw, &axes); err != nil {
			return length{}, err
		}
		l := length{axes: make([]int, len(axes))}
		for i, a := range axes {
			if a < 0 || a >= grid.MaxRank {
				return length{}, fmt.Errorf("no array has an axis %d", a)
			}
			l.axes[i] = int(a)
		}
		return l, nil
	}
	var n codec.Int
	if err := n.UnmarshalJSON(raw); err != nil {
		return length{}, fmt.Errorf("want a length, -1, or a list of axes: %w", err)
	}
	if n < -1 || n == 0 {
		return length{}, fmt.Errorf("a length is at least 1, or -1 for what is left, not %d", n)
	}
	return length{size: int64(n)}, nil
}

// check returns an error if the lengths cannot be a shape of any array.
func (c *coder) check() error {
	last, rest := -1, false
	for i, l := range c.shape {
		if l.size < 0 && rest {
			return fmt.Errorf("shape: axis %d: only one axis can be -1", i)
		}
		rest = rest || l.size < 0
		for _, a := range l.axes {
			if a <= last {
				return fmt.Errorf("shape: axis %d: axis %d of the array does not ascend; reshape keeps the order of elements, and \"transpose\" changes it", i, a)
			}
			last = a
		}
	}
	return nil
}

// Bind implements [codec.ArrayArray].
func (c *coder) Bind(spec codec.Spec) (codec.Spec, error) {
	for i, l := range c.shape {
		if n := len(l.axes); n > 0 && l.axes[n-1] >= spec.Rank {
			return codec.Spec{}, fmt.Errorf("%w: reshape: shape: axis %d: the array has no axis %d, only %s", codec.ErrConfiguration, i, l.axes[n-1], quantity.Count(spec.Rank, "axes"))
		}
	}
	c.rank = spec.Rank
	spec.Rank = len(c.shape)
	return spec, nil
}

// EncodedShape implements [codec.ArrayArray]. If the chunk and the shape have different
// numbers of elements, the error wraps [codec.ErrConfiguration].
func (c *coder) EncodedShape(dst, shape []int64) ([]int64, error) {
	from := len(dst)
	dst, err := c.fill(dst, shape)
	if err == nil {
		err = c.checkAxes(dst[from:], shape)
	}
	if err != nil {
		return dst[:from], fmt.Errorf("%w: reshape: a chunk of shape %d: %w", codec.ErrConfiguration, shape, err)
	}
	return dst, nil
}

// fill appends the shape of the encoded form.
func (c *coder) fill(dst, shape []int64) ([]int64, error) {
	if len(shape) != c.rank {
		return dst, fmt.Errorf("the array has %s", quantity.Count(c.rank, "axes"))
	}
	total, ok := checked.Product(shape...)
	if !ok {
		return dst, fmt.Errorf("too many elements")
	}
	known, rest := int64(1), -1
	for _, l := range c.shape {
		n := l.size
		switch {
		case l.axes != nil:
			n = product(shape, l.axes)
		case n < 0:
			rest, n = len(dst), 1
		}
		if known, ok = checked.Mul(known, n); !ok {
			return dst, fmt.Errorf("shape takes more than %s", quantity.Count(total, "elements"))
		}
		dst = append(dst, n)
	}
	// The length that is left open follows from the number of elements and the other
	// lengths.
	if rest >= 0 && known > 0 {
		dst[rest] = total / known
		known *= total / known
	}
	if known != total {
		return dst, fmt.Errorf("its %s not fill the shape %s", quantity.Count(total, "elements do"), c.text())
	}
	return dst, nil
}

// product multiplies the lengths of some axes. It cannot overflow unless another axis has
// length 0: the product of all axes was checked.
func product(shape []int64, axes []int) int64 {
	lengths := make([]int64, len(axes))
	for i, a := range axes {
		lengths[i] = shape[a]
	}
	n, ok := checked.Product(lengths...)
	if !ok {
		return 0
	}
	return n
}

// checkAxes checks that an axis which is the product of others covers exactly these: the
// axes before both have the same number of elements, and so do the axes after both. An
// empty array always passes.
func (c *coder) checkAxes(encoded, shape []int64) error {
	if slices.Contains(shape, 0) {
		return nil
	}
	for i, l := range c.shape {
		if len(l.axes) == 0 {
			continue
		}
		first, last := l.axes[0], l.axes[len(l.axes)-1]
		if !same(encoded[:i], shape[:first]) || !same(encoded[i+1:], shape[last+1:]) {
			return fmt.Errorf("axis %d of shape %s would not be axes %d of it", i, c.text(), l.axes)
		}
	}
	return nil
}

// same reports whether two shapes have the same number of elements.
func same(a, b []int64) bool {
	x, ok := checked.Product(a...)
	y, fits := checked.Product(b...)
	return ok && fits && x == y
}

func (c *coder) text() string {
	text, _ := json.Marshal(slices.Clone(c.shape)) // numbers always have a JSON form
	return string(text)
}

// Encode implements [codec.ArrayArray].
func (c *coder) Encode(dst *codec.Block, src codec.Block) error { return move(dst, src) }

// Decode implements [codec.ArrayArray].
func (c *coder) Decode(dst *codec.Block, src codec.Block) error { return move(dst, src) }

func move(dst *codec.Block, src codec.Block) error {
	if src.Offsets != nil {
		dst.Data, dst.Offsets = append(dst.Data[:0], src.Data...), append(dst.Offsets[:0], src.Offsets...)
		return nil
	}
	copy(dst.Data, src.Data)
	return nil
}
